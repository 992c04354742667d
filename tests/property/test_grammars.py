"""The grammars describe what the parser reads: what they generate is read, with the same value."""

from __future__ import annotations

import json
from functools import cache

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fallback import Catalogue, parse
from fallback.resources import data_dir
from fallback.testing.grammars import ENVELOPES, TwiceError, grammar, meaning, texts_of
from fallback.testing.writers import Written

EXAMPLES = {
    "json_call": ('[{"name": "f", "arguments": {"a": [1, "x"]}}]', [("f", {"a": [1, "x"]})]),
    "python_call": ("[f(a=(1, 'x'), **{'b': None}), g()]",
                    [("f", {"a": [1, "x"], "b": None}), ("g", {})]),
    "tag_call": (
        "<function=f>\n<parameter=a>\nx\n\n</parameter>\n</function>\n<function=g></function>",
        [("f", {"a": "x\n"}), ("g", {})],
    ),
    "pair_call": ("f\n<arg_key>a</arg_key>\n<arg_value>x</arg_value>\n", [("f", {"a": "x"})]),
    "gemma_call": ('call:f{a:<|"|>x<|"|>,b:[1,None]}', [("f", {"a": "x", "b": [1, None]})]),
    "labelled_call": ('Thought: well.\nAction: f\nAction Input: {"a":1}', [("f", {"a": 1})]),
}  # fmt: skip
# Words that mean something else in front of a call.
STATEMENTS = {"print", "await", "return"}


def tools_of(names: set[str]) -> Catalogue:
    anything = {"type": "object", "properties": {}, "additionalProperties": True}
    return Catalogue([{"name": name, "parameters": anything} for name in sorted(names)])


@cache
def texts(name: str) -> st.SearchStrategy[str]:
    return texts_of(name)


def test_every_grammar_is_lalr_and_headed_by_what_it_describes() -> None:
    files = sorted(path.stem for path in data_dir("grammars").glob("*.lark"))
    assert files == sorted([*ENVELOPES, "json_value"])
    for name in files:
        assert (data_dir("grammars") / f"{name}.lark").read_text("utf-8").startswith("// ")
        start = "value" if name == "json_value" else "start"
        assert grammar(name, start).options.parser == "lalr"
        assert grammar(name, start) is grammar(name, start)


@pytest.mark.parametrize("name", ENVELOPES)
def test_the_meaning_of_a_text_is_that_of_its_tree(name: str) -> None:
    text, calls = EXAMPLES[name]
    assert meaning(name, text) == [Written(*call) for call in calls]


# Texts of a grammar cost ten times as much to draw as others, and there are six grammars.
@pytest.mark.parametrize("name", ENVELOPES)
@settings(max_examples=settings().max_examples // 3)
@given(data=st.data())
def test_what_a_grammar_generates_is_read_with_the_value_of_its_tree(
    name: str, data: st.DataObject
) -> None:
    text = data.draw(texts(name))
    try:
        calls = meaning(name, text)
    except TwiceError:
        calls = None
    names = {call.name for call in calls or [Written("f", {})]}
    assume(
        all(word.isidentifier() and word.strip("_") for word in names) and not names & STATEMENTS
    )
    reading = parse(ENVELOPES[name].replace("{}", text), tools_of(names))
    if calls is None:
        assert len(reading.problems) > 0
        return
    # These are refused, or unwrapped, for what they say; tests of validation are about them.
    assume(not any("placeholder" in problem.message for problem in reading.problems))
    assume(not any("nested_arguments" in call.repairs for call in reading.calls))
    read = [(call.name, call.arguments) for call in reading.calls]
    meant = [(call.name, dict(call.arguments)) for call in calls]
    assert json.dumps(read, sort_keys=True) == json.dumps(meant, sort_keys=True)
    assert reading.problems == ()
