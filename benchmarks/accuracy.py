"""How many real replies are read as they were meant, by other people's judgement.

    python -m benchmarks.accuracy [--cache FOLDER] [--out FILE]
                                  [--raw FILE --cases FILE [--cases FILE ...]]

1. The fixtures of ``canitoolcall``: the package's own expected calls decide.
2. Raw outputs of models on questions of the Berkeley leaderboard, if a file of them is given: the
   checker of ``bfcl-eval`` decides. A line of ``--raw`` has ``id``, ``case_id``, ``raw_output``,
   ``deviations`` (tags) and ``reachable`` (whether a liberal reading gives calls that the checker
   accepts); a line of ``--cases`` has ``case_id``, ``category``, ``tools``, ``gt_kind`` and
   ``ground_truth``, as ``bfcl-eval`` has them. The files are not part of this project.
3. The hazards of ``benchmarks/hazards.py``: replies that look like calls and are none.

Every miss goes to standard output with its id and the reason; the counts go to the Markdown file.
Exits with 1 if a bar is not met.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.hazards import HAZARDS, KINDS, TOOLS
from benchmarks.peers.environments import BFCL, CANITOOLCALL, default_cache, prepared, python_of
from benchmarks.peers.judging import same
from benchmarks.peers.roster import ADAPTERS
from benchmarks.peers.sets import canitoolcall
from fallback import parse
from fallback.compare.bfcl import json_schema
from fallback.errors import FallbackError

RESULT = Path(__file__).with_name("results") / "accuracy.md"
FIXTURES_BAR = 0.97
REACHABLE_BAR = 0.98

_REPEAT = """\
## Repeat it

    python -m benchmarks.accuracy --raw raw_outputs.jsonl \\
        --cases raw_outputs_cases.jsonl --cases bfcl_v4_single_turn.jsonl

Without `--raw` the fixtures and the hazards are measured. The corpus of raw outputs is not part of
this project; the head of the script describes its format. Every miss is printed with its id and
the reason.

Measured {date} with {python}, {packages}."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One reply: what it is counted under, and what is wrong with the reading, or nothing."""

    id: str
    tags: tuple[str, ...]
    text: str
    fault: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RawReading:
    """What we read in one raw output, ready for the checker."""

    raw: Mapping[str, Any]
    case: Mapping[str, Any]
    calls: list[dict[str, Any]]
    problems: tuple[str, ...]


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m benchmarks.accuracy")
    options.add_argument("--cache", type=Path, default=default_cache(), help="environments go here")
    options.add_argument("--out", type=Path, default=RESULT, help="the Markdown file")
    options.add_argument("--raw", type=Path, help="raw outputs, JSON lines")
    options.add_argument("--cases", type=Path, action="append", help="their questions, JSON lines")
    chosen = options.parse_args()
    if bool(chosen.raw) != bool(chosen.cases):
        options.error("--raw and --cases are given together")
    cache = chosen.cache.resolve()
    groups = {"fixtures": fixtures(cache), "hazards": hazards()}
    if chosen.raw:
        groups["raw"] = raw_outputs(chosen.raw, chosen.cases, cache)
    for name, verdicts in groups.items():
        for verdict in verdicts:
            if verdict.fault is not None:
                print(f"{name}\t{verdict.id}\t{verdict.fault}\n\t{verdict.text[:400]!r}")
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    chosen.out.write_text(document(groups, datetime.datetime.now(datetime.UTC).date()), "utf-8")
    return 0 if met(groups) else 1


def met(groups: Mapping[str, Sequence[Verdict]]) -> bool:
    """Whether every bar is met, of those that were measured."""
    bars = {"fixtures": FIXTURES_BAR, "hazards": 1.0, "raw": REACHABLE_BAR}
    return all(right(found) >= bars[name] * len(found) for name, found in groups.items())


def right(verdicts: Iterable[Verdict]) -> int:
    return sum(verdict.fault is None for verdict in verdicts)


def fixtures(cache: Path) -> list[Verdict]:
    """Ours on canitoolcall's fixtures, tagged by family; calls are compared exactly."""
    verdicts = []
    for case in canitoolcall(cache):
        context = case.context
        reading = parse(
            case.text,
            case.tools,
            finish_reason=context["finish_reason"],
            reasoning_open=context["reasoning_open"],
        )
        calls = [{"name": call.name, "arguments": call.arguments} for call in reading.calls]
        fault = None
        if not same(calls, case.accepted[0]):
            said = "; ".join(problem.message for problem in reading.problems)
            fault = f"read {calls}, meant {case.accepted[0]} {said}".strip()
        verdicts.append(Verdict(id=case.id, tags=(case.group,), text=case.text, fault=fault))
    return verdicts


def hazards() -> list[Verdict]:
    """Ours on the hazards, tagged by kind; any call is a fault."""
    verdicts = []
    for number, (kind, text) in enumerate(HAZARDS, 1):
        calls = parse(text, TOOLS).calls
        fault = f"read {[(call.name, call.arguments) for call in calls]}" if calls else None
        verdicts.append(Verdict(id=f"{kind}{number}", tags=(kind,), text=text, fault=fault))
    return verdicts


