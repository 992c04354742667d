"""Lesson 2: a calculator that evaluates nothing.

A model's arguments are hostile input. ``eval`` would run ``__import__("os").system(...)`` as gladly
as ``2 + 2``; this tool walks the syntax tree and knows numbers and six operators, nothing else.
"""

import ast
import operator
from collections.abc import Callable

from fallback import Session, tool
from fallback.errors import ToolRetry
from fallback.testing import ScriptedBackend

OPERATORS: dict[type[ast.AST], Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.USub: operator.neg,
}


def evaluate(node: ast.expr) -> float:
    """The value of a tree of numbers and operators."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](evaluate(node.left), evaluate(node.right))
    if isinstance(node, ast.UnaryOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](evaluate(node.operand))
    raise ToolRetry(f"only numbers and + - * / % are allowed, not {ast.unparse(node)}")


@tool
def calculate(expression: str) -> float:
    """Work out an arithmetic expression.

    Args:
        expression: numbers, parentheses and + - * / %, such as "(3 + 4) * 2".
    """
    if len(expression) > 200:
        raise ToolRetry("the expression is too long")
    try:
        tree = ast.parse(expression, mode="eval")
    except SyntaxError as error:
        raise ToolRetry(f"this is not an expression: {error.msg}") from error
    return evaluate(tree.body)


def call(expression: str) -> str:
    return (
        '```tool_call\n{"name": "calculate", "arguments": {"expression": "'
        + expression
        + '"}}\n```'
    )


model = ScriptedBackend([call("open(0)"), call("17 * 23"), "17 times 23 is 391."])
turn = Session("any", tools=[calculate], backend=model).run("What is 17 times 23?")

refused, done = turn.steps[0].results[0], turn.steps[1].results[0]
assert refused.status == "retry"
assert "not open(0)" in refused.content
assert done.value == 391
assert turn.answer == "17 times 23 is 391."

# The model is told what went wrong, without a stack trace; dividing by zero is no drama either.
model = ScriptedBackend([call("1 / 0"), "That cannot be worked out."])
turn = Session("any", tools=[calculate], backend=model).run("What is 1 / 0?")
assert turn.steps[0].results[0].content == "Error: ZeroDivisionError: division by zero"

print(done.content, "|", turn.answer)
