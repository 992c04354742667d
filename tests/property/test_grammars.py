"""The grammars describe what the parser reads: what they generate is read, with the same value."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.lark import from_lark
from lark import Lark

from fallback import Catalogue, parse
from fallback.resources import data_dir

GRAMMARS = ("json_value.lark", "json_call.lark", "python_call.lark")


@cache
def grammar(name: str) -> Lark:
    folder = data_dir("grammars")
    start = "value" if name == "json_value.lark" else "start"
    return Lark.open(
        str(folder / name), parser="lalr", start=start, import_paths=[str(folder)], regex=False
    )


def text_of(name: str) -> st.SearchStrategy[str]:
    alphabet = st.characters(codec="utf-8", exclude_categories=["Cc"])
    return from_lark(grammar(name), alphabet=alphabet)


def tools_of(names: set[str]) -> Catalogue:
    anything = {"type": "object", "properties": {}, "additionalProperties": True}
    return Catalogue([{"name": name, "parameters": anything} for name in names])


def test_every_grammar_is_lalr_and_headed_by_what_it_describes() -> None:
    files = sorted(path.name for path in data_dir("grammars").glob("*.lark"))
    assert files == sorted(GRAMMARS)
    for name in files:
        assert (data_dir("grammars") / name).read_text("utf-8").startswith("// ")
        assert grammar(name).options.parser == "lalr"


@given(text=text_of("json_call.lark"))
def test_json_calls_of_the_grammar_are_read_with_their_value(text: str) -> None:
    value = json.loads(text)
    calls = value if isinstance(value, list) else [value]
    names = {call["name"] for call in calls}
    if not all(name.isidentifier() for name in names):
        return
    reading = parse(f"```tool_call\n{text}\n```", tools_of(names))
    if _names_a_key_twice(text):
        assert reading.problems != ()
        return
    assert [call.arguments for call in reading.calls] == [call["arguments"] for call in calls]


def _names_a_key_twice(text: str) -> bool:
    twice = False

    def pairs(members: list[tuple[str, Any]]) -> Mapping[str, Any]:
        nonlocal twice
        twice = twice or len(dict(members)) != len(members)
        return dict(members)

    json.loads(text, object_pairs_hook=pairs)
    return twice


@given(text=text_of("python_call.lark"))
def test_python_calls_of_the_grammar_are_read_without_a_crash(text: str) -> None:
    names = set(_called(text))
    reading = parse(f"```tool_code\n{text}\n```", tools_of(names or {"f"}))
    for call in reading.calls:
        json.dumps(call.arguments, allow_nan=False)


def _called(text: str) -> list[str]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return []
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = [call.func.id for call in calls if isinstance(call.func, ast.Name)]
    return [name for name in names if name.strip("_")]
