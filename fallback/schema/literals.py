"""Structures written as Python literals: ``{'days': 3, 'alert': True}``.

Nothing is evaluated. The text is first cut into the tokens that a literal may consist of, so that
no operator, call, name or prefixed string ever reaches Python's own parser, and brackets are
counted on the way, so that it never has to recurse deeply.
"""

from __future__ import annotations

import ast
import math
import re
from typing import Any

from fallback.limits import DEFAULT_LIMITS

DEEPEST = 64
"""Brackets inside brackets; Python's own tokenizer gives up at 200."""

# Only escapes that Python knows: others would be read with a warning, and as two characters.
_ESCAPE = (
    r"\\(?:[\\'\"abfnrtv]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U00(?:0[0-9A-Fa-f]|10)[0-9A-Fa-f]{4})"
)
_TOKEN = re.compile(
    rf"""
      (?P<space>\s+)
    | (?P<open>[\[{{(])
    | (?P<close>[\]}})])
    | [,:]
    | '(?!'')(?:[^'\\\n\r]|{_ESCAPE})*'
    | "(?!"")(?:[^"\\\n\r]|{_ESCAPE})*"
    | -?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.'"])
    | (?:True|False|None|true|false|null)(?![\w.'"(\[])
    """,
    re.VERBOSE,
)
_JSON_NAMES = {"true": True, "false": False, "null": None}


class _NotALiteralError(ValueError):
    """The text is Python, but not a literal that JSON can hold."""


def read_literal(text: str) -> Any:
    """The value of a list, tuple or dict literal; Ellipsis if it is not one, or not exact.

    Tuples become lists. JSON's ``true``, ``false`` and ``null`` are read too, because models mix
    them.
    """
    if len(text) > DEFAULT_LIMITS.max_literal_chars or not _is_plain(text):
        return ...
    try:
        tree = ast.parse(text, mode="eval")
        return _value(tree.body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ...


def _is_plain(text: str) -> bool:
    position = depth = 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            return False
        if token.lastgroup == "open":
            depth += 1
        elif token.lastgroup == "close":
            depth -= 1
        if not 0 <= depth <= DEEPEST:
            return False
        position = token.end()
    return depth == 0


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant):
        return _finite(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        return -_finite(node.operand.value)
    if isinstance(node, ast.Name) and node.id in _JSON_NAMES:
        return _JSON_NAMES[node.id]
    if isinstance(node, ast.List | ast.Tuple):
        return [_value(item) for item in node.elts]
    if isinstance(node, ast.Dict):
        keys = [_key(key) for key in node.keys]
        if len(set(keys)) != len(keys):
            raise _NotALiteralError("a key occurs twice")
        return dict(zip(keys, map(_value, node.values), strict=True))
    raise _NotALiteralError(type(node).__name__)


def _key(node: ast.expr | None) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise _NotALiteralError("keys of JSON are strings")


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise _NotALiteralError("JSON has no infinity")
    return value
