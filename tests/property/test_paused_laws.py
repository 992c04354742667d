"""A turn that waits is stored as JSON and comes back the same, whatever is in it."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallback.errors import UsageError
from fallback.loop.paused import Paused
from fallback.messages import (
    FailureKind,
    FinishReason,
    Message,
    Mode,
    Problem,
    ProblemKind,
    Reading,
    ResultStatus,
    Span,
    Step,
    ToolCall,
    ToolResult,
    Usage,
)


def one_of(literal: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(get_args(literal))


# Lone surrogates too: models write them, as escapes in JSON.
TEXT = st.text(st.characters(exclude_categories=()), max_size=5)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=2,
)
SPANS = st.builds(Span, st.integers(0, 99), st.integers(0, 99))
CALLS = st.builds(
    ToolCall,
    id=TEXT,
    name=TEXT,
    arguments=st.dictionaries(TEXT, JSON, max_size=3),
    span=SPANS,
    repairs=st.lists(TEXT, max_size=2).map(tuple),
)
RESULTS = st.builds(
    ToolResult,
    call_id=TEXT,
    name=TEXT,
    status=one_of(ResultStatus),
    content=TEXT,
    warnings=st.lists(TEXT, max_size=2).map(tuple),
    copy_of=st.none() | TEXT,
    kind=st.none() | one_of(FailureKind),
    retryable=st.booleans(),
    untrusted=st.booleans(),
    approval=TEXT,
    detail=TEXT,
)
PROBLEMS = st.builds(
    Problem, kind=one_of(ProblemKind), message=TEXT, tool=st.none() | TEXT, span=SPANS, text=TEXT
)
MESSAGES = st.builds(
    Message,
    role=st.sampled_from(["user", "assistant", "tool"]),
    content=TEXT,
    tool_calls=st.lists(CALLS, max_size=2).map(tuple),
    result=st.none() | RESULTS,
    images=st.lists(TEXT, max_size=1).map(tuple),
)
READINGS = st.builds(
    Reading,
    text=TEXT,
    reasoning=TEXT,
    calls=st.lists(CALLS, max_size=2).map(tuple),
    problems=st.lists(PROBLEMS, max_size=2).map(tuple),
    finish_reason=one_of(FinishReason),
)
STEPS = st.builds(
    Step,
    index=st.integers(0, 9),
    mode=one_of(Mode),
    path=TEXT,
    source=st.sampled_from(["server", "text", "none"]),
    raw=TEXT,
    reading=READINGS,
    results=st.lists(RESULTS, max_size=2).map(tuple),
    usage=st.builds(Usage, prompt_tokens=st.integers(0, 99), cached_tokens=st.none()),
    notes=st.lists(TEXT, max_size=2).map(tuple),
)
PAUSED = st.builds(
    Paused,
    turn_id=TEXT,
    model=TEXT,
    mode=one_of(Mode),
    history=st.lists(MESSAGES, max_size=1).map(tuple),
    messages=st.lists(MESSAGES, min_size=1, max_size=2).map(tuple),
    steps=st.lists(STEPS, min_size=1, max_size=2).map(tuple),
)


@given(PAUSED)
def test_what_is_stored_comes_back_without_the_values_of_results(paused: Paused) -> None:
    last = paused.steps[-1]
    held = tuple(replace(result, value=object()) for result in last.results)
    full = replace(paused, steps=(*paused.steps[:-1], replace(last, results=held)))
    assert Paused.from_json(json.loads(json.dumps(full.to_json()))) == paused


@given(PAUSED, st.data())
def test_a_damaged_turn_is_refused_or_usable(paused: Paused, data: st.DataObject) -> None:
    stored = json.loads(json.dumps(paused.to_json()))
    stored[data.draw(st.sampled_from(sorted(stored)))] = data.draw(JSON)
    with suppress(UsageError):
        read = Paused.from_json(stored)
        assert read.messages[0]
        assert len(read.waiting) + len(read.settled) <= len(read.steps[-1].results)


def test_a_turn_of_another_version_is_refused() -> None:
    with pytest.raises(UsageError, match="stored by another version"):
        Paused.from_json({"form": 0})
