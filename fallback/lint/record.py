"""What a rule is, what it finds, and what a report holds: plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from fallback.catalogue import Catalogue

__all__ = ["Cost", "Finding", "Found", "Report", "Rule", "Severity", "Silenced", "Subject"]

Severity = Literal["error", "warning", "note"]


class Found(NamedTuple):
    """What the check of a rule yields.

    Attributes:
        tool: name of the tool; empty for the catalogue as a whole.
        place: JSONPath inside the tool's object, such as ``$.parameters.properties.city``.
        message: what is wrong there, in one sentence.
        fix: what to do about it.
        severity: instead of the rule's own.
    """

    tool: str
    place: str
    message: str
    fix: str
    severity: Severity | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a tool costs in every prompt, in tokens.

    Attributes:
        prompt: in prompt mode: the signature that the system prompt shows.
        native: in native mode: the JSON object that the server takes.
    """

    prompt: int
    native: int

    def __add__(self, other: Cost) -> Cost:
        return Cost(prompt=self.prompt + other.prompt, native=self.native + other.native)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What the checks read: the catalogue, and what each visible tool of it costs."""

    catalogue: Catalogue
    costs: Mapping[str, Cost]

    @property
    def total(self) -> Cost:
        """The cost of all tools together."""
        return sum(self.costs.values(), Cost(prompt=0, native=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One thing that a reviewer looks for.

    Attributes:
        name: what it is switched off by.
        severity: of its findings, unless one says otherwise.
        finds: what it finds; a phrase for the table of rules.
        why: why that is bad, in one sentence.
        check: yields what it has found.
    """

    name: str
    severity: Severity
    finds: str
    why: str
    check: Callable[[Subject], Iterator[Found]] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing found; see :class:`Found`."""

    rule: str
    severity: Severity
    tool: str
    place: str
    message: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Silenced:
    """A finding that does not count, and the reason that somebody gave for that."""

    finding: Finding
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything found in one catalogue.

    Attributes:
        findings: errors first, then in the order of the tools.
        silenced: what was found under rules that are switched off.
        costs: per visible tool, in the order of the catalogue.
        total: of all tools.
        counted_by: ``estimate``, or the model whose tokenizer has counted.
    """

    findings: tuple[Finding, ...]
    silenced: tuple[Silenced, ...]
    costs: Mapping[str, Cost]
    total: Cost
    counted_by: str

    def of(self, severities: Iterable[Severity]) -> tuple[Finding, ...]:
        """The findings of these severities."""
        wanted = frozenset(severities)
        return tuple(finding for finding in self.findings if finding.severity in wanted)
