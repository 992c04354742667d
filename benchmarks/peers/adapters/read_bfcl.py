"""BFCL's default decoder: Python calls first, then a list in JSON.

The decoder evaluates arithmetic with ``eval``. Model text is not evaluated here: only sums of
numbers get through, which is all that the decoder wants it for.
"""

from __future__ import annotations

import ast
from typing import Any

from bfcl_eval.constants.enums import (  # type: ignore[import-not-found]  # in its own environment
    ReturnFormat,
)
from bfcl_eval.model_handler import utils  # type: ignore[import-not-found]  # the same
from protocol import Calls, Reply, serve

_ARITHMETIC = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.Constant)


def _arithmetic(source: str) -> Any:
    tree = ast.parse(source, mode="eval")
    for node in ast.walk(tree):
        if not isinstance(node, _ARITHMETIC) or isinstance(node, ast.Pow | ast.LShift):
            raise ValueError(f"not arithmetic: {source[:80]}")
    return eval(compile(tree, "reply", "eval"), {"__builtins__": {}})  # noqa: S307 - numbers only, checked above


utils.eval = _arithmetic


def read(reply: Reply) -> Calls:
    try:
        decoded = utils.default_decode_ast_prompting(reply["text"])
    except (SyntaxError, ValueError, AttributeError, AssertionError):
        decoded = utils.default_decode_ast_prompting(reply["text"], ReturnFormat.JSON)
    return [pair for call in decoded for pair in call.items()]


if __name__ == "__main__":
    serve(read)
