"""Replies of models in public reports, and how each is to be read: the conformance cases.

The replies are minimal reconstructions; ``url`` says where the fault was met. They are data, one
JSON object a line, so that a parser in any language can be checked against them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from fallback.catalogue import Catalogue
from fallback.messages import Reading
from fallback.parsing import Parser

PATH = Path(__file__).with_name("replies.jsonl")
"""The file with the cases."""

Case = Mapping[str, Any]
"""One case: ``id``, ``source``, ``url``, ``category``, ``difficulty`` (1 to 3), ``scope``,
``model``, ``tools``, ``output``, ``expect_calls`` (arguments after coercion; ``[]`` for no call),
``expect_text`` (compared without white space around it; ``None``: anything goes), ``expect_error``
(``code`` and the words that the correction ``must_mention``) and ``note``; optional ``also_ok``
(other outcomes that will do), ``chunks``, ``finish_reason``, ``tool_choice``, ``reasoning_open``
and ``max_ms``."""


def cases() -> tuple[Case, ...]:
    """All cases, in the order of the file; each call returns objects of its own."""
    return tuple(json.loads(line) for line in _lines())


@cache
def _lines() -> tuple[str, ...]:
    return tuple(PATH.read_text("utf-8").splitlines())


def read(case: Case, chunks: Iterable[str] | None = None) -> Reading:
    """Read the reply of a case with our own parser.

    Args:
        case: which.
        chunks: how the reply arrives; at once by default.
    """
    parser = Parser(
        Catalogue(case["tools"]),
        tool_choice=case.get("tool_choice") or "auto",
        reasoning_open=case.get("reasoning_open") or False,
    )
    for chunk in [case["output"]] if chunks is None else chunks:
        parser.feed(chunk)
    parser.close(case.get("finish_reason") or "stop")
    return parser.reading


def faults(case: Case, reading: Reading) -> list[str]:
    """What is wrong with a reading, or nothing; one outcome of ``also_ok`` will do as well."""
    outcomes = [case, *({**case, **other} for other in case.get("also_ok") or [])]
    found = [_faults(outcome, reading) for outcome in outcomes]
    return [] if [] in found else found[0]


def _faults(case: Case, reading: Reading) -> list[str]:
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
