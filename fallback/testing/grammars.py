"""The grammars of the payloads: loaded when first asked for, drawn from, and given a meaning.

``grammars/*.lark`` describe what stands between the markers of a call, one file for each shape. The
parser does not run them (see ARCHITECTURE.md, Decisions); it is held against them: every text that
a grammar generates is read, with the value that its tree has.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from fallback.resources import data_dir
from fallback.testing.writers import Written

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy
    from lark import Lark, Tree

ENVELOPES: Mapping[str, str] = {
    "json_call": "```tool_call\n{}\n```",
    "python_call": "```tool_code\n{}\n```",
    "tag_call": "<tool_call>\n{}\n</tool_call>",
    "pair_call": "<tool_call>{}</tool_call>",
    "gemma_call": "<|tool_call>{}<tool_call|>",
    "labelled_call": "{}",
}
"""The grammars that describe calls, with an envelope in which models write them."""


class TwiceError(ValueError):
    """A text names an argument, or a key of an object, twice: it has no one meaning."""


@cache
def grammar(name: str, start: str = "start") -> Lark:
    """The grammar of that name, ready to parse.

    Args:
        name: of the file, without ``.lark``.
        start: the rule to begin with.
    """
    from lark import Lark

    folder = data_dir("grammars")
    return Lark.open(
        str(folder / f"{name}.lark"),
        parser="lalr",
        start=start,
        import_paths=[str(folder)],
        maybe_placeholders=False,
    )


def texts_of(name: str) -> SearchStrategy[str]:
    """Hypothesis: any text of that grammar, without the envelope."""
    from hypothesis import strategies as st
    from hypothesis.extra.lark import from_lark

    alphabet = st.characters(codec="utf-8")
    return from_lark(grammar(name), alphabet=alphabet)


def meaning(name: str, text: str) -> list[Written]:
    """The calls that a text of that grammar states.

    Raises:
        TwiceError: it states no one call.
        lark.LarkError: it is no text of that grammar.
    """
    tree: Any = grammar(name).parse(text)
    if name == "labelled_call":
        called = next(str(item) for item in tree.children if getattr(item, "type", "") == "NAME")
        return [Written(called, _value(tree.children[-1]))]
    return [_CALLS[name](node) for node in tree.iter_subtrees_topdown() if node.data == "call"]


def _json_call(call: Any) -> Written:
    parts: dict[str, Any] = {part.data: part.children[0] for part in call.children}
    return Written(json.loads(parts["name"]), _value(parts["arguments"]))


def _python_call(call: Tree[Any]) -> Written:
    name, *arguments = call.children
    pairs: list[tuple[str, Any]] = []
    for argument in arguments:
        *key, value = argument.children
        if key:
            pairs.append((str(key[0]), _value(value)))
        else:
            pairs += _value(value).items()
    return Written(str(name), _once(pairs))


def _tag_call(call: Tree[Any]) -> Written:
    name, *pairs = call.children
    return Written(str(name), _once([_raw_pair(pair) for pair in pairs]))


def _raw_pair(pair: Tree[Any]) -> tuple[str, str]:
    key, *value = pair.children
    text = str(value[0]) if value else ""
    if text.startswith("\n"):
        text = text.removeprefix("\n").removesuffix("\n")
    return str(key), text


def _gemma_call(call: Tree[Any]) -> Written:
    name, arguments = call.children
    return Written(str(name), _value(arguments))


_CALLS: Mapping[str, Callable[[Tree[Any]], Written]] = {
    "json_call": _json_call,
    "python_call": _python_call,
    "tag_call": _tag_call,
    "pair_call": _tag_call,
    "gemma_call": _gemma_call,
}
_LITERALS = {"true": True, "false": False, "null": None, "none": None}


def _value(node: Any) -> Any:
    """The JSON value of a tree or token of any of the grammars."""
    if not hasattr(node, "data"):
        return _scalar(node.type, str(node))
    children, kind = node.children, node.data.rpartition("__")[2]  # what is imported has a prefix
    if kind in ("object", "dict"):
        return _once([(_value(m.children[0]), _value(m.children[1])) for m in children])
    if kind in ("array", "list", "tuple"):
        return [_value(child) for child in children]
    return _LITERALS[kind] if kind in _LITERALS else _value(children[0])


def _scalar(kind: str, text: str) -> Any:
    if kind == "NAME":
        return text
    if kind == "TEXT":
        return text.removeprefix('<|"|>').removesuffix('<|"|>')
    if kind == "NUMBER":
        return json.loads(text)
    # Between double quotes the grammar of Python allows no more than JSON does.
    return json.loads(text) if text[0] == '"' else ast.literal_eval(text)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise TwiceError(", ".join(key for key, _ in pairs))
    return value