def raw_outputs(raw: Path, cases: Sequence[Path], cache: Path) -> list[Verdict]:
    """Ours on the reachable raw outputs, tagged by deviation."""
    known = {case["case_id"]: case for path in cases for case in _lines(path)}
    reachable = [line for line in _lines(raw) if line["reachable"]]
    readings = [read_raw(line, known[line["case_id"]]) for line in reachable]
    asked = [reading for reading in readings if reading.case["gt_kind"] == "bfcl_possible_answer"]
    checked = bfcl_verdicts(asked, cache)
    return [_verdict(reading, checked.get(reading.raw["id"])) for reading in readings]


def read_raw(raw: Mapping[str, Any], case: Mapping[str, Any]) -> RawReading:
    """Parse one raw output with the tools of its question."""
    tools = [
        function | {"parameters": json_schema(function["parameters"])} for function in case["tools"]
    ]
    try:
        reading = parse(raw["raw_output"], tools)
    except FallbackError as error:
        return RawReading(raw=raw, case=case, calls=[], problems=(str(error),))
    calls = [{"name": call.name, "arguments": call.arguments} for call in reading.calls]
    problems = tuple(f"{problem.kind}: {problem.message}" for problem in reading.problems)
    return RawReading(raw=raw, case=case, calls=calls, problems=problems)


def bfcl_verdicts(readings: Sequence[RawReading], cache: Path) -> dict[str, dict[str, Any]]:
    """What the leaderboard's checker says, by id."""
    lines = (
        {
            "id": reading.raw["id"],
            "calls": reading.calls,
            "functions": reading.case["tools"],
            "answers": reading.case["ground_truth"],
            "category": reading.case["category"],
        }
        for reading in readings
    )
    return checker_verdicts(lines, cache)


def checker_verdicts(lines: Iterable[Mapping[str, Any]], cache: Path) -> dict[str, dict[str, Any]]:
    """The verdicts on lines as ``adapters/check_bfcl.py`` takes them, by id.

    The checker runs in an environment of its own.
    """
    python = python_of(prepared(BFCL, cache))
    done = subprocess.run(
        [python, "-W", "ignore", ADAPTERS / "check_bfcl.py"],
        input="".join(json.dumps(line) + "\n" for line in lines),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"the checker failed: {done.stderr.strip().splitlines()[-1]}")
    return {said["id"]: said for said in map(json.loads, done.stdout.splitlines())}


def _verdict(reading: RawReading, said: Mapping[str, Any] | None) -> Verdict:
    fault = None
    if said is None:
        fault = f"read {reading.calls}, nothing was meant" if reading.calls else None
    elif not said["valid"]:
        fault = f"read {reading.calls}; {' '.join(map(str, said['error']))}; "
        fault += "; ".join(reading.problems) or "no problem reported"
    return Verdict(
        id=reading.raw["id"],
        tags=tuple(reading.raw["deviations"]) or ("none",),
        text=reading.raw["raw_output"],
        fault=fault,
    )


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from (json.loads(line) for line in file if line.strip())


def document(groups: Mapping[str, Sequence[Verdict]], date: datetime.date) -> str:
    """The Markdown file."""
    python = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    parts = [
        "# Accuracy",
        "How many replies `fallback` reads as they were meant, by the judgement of others.",
        _summary(groups),
        "## canitoolcall's fixtures by family",
        by_tag(groups["fixtures"], "family"),
        "## Hazards by kind",
        by_tag(groups["hazards"], "kind", KINDS),
    ]
    if "raw" in groups:
        parts += ["## Raw outputs by deviation", by_tag(groups["raw"], "deviation")]
    parts.append(
        _REPEAT.format(
            date=date.isoformat(), python=python, packages=f"{CANITOOLCALL.bare[0]}, {BFCL.bare[0]}"
        )
    )
    return "\n\n".join(parts) + "\n"


def _summary(groups: Mapping[str, Sequence[Verdict]]) -> str:
    rows = [
        ("fixtures", "canitoolcall fixtures with tools and one expected parse", FIXTURES_BAR),
        ("raw", "reachable raw outputs, judged by BFCL's checker", REACHABLE_BAR),
        ("hazards", "hazards: replies in which nothing may run", 1.0),
    ]
    lines = ["| set | right | of | share | bar |", "| --- | --- | --- | --- | --- |"]
    for key, label, bar in rows:
        if key in groups:
            good, total = right(groups[key]), len(groups[key])
            share = f"{good / total:.1%}" if total else "-"
            lines.append(f"| {label} | {good} | {total} | {share} | {bar:.0%} |")
    return "\n".join(lines)


def by_tag(verdicts: Iterable[Verdict], head: str, labels: Mapping[str, str] | None = None) -> str:
    """A table of right readings per tag, the most frequent first; a reply counts under each tag."""
    seen, good = Counter[str](), Counter[str]()
    for verdict in verdicts:
        seen.update(verdict.tags)
        if verdict.fault is None:
            good.update(verdict.tags)
    lines = [f"| {head} | right | of |", "| --- | --- | --- |"]
    for tag, total in sorted(seen.items(), key=lambda item: (-item[1], item[0])):
        label = f"{tag}: {labels[tag]}" if labels else tag
        lines.append("| " + label.replace("|", "\\|") + f" | {good[tag]} | {total} |")
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
