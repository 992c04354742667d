"""The fuzzer finds what is wrong with parsers that are wrong, and nothing with ours."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

from fallback import Parser
from fallback.errors import ConfigurationError
from fallback.testing import strategies
from fallback.testing.fuzzing import Fault, fuzz
from fallback.testing.laws import LAWS, depth_of, ours, same
from fallback.testing.samples import LawBroken, Sample
from fallback.testing.targets import subject
from fallback.testing.writers import WRITERS, Written

ANY_PARSER = [name for name, law in LAWS.items() if law.any_parser]
Tools = list[dict[str, Any]]


def patient(text: str, tools: Tools) -> list[Any]:
    """The usual few lines: every object between the tags, if it is JSON."""
    calls = []
    for body in re.findall(r"<tool_call>\s*(\{.*?\})\s*</tool_call>", text, re.DOTALL):
        try:
            value = json.loads(body)
        except ValueError:
            continue
        if isinstance(value, dict) and isinstance(value.get("arguments"), dict):
            calls.append(value)
    return calls


def mending(text: str, tools: Tools) -> list[Any]:
    """Closes whatever is open, as repair libraries do."""
    start = text.find('{"name"')
    for closer in ("", "}", "}}", '"}}', "'}}") if start >= 0 else ():
        try:
            value, _ = json.JSONDecoder().raw_decode(text[start:] + closer)
        except ValueError:
            continue
        if isinstance(value.get("name"), str) and isinstance(value.get("arguments"), dict):
            return [value]
    return []


def evaluating(text: str, tools: Tools) -> list[Any]:
    """Reads Python; its parser raises on what is none."""
    tree = ast.parse(text)
    return [(node.func.id, {}) for node in ast.walk(tree) if isinstance(node, ast.Call)]


def found(target: Callable[[str, Tools], Any], law: str, dialect: str = "hermes") -> Fault:
    outcome = fuzz(subject(target), laws=[law], dialects=[dialect], seed=1, rounds=3)
    assert outcome.fault is not None
    return outcome.fault


@pytest.mark.parametrize("law", LAWS)
def test_our_parser_breaks_no_law(law: str) -> None:
    outcome = fuzz(laws=[law], seed=20, examples=60)
    assert outcome.fault is None, outcome.fault
    assert outcome.examples >= 10


@pytest.mark.parametrize("dialect", WRITERS)
def test_our_parser_reads_what_every_dialect_writes(dialect: str) -> None:
    outcome = fuzz(laws=["round_trip", "no_complaints"], dialects=[dialect], seed=3, examples=30)
    assert outcome.fault is None, outcome.fault


def test_a_search_for_tags_is_caught_calling_what_is_quoted() -> None:
    fault = found(patient, "quoted_never_called")
    assert fault.law == "quoted_never_called"
    assert "<tool_call>" in fault.sample.text
    assert patient(fault.sample.text, []) != []


def test_a_search_for_tags_is_caught_ending_a_value_too_early() -> None:
    fault = found(patient, "round_trip")
    assert fault.law == "round_trip"
    (call,) = fault.sample.calls or ()
    assert "</tool_call>" in json.dumps(call.arguments)


def test_a_search_for_tags_is_caught_calling_what_was_never_offered() -> None:
    assert found(patient, "undeclared_never_called").law == "undeclared_never_called"


def test_a_search_for_tags_is_caught_calling_what_stands_in_a_result() -> None:
    assert found(patient, "results_never_called").law == "results_never_called"


def test_a_mender_is_caught_calling_what_was_cut_off() -> None:
    fault = found(mending, "truncated_never_called", "bare_json")
    assert fault.law == "truncated_never_called"
    assert "told here" not in fault.sample.text


def test_a_parser_that_raises_is_caught_whatever_law_is_tried() -> None:
    fault = found(evaluating, "round_trip")
    assert (fault.law, fault.found_by) == ("never_raises", "round_trip")
    assert "SyntaxError" in fault.detail


def test_a_parser_that_hangs_is_caught() -> None:
    def hangs(text: str, tools: Tools) -> list[Any]:
        while "`" in text:
            pass
        return []

    outcome = fuzz(subject(hangs), laws=["never_raises"], rounds=3, patience=0.2, examples=20)
    assert outcome.fault is not None
    assert outcome.fault.detail == "no answer within 0.2 seconds"


def test_what_is_found_is_small() -> None:
    fault = found(patient, "quoted_never_called")
    assert len(fault.sample.tools) == 1
    assert len(fault.sample.text) < 250


def test_the_same_seed_finds_the_same_fault() -> None:
    first, second = (found(patient, "round_trip") for _ in range(2))
    assert first == second


def test_other_parsers_are_held_to_the_laws_that_need_only_calls() -> None:
    outcome = fuzz(subject(lambda text, tools: []), laws=["never_raises"], examples=5)
    assert outcome.laws == ("never_raises",)
    everything = fuzz(subject(lambda text, tools: None), examples=1)
    assert list(everything.laws) == ANY_PARSER
    with pytest.raises(ConfigurationError, match="needs more than calls"):
        fuzz(subject(patient), laws=["nothing_is_lost"])


@pytest.mark.parametrize("choice", [{"laws": ["x"]}, {"dialects": ["x"]}])
def test_a_law_or_a_dialect_that_does_not_exist_is_a_clear_error(choice: Any) -> None:
    with pytest.raises(ConfigurationError, match="is called 'x'; there are"):
        fuzz(**choice)


class Rescanning(Parser):
    """Ours, made quadratic: it looks at everything again with every chunk."""

    def feed(self, chunk: str) -> Any:
        self._seen = [*getattr(self, "_seen", []), chunk]
        for piece in self._seen:
            piece.isspace()
        return super().feed(chunk)


def test_quadratic_work_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fallback.testing.laws.Parser", Rescanning)
    sample = Sample(text="word " * 400, longer="word " * 1600, tools=())
    with pytest.raises(LawBroken, match="work_is_linear: in chunks of 4"):
        LAWS["work_is_linear"].check(ours, sample)


@given(sample=strategies.replies())
def test_every_sample_is_fit_for_every_law_of_our_reading(sample: Sample) -> None:
    for law in ("chunks_do_not_matter", "nothing_is_lost", "calls_are_valid"):
        LAWS[law].check(ours, sample)


@given(sample=strategies.rendered())
def test_chunks_are_the_whole_text(sample: Sample) -> None:
    assert "".join(sample.chunks()) == sample.text


def test_every_law_has_a_sentence() -> None:
    for law in LAWS.values():
        assert re.fullmatch(r"[A-Z].{20,}\.", law.sentence)


def test_true_is_not_one() -> None:
    assert same({"a": [1, 1.0]}, {"a": [1.0, 1]})
    assert not same([True], [1])
    assert not same({"a": 1}, {"b": 1})
    assert not same("1", 1)
    assert depth_of({"a": [[]]}) == 3


@pytest.mark.parametrize(
    "returned",
    [
        [{"name": "f", "arguments": {"a": 1}}],
        [{"name": "f", "arguments": '{"a": 1}'}],
        [{"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}],
        [("f", {"a": 1})],
        (call for call in [Written("f", {"a": 1})]),
    ],
)
def test_calls_may_come_in_any_usual_form(returned: Any) -> None:
    calls = subject(lambda text, tools: returned)(Sample(text="", tools=()))
    assert list(calls) == [Written("f", {"a": 1})]


@pytest.mark.parametrize("returned", ["f", {"name": "f"}, 5, [5], [{"name": "f"}], [("f", "x")]])
def test_what_is_no_list_of_calls_is_the_targets_fault(returned: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"a target returns|a call is"):
        subject(lambda text, tools: returned)(Sample(text="", tools=()))


def test_a_target_cannot_change_the_tools() -> None:
    tools = ({"type": "function", "function": {"name": "f", "parameters": {}}},)

    def vandal(text: str, offered: Tools) -> None:
        offered[0]["function"]["name"] = "g"
        offered.clear()

    subject(vandal)(Sample(text="", tools=tools))
    assert tools[0]["function"]["name"] == "f"
