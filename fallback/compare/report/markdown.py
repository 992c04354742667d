"""The report as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fallback.compare.intervals import Interval
from fallback.compare.report.content import OLDER, Content, sentences
from fallback.compare.stages import MEASURES, STAGES, Measure, Stage
from fallback.compare.verdicts import Row

__all__ = ["interval_text", "markdown", "measure_text"]


def markdown(content: Content) -> bytes:
    """Tables of stages and of costs for each model and suite, verdicts, and how it was measured."""
    parts = ["# Ways of calling tools compared", _reading()]
    for model in content.names("model"):
        parts.append(f"## {_plain(model)}")
        for suite in content.suites:
            rows = [row for row in content.rows if (row.model, row.suite) == (model, suite)]
            if rows:
                parts += _suite(content, suite, rows)
    parts += ["## Stages", "\n".join(map(_meaning, STAGES))]
    parts += ["## How it was measured", _method(content)]
    return ("\n\n".join(parts) + "\n").encode()


def _meaning(stage: Stage) -> str:
    return f"- **{stage.label}**: {stage.meaning}{'' if stage.good else ' (less is better)'}."


def _reading() -> str:
    return (
        "Shares in percent with their 95 % interval (Wilson; the bootstrap where cases were"
        " repeated) and, in brackets, of how many turns. Ways are compared on the same cases with"
        " an exact sign test (McNemar's), corrected for their number by Holm's method."
    )


def _suite(content: Content, suite: str, rows: Sequence[Row]) -> list[str]:
    stages = [s for s in STAGES if any(s.name in row.stages for row in rows)]
    said = [
        f"- {_plain(pairing.sentence)}"
        for pairing in sentences(content)
        if (pairing.model, pairing.suite) == (rows[0].model, suite)
    ]
    parts = [
        f"### {_plain(suite)}",
        _table(
            ["way", *(s.label for s in stages)],
            ([row.way, *(interval_text(row.stages.get(s.name)) for s in stages)] for row in rows),
        ),
        _table(
            ["way", *(m.label for m in MEASURES)],
            (
                [row.way, *(measure_text(m, row.measures.get(m.name)) for m in MEASURES)]
                for row in rows
            ),
        ),
    ]
    return [*parts, "\n".join(said)] if said else parts


def interval_text(found: Interval | None) -> str:
    """A share with its interval and its n."""
    if found is None:
        return "–"
    return f"{100 * found.value:.0f} ({100 * found.low:.0f}–{100 * found.high:.0f}) [{found.n}]"


def measure_text(measure: Measure, found: Interval | None) -> str:
    """A number with its interval."""
    if found is None:
        return "–"
    digits = measure.digits
    return f"{found.value:.{digits}f} ({found.low:.{digits}f}–{found.high:.{digits}f})"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(_plain, line)) + " |" for line in lines)


def _plain(text: str) -> str:
    """Names of models and suites are the user's: they make no Markdown and no HTML."""
    for mark in "\\|`<>[]*":
        text = text.replace(mark, "\\" + mark) if mark not in "[]*" else text
    return " ".join(text.split())


def _method(content: Content) -> str:
    lines = [
        f"- {_plain(str(run.get('at', '')))}: `{str(run.get('command', '')).replace('`', ' ')}`"
        f" ({_plain(str(run.get('where', '')))})"
        for run in content.runs
    ]
    lines += [
        f"- {_plain(model)}: digest {_plain(digest)}" for model, digest in content.digests.items()
    ]
    if content.unknown:
        lines.append(f"- {content.unknown} records without their case are left out.")
    if content.older:
        lines.append(f"- {content.older} older records are left out: {OLDER}.")
    return "\n".join(lines)
