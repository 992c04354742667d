"""What a report says, before it is HTML, Markdown or a table: plain values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fallback.compare.current import current
from fallback.compare.stages import STAGES
from fallback.compare.verdicts import Judged, Pairing, Row, judged, pairings, table
from fallback.templating import to_json

__all__ = ["OLDER", "Content", "content_of", "failures", "sentences", "turned"]

# Also what turns round all that follows on a line: one answer could be made to look like another.
_UNWRITABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)

OLDER = (
    "they were made with another version of the model or of this package, with other options or of"
    " another version of a case than the last, or made anew"
)
"""Why records are not counted."""

MAX_PER_GROUP = 50
"""Failures of one way, model and suite that the report shows: it has to open on a phone."""

MAX_CHARS = 8_000
"""Characters of one prompt or reply that the report shows."""


@dataclass(frozen=True, slots=True)
class Content:
    """Everything that is shown.

    Attributes:
        results: the judged records.
        rows: one for each model, suite and way.
        pairings: every two ways.
        runs: the commands that made the results, as they were recorded.
        unknown: records whose case the folder does not hold.
        older: records that were made under other conditions than the last, and are not counted.
    """

    results: Sequence[Judged]
    rows: Sequence[Row]
    pairings: Sequence[Pairing]
    runs: Sequence[Mapping[str, Any]]
    unknown: int
    older: int

    def names(self, key: str) -> list[str]:
        """The values of a record's key, in the order in which they were first met."""
        return list(dict.fromkeys(str(result.record[key]) for result in self.results))

    @property
    def digests(self) -> dict[str, str]:
        """The beginning of each model's digest."""
        return {r.record["model"]: str(r.record["digest"])[:19] for r in self.results}

    @property
    def suites(self) -> list[str]:
        """The suites of the rows, all of them together included."""
        return list(dict.fromkeys(row.suite for row in self.rows))


def content_of(
    records: Sequence[Mapping[str, Any]],
    cases: Mapping[str, Mapping[str, Any]],
    runs: Sequence[Mapping[str, Any]],
) -> Content:
    """Judge the records that belong together, and count."""
    counted = current(records)
    results = judged(map(_writable, counted), {key: _writable(c) for key, c in cases.items()})
    return Content(
        results=results,
        rows=table(results),
        pairings=pairings(results),
        runs=[_writable(run) for run in runs],
        unknown=len(counted) - len(results),
        older=len(records) - len(counted),
    )


def _writable(value: Any) -> Any:
    """The value without what no HTML and no XML can hold, or what they would obey.

    Each becomes one other character, so that no span is moved; a control becomes its picture.
    """
    if isinstance(value, str):
        return _UNWRITABLE.sub(_stand_in, value)
    if isinstance(value, Mapping):
        return {_writable(key): _writable(held) for key, held in value.items()}
    return [_writable(held) for held in value] if isinstance(value, list | tuple) else value


def _stand_in(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(0x2400 + code) if code < 0x20 else "\ufffd"


def sentences(content: Content, stage: str = "right") -> list[Pairing]:
    """The pairings worth a sentence: each way against the best of its model and suite, by share."""
    found = []
    good = next(known.good for known in STAGES if known.name == stage)
    best: dict[tuple[str, str], tuple[float, str]] = {}
    for row in content.rows:
        share = row.stages.get(stage)
        key = (row.model, row.suite)
        if share is not None:
            worth = share.value if good else -share.value
            if key not in best or worth > best[key][0]:
                best[key] = worth, row.way
    for pairing in content.pairings:
        _, leader = best.get((pairing.model, pairing.suite), (0.0, ""))
        if pairing.stage == stage and leader in (pairing.first, pairing.second):
            found.append(pairing if pairing.first == leader else turned(pairing))
    return found


def turned(pairing: Pairing) -> Pairing:
    """The same comparison, told of the second way."""
    return replace(
        pairing,
        first=pairing.second,
        second=pairing.first,
        share=pairing.other,
        other=pairing.share,
        better=pairing.worse,
        worse=pairing.better,
    )


@dataclass(frozen=True, slots=True)
class Failures:
    """What went wrong, turn by turn, for people to look at.

    Attributes:
        turns: plain JSON; what many turns have in common is a number, an index into ``texts``.
        texts: each text once.
        more: turns that went wrong and are not shown.
    """

    turns: list[dict[str, Any]]
    texts: list[str]
    more: int


def failures(results: Iterable[Judged]) -> Failures:
    """The failures of judged results, the first of each way, model and suite."""
    shown: list[dict[str, Any]] = []
    texts: dict[str, int] = {}
    seen: Counter[tuple[str, str, str]] = Counter()
    more = 0
    for result in results:
        if result.judgement.stages["right"]:
            continue
        record = result.record
        group = (record["model"], record["way"], record["suite"])
        seen[group] += 1
        if seen[group] > MAX_PER_GROUP:
            more += 1
        else:
            shown.append(_failure(result, lambda text: texts.setdefault(text, len(texts))))
    return Failures(shown, list(texts), more)


def _failure(result: Judged, index: Callable[[str], int]) -> dict[str, Any]:
    record, case, judgement = result.record, result.case, result.judgement
    native = record["way"].startswith("native")  # elsewhere the tools stand in the prompt
    failed = [s.name for s in STAGES if _is_failure(judgement.stages[s.name], good=s.good)]
    return {
        "model": record["model"],
        "way": record["way"],
        "suite": record["suite"],
        "case": record["case"],
        "kind": record["kind"],
        "repeat": record["repeat"],
        "stages": failed,
        "question": index(cut(case["question"], 160)),
        "prompt": [[role, index(cut(text))] for role, text in record["prompt"]],
        "tools": index(_json(case["tools"])) if native else None,
        "expected": index(_json({"calls": case["calls"], "answer": case.get("answer")})),
        "got": _json([{"name": call.name, "arguments": call.arguments} for call in judgement.made]),
        "answer": cut(record["answer"]),
        "stop": record["stop"],
        "faults": list(judgement.faults),
        "steps": [_step(step) for step in record["steps"]],
    }


def _json(value: Any) -> str:
    return cut(to_json(value, indent=1))


def _is_failure(value: bool | float | None, *, good: bool) -> bool:
    return value is not None and (value < 1 if good else value > 0)


def _step(step: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "pieces": pieces(step["raw"], step["segments"]),
        "reasoning": cut(step["reasoning"]),
        "source": step["source"],
        "path": step["path"],
        "notes": step["notes"],
        "results": [
            {"name": call["name"], "status": call["status"], "text": cut(call["result"])}
            for call in step["calls"]
        ],
    }


def pieces(raw: str, segments: Iterable[Sequence[Any]]) -> list[list[str]]:
    """The reply as ``[kind, text, note]``; what no segment covers is of kind ``text``."""
    found: list[list[str]] = []
    place = 0
    for kind, start, end, note in segments:
        if start > place:
            found.append(["text", raw[place:start], ""])
            place = start
        if end > place:
            found.append([kind, raw[place:end], note])
            place = end
    found.append(["text", raw[place:], ""])
    left = MAX_CHARS
    kept = []
    for kind, text, note in found:
        if text and left > 0:
            kept.append([kind, cut(text, left), note])
            left -= len(text)
    return kept


def cut(text: str, most: int = MAX_CHARS) -> str:
    """The text, its middle left out if it is too long."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half:,} characters …]\n{text[len(text) - half :]}"
