"""A catalogue in, a report out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from fallback.catalogue import Catalogue
from fallback.errors import ConfigurationError
from fallback.lint import authority, cost, overlap, purpose, servers, values
from fallback.lint.record import Finding, Report, Rule, Silenced, Subject

__all__ = ["RULES", "lint"]

RULES: tuple[Rule, ...] = (
    *purpose.RULES,
    *overlap.RULES,
    *values.RULES,
    *authority.RULES,
    *servers.RULES,
    *cost.RULES,
)
_ORDER = ("error", "warning", "note")


def lint(
    catalogue: Catalogue,
    *,
    off: Mapping[str, str] | None = None,
    count: Callable[[str], int] | None = None,
    counted_by: str = "",
) -> Report:
    """Review a catalogue.

    Args:
        catalogue: the tools; hidden ones are not looked at, since no model sees them.
        off: rules that are switched off, each with the reason: ``{"free_url": "only fetches from
            our wiki"}``; ``"free_url@fetch_page"`` means one tool alone. A tool's own ``lint_off``
            counts as well.
        count: a tokenizer; ``None`` for an estimate.
        counted_by: the tokenizer's name.

    Raises:
        ConfigurationError: there is no such rule or tool, or a reason is missing.
    """
    switched = _switched(catalogue, off or {})
    counted = cost.costs(catalogue, count or cost.estimate)
    subject = Subject(catalogue=catalogue, costs=counted)
    found = sorted(_found(subject), key=lambda finding: _rank(finding, catalogue))
    reasons = [switched.get((f.rule, f.tool)) or switched.get((f.rule, "")) for f in found]
    pairs = list(zip(found, reasons, strict=True))
    return Report(
        findings=tuple(finding for finding, reason in pairs if reason is None),
        silenced=tuple(Silenced(finding=f, reason=why) for f, why in pairs if why is not None),
        costs=counted,
        total=subject.total,
        counted_by=counted_by if count else "estimate",
    )


def _found(subject: Subject) -> Iterator[Finding]:
    for rule in RULES:
        for found in rule.check(subject):
            yield Finding(
                rule=rule.name,
                severity=found.severity or rule.severity,
                tool=found.tool,
                place=found.place,
                message=found.message,
                fix=found.fix,
            )


def _rank(finding: Finding, catalogue: Catalogue) -> tuple[int, int]:
    names = catalogue.names
    position = names.index(finding.tool) if finding.tool else len(names)
    return _ORDER.index(finding.severity), position


def _switched(catalogue: Catalogue, off: Mapping[str, str]) -> dict[tuple[str, str], str]:
    """The reasons by rule and tool; the tool is empty where all are meant."""
    found: dict[tuple[str, str], str] = {}
    for key, reason in off.items():
        rule, _, tool = key.partition("@")
        if tool and tool not in catalogue:
            raise ConfigurationError(f"cannot switch {key!r} off: there is no tool {tool!r}")
        found[_rule(rule), tool] = _reason(key, reason)
    for entry in catalogue:
        for rule, reason in entry.lint_off.items():
            found[_rule(rule), entry.name] = _reason(f"{rule}@{entry.name}", reason)
    return found


def _rule(name: str) -> str:
    if name in {rule.name for rule in RULES}:
        return name
    known = ", ".join(rule.name for rule in RULES)
    raise ConfigurationError(f"there is no rule {name!r}; there are {known}")


def _reason(key: str, reason: object) -> str:
    if isinstance(reason, str) and reason.strip():
        return reason.strip()
    raise ConfigurationError(f"cannot switch {key!r} off without a reason")
