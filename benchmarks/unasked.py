"""Which arguments nobody asked for: what the question does to the odds of their values.

    fallback compare --way decide --suite ... --out DIR
    python -m benchmarks.unasked DIR...

The notes of ``decide`` say of each value for a parameter that may be left out by how much the
question raised its odds. What the case accepts says whether the value was invented (it is wrong,
and nothing is right), asked for (leaving it out is wrong), or may be there or not. Only cases are
counted that want one call and in which that tool was called.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fallback.compare.cases import Case, read_case
from fallback.compare.current import current
from fallback.compare.patterns import wrong_fields
from fallback.compare.store import read_cases, read_records
from fallback.loop import Decide
from fallback.ways import DECIDE

MARGINS = (0.0, 1.0, 2.0, 3.0, 4.0)

_NOTE = "asked for: "
_ARGUMENT = re.compile(r"(\S+?)=(.*?) ([+-](?:\d+\.\d+|inf))( \(left out\))?(?:, |\Z)")


@dataclass(frozen=True, slots=True)
class Weighed:
    """A value that was asked about.

    Attributes:
        kind: ``invented``, ``asked for`` or ``either``.
        gain: by how much the question raised the logarithm of its odds.
    """

    model: str
    case: str
    argument: str
    kind: str
    gain: float


def weighed(folders: Iterable[Path]) -> Iterator[Weighed]:
    """What lies in folders of ``fallback compare``."""
    for folder in folders:
        lines = read_cases(folder)
        for record in current([*read_records(folder)]):
            line = lines.get(record["case_digest"])
            if line is not None and record["way"] == DECIDE.name and record["repeat"] == 0:
                yield from _of(record, read_case(line["suite"], line["case"]))


def _of(record: Mapping[str, Any], case: Case) -> Iterator[Weighed]:
    step = record["steps"][0] if record["steps"] else {"notes": (), "calls": ()}
    called = {call["name"] for call in step["calls"]}
    if len(case.calls) != 1 or called != {case.calls[0].name}:
        return
    pattern = case.calls[0].arguments
    for note in step["notes"]:
        for name, text, gain, _ in _ARGUMENT.findall(note.removeprefix(_NOTE)):
            if note.startswith(_NOTE) and (value := _value(text)) is not None:
                given = {name: value.given}
                optional = name in pattern.optional or name not in pattern.fields
                wrong = name in wrong_fields(pattern, given)
                kind = ("invented" if wrong else "either") if optional else "asked for"
                argument = f"{name}={text}"
                yield Weighed(record["model"], case.id, argument, kind, float(gain))


@dataclass(frozen=True, slots=True)
class _Value:
    given: Any


def _value(text: str) -> _Value | None:
    """The value of a note; ``None`` where it was too long to be told whole."""
    try:
        return _Value(json.loads(text))
    except ValueError:
        return None


def report(found: list[Weighed]) -> Iterator[str]:
    """A table of what each margin leaves out, and the values nearest to it."""
    kinds = {kind: [w for w in found if w.kind == kind] for kind in ("invented", "asked for")}
    invented, asked = kinds["invented"], kinds["asked for"]
    yield "| unasked | invented, left out | asked for, kept |"
    yield "| --- | --- | --- |"
    for margin in MARGINS:
        out = sum(w.gain <= margin for w in invented)
        kept = sum(w.gain > margin for w in asked)
        mark = " (now)" if margin == Decide().unasked else ""
        yield f"| {margin:g}{mark} | {out} of {len(invented)} | {kept} of {len(asked)} |"
    for kind, some in kinds.items():
        some.sort(key=lambda w: w.gain)
        told = ", ".join(f"`{w.argument}` {w.gain:+.2f}" for w in some if math.isfinite(w.gain))
        yield f"\n{kind}: {told or 'none'}."


def main() -> None:
    """Print a table for each model as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    found = list(weighed(parser.parse_args().folders))
    if not found:
        parser.error(f"there are no results of --way {DECIDE.name} with such arguments")
    for model in dict.fromkeys(w.model for w in found):
        print(f"\n{model}:\n")
        print(*report([w for w in found if w.model == model]), sep="\n")


if __name__ == "__main__":
    main()
