"""How a reading is judged against a case of ``replies.jsonl``."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fallback import Catalogue, Parser, Reading

CASES = Path(__file__).with_name("replies.jsonl")


def load() -> list[dict[str, Any]]:
    return [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]


def read(case: dict[str, Any], chunks: Iterable[str]) -> Reading:
    parser = Parser(
        Catalogue(case["tools"]),
        tool_choice=case.get("tool_choice") or "auto",
        reasoning_open=case.get("reasoning_open") or False,
    )
    for chunk in chunks:
        parser.feed(chunk)
    parser.close(case.get("finish_reason") or "stop")
    return parser.reading


def faults(case: dict[str, Any], reading: Reading) -> list[str]:
    """What is wrong with the reading, or nothing; one of ``also_ok`` will do as well."""
    outcomes = [case, *(case | other for other in case.get("also_ok") or [])]
    found = [_faults(outcome, reading) for outcome in outcomes]
    return [] if [] in found else found[0]


def _faults(case: dict[str, Any], reading: Reading) -> list[str]:
    wrong = []
    calls = [{"name": call.name, "arguments": call.arguments} for call in reading.calls]
    if json.dumps(calls, sort_keys=True) != json.dumps(case["expect_calls"], sort_keys=True):
        wrong.append(f"calls {calls}, expected {case['expect_calls']}")
    text = case.get("expect_text")
    if text is not None and reading.text.strip() != text.strip():
        wrong.append(f"text {reading.text!r}, expected {text!r}")
    error = case.get("expect_error")
    if error:
        matching = [problem for problem in reading.problems if problem.kind == error["code"]]
        if not matching:
            wrong.append(f"problems {[p.kind for p in reading.problems]}, expected {error['code']}")
        said = [problem.message for problem in matching]
        lacking = [w for w in error["must_mention"] if not any(w in message for message in said)]
        wrong += [f"no message mentions {word!r}: {said}" for word in lacking]
    elif reading.problems:
        wrong.append(f"problems {[(p.kind, p.message) for p in reading.problems]}, expected none")
    return wrong
