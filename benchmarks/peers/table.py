"""The result as Markdown: what was run, the table, and how to repeat it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.peers.judging import Score
from benchmarks.peers.roster import Peer

COMMAND = "python -m benchmarks.peers"

_INTRODUCTION = """\
# Peers

Other parsers of tool calls on the same replies. Of the replies that hold calls: how many were
read *right* (every call, every argument), how many were *missed* (no usable call), how many were
read *wrong* (other calls than those that were meant). Of the replies in which nothing may run: in
how many a *false* call came out.

| set | with calls | without | what it is |
| --- | --- | --- | --- |
{sets}

What a caller can do for itself is done for every parser: undeclared names are dropped, arguments
are coerced to the schema where nothing is lost, and calls that break the schema are dropped. A
reading counts as right if it is right before or after that. Each parser is also told what a
server would know and it can make use of: the finish reason, the format, that the prompt opened
the reasoning."""

_SETS = {
    "conformance": "`fallback.testing.cases()`, this project's own cases",
    "canitoolcall": "fixtures of the package `canitoolcall` with tools and one expected parse",
    "bench": "`benchmarks/peers/bench_replies.py`: eight formats, meant and not meant",
}

_REMARKS = """\
These figures describe reading a whole reply whose format is not known beforehand, which is what
this project is for. Several peers are made for less: `json-repair` decodes JSON and knows nothing
of calls, `unswallow` recovers calls from reasoning on purpose, SGLang's detectors and
`@ai-sdk-tool/parser` read the format they are told, behind a server that has split off the
reasoning, and BFCL's decoder reads what one benchmark asks for. The conformance cases and the
bench replies are ours and follow our reading rules, where a call in a quotation or a thought is
not run; the canitoolcall fixtures are not ours."""

_KINDS = """\
## The bench replies by kind

How many replies that hold calls were read right, and out of how many of the others a call came.
Of the forged ones, half hold a call before the result that the model made up, and one after it.

"""

_REPEAT = """\
## Repeat it

    {command}

It makes one environment for each peer below the cache folder (`--cache`), runs all sets, and
writes this file. `--misses` lists every reply that `fallback` does not read right.

Measured {date} with {machine}."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One peer: its scores by set, and by kind of bench reply; or why there are none."""

    peer: Peer
    scores: Mapping[str, Score]
    groups: Mapping[str, Score]
    unavailable: str | None = None


def document(rows: Sequence[Row], *, date: str, machine: str) -> str:
    """The whole file.

    Args:
        rows: in the order in which they are shown; at least one that could be run.
        date: when it was measured.
        machine: interpreter and system, in one line.
    """
    shown = [row for row in rows if row.unavailable is None]
    totals = shown[0].scores
    sets = "\n".join(
        f"| {name} | {score.with_calls} | {score.without_calls} | {_SETS.get(name, '')} |"
        for name, score in totals.items()
    )
    parts = [
        _INTRODUCTION.format(sets=sets),
        _main_table(shown, list(totals)),
        _KINDS + _group_table(shown),
        _REMARKS,
        "## Versions and settings\n\n" + _versions(rows),
        _REPEAT.format(command=COMMAND, date=date, machine=machine),
    ]
    return "\n\n".join(parts) + "\n"


def _main_table(rows: Sequence[Row], sets: Sequence[str]) -> str:
    head = ["parser", *(f"{name}: right / missed / wrong / false" for name in sets)]
    body = []
    for row in rows:
        cells = []
        for name in sets:
            score = row.scores.get(name)
            if score is None:
                cells.append("-")
                continue
            cells.append(f"{score.right} / {score.missed} / {score.wrong} / {score.false}")
        body.append([_name(row), *cells])
    return _table(head, body)


def _group_table(rows: Sequence[Row]) -> str:
    groups = list(rows[0].groups)
    head = ["parser"]
    for group in groups:
        score = rows[0].groups[group]
        head.append(f"{group} ({_of(score)})")
    body = [
        [_name(row), *(_cell(row.groups[group]) for group in groups)] for row in rows if row.groups
    ]
    return _table(head, body)


def _of(score: Score) -> str:
    parts = []
    if score.with_calls:
        parts.append(f"right of {score.with_calls}")
    if score.without_calls:
        parts.append(f"false of {score.without_calls}")
    return ", ".join(parts)


def _cell(score: Score) -> str:
    parts = []
    if score.with_calls:
        parts.append(f"{score.right}")
    if score.without_calls:
        parts.append(f"{score.false}")
    return " / ".join(parts)


def _versions(rows: Sequence[Row]) -> str:
    body = []
    for row in rows:
        state = row.peer.setting if row.unavailable is None else f"not run: {row.unavailable}"
        body.append([row.peer.name, row.peer.version, state])
    return _table(["parser", "version", "setting"], body)


def _name(row: Row) -> str:
    return f"**{row.peer.name}**" if row.peer.environment is None else row.peer.name


def _table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(_plain(cell) for cell in line) + " |" for line in lines)


def _plain(cell: str) -> str:
    return cell.replace("|", "\\|").replace("\n", " ")
