"""The four texts of a dialect: the system prompt, a past call, a result, a correction.

The wording is in ``templates/<dialect>/``; here is what the templates are given. Every example is
made from a real tool by the same function that renders real calls, so that the form that is asked
for and the form that is shown cannot differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from fallback.catalogue import Catalogue
from fallback.dialects.record import ARROW, Dialect
from fallback.messages import Problem, ToolCall, ToolResult
from fallback.rendering import literals
from fallback.rendering.examples import Example
from fallback.rendering.fences import fence_for, header_word, neutralise, quote
from fallback.rendering.harmless import harmless
from fallback.schema import signature, skeleton
from fallback.templating import render, to_json
from fallback.tools import Tool

__all__ = [
    "answer_text",
    "call_text",
    "correction_text",
    "offered",
    "result_text",
    "system_text",
]

_FORM = ToolCall(id="", name="NAME", arguments={"PARAMETER": "VALUE"})
"""A call with placeholders, for dialects without a worked example."""

_ENDS_BRACKET = re.compile(rf'[\[\]\n\r{ARROW}]|^"')

_LONGEST_QUESTION = 600
"""Characters of a question that are said again; a longer one is known by its beginning."""


def offered(catalogue: Catalogue, tool_choice: str) -> Catalogue:
    """The part of the catalogue that a ``tool_choice`` leaves: all, one tool, or none."""
    if tool_choice in ("auto", "required"):
        return catalogue
    return catalogue.only(*(() if tool_choice == "none" else (tool_choice,)))


def system_text(
    catalogue: Catalogue,
    dialect: Dialect,
    *,
    tool_choice: str = "auto",
    parallel: bool = True,
    instructions: str = "",
    examples: tuple[Example, ...] = (),
) -> str:
    """The system prompt: the tools, the form of a call, and then the application's instructions.

    The same arguments give the same bytes, whatever has been said in the conversation: a server can
    keep what it has evaluated. Without tools it is the instructions alone.

    Args:
        catalogue: the tools to offer.
        dialect: how calls are written.
        tool_choice: ``auto``, ``none``, ``required`` or the name of the only tool to offer.
        parallel: whether one reply may hold several calls.
        instructions: what the application has to say, last because it is read last.
        examples: shown in place of the one that is made of the first tool.
    """
    text = _tools_text(catalogue, dialect, tool_choice, parallel, examples)
    return "\n\n".join(filter(None, (text, instructions.strip())))


@lru_cache(maxsize=32)
def _tools_text(
    catalogue: Catalogue,
    dialect: Dialect,
    tool_choice: str,
    parallel: bool,
    examples: tuple[Example, ...],
) -> str:
    """The part that is the same in every step and request: a catalogue never changes."""
    tools = tuple(offered(catalogue, tool_choice))
    if not tools:
        return ""
    shown = _worked(examples, tools, catalogue, dialect)
    text = render(
        f"{dialect.name}/system.j2",
        signatures=[signature(tool) for tool in tools],
        tool=tools[0].name if dialect.example and not shown else None,
        example=shown or _first_example(tools[0], dialect),
        required=tool_choice != "auto",
        only=tools[0].name if tool_choice not in ("auto", "required") else None,
        parallel=parallel,
    )
    return text.strip()


def _worked(
    examples: Iterable[Example], tools: Iterable[Tool], catalogue: Catalogue, dialect: Dialect
) -> str:
    """The application's examples, those whose tools are all on offer; empty for none."""
    names = {tool.name for tool in tools}
    items = [
        {
            "question": neutralise(example.question.strip()),
            "call": _worked_calls(example, catalogue, dialect),
            # In running text a result stands behind its call, and nobody sends it.
            "result": "" if dialect.inline else _results(example.results, dialect),
        }
        for example in examples
        if example.tools <= names
    ]
    return render("worked.j2", items=items).strip() if items else ""


def _worked_calls(example: Example, catalogue: Catalogue, dialect: Dialect) -> str:
    if not (dialect.inline and example.results):
        return call_text(example.calls, dialect)
    return " ".join(
        f"{call_text([call], dialect)} {result_text(result, dialect, catalogue)}"
        for call, result in zip(example.calls, example.results, strict=True)
    )


def _results(results: Iterable[ToolResult], dialect: Dialect) -> str:
    return "\n".join(result_text(result, dialect) for result in results)


def _first_example(tool: Tool, dialect: Dialect) -> str:
    if not dialect.example:
        return call_text([_FORM], dialect)
    return _example(tool, dialect, optional=True)


def call_text(calls: Iterable[ToolCall], dialect: Dialect) -> str:
    """Calls exactly as the dialect asks the model to write them; empty for no calls."""
    given = [{"name": call.name, "arguments": call.arguments} for call in calls]
    if not given:
        return ""
    fence = fence_for(to_json(given))
    text = render(f"{dialect.name}/call.j2", calls=given, fence=fence, python_call=literals.call)
    return text.strip()


def result_text(result: ToolResult, dialect: Dialect, catalogue: Catalogue | None = None) -> str:
    """One result as the block that the system prompt announces.

    The content can neither close its block nor, repeated by the model, be taken for a call.

    Args:
        result: what a tool returned.
        dialect: how results are shown.
        catalogue: the tools that can be called, for a result in running text; without it every
            word there counts as the name of a tool.
    """
    content = neutralise(result.content)
    if dialect.inline:
        content = _in_brackets(harmless(content, catalogue))
    text = render(
        f"{dialect.name}/result.j2",
        fence=fence_for(content),
        name=header_word(result.name),
        id=header_word(result.call_id),
        status=result.status,
        content=content,
    )
    return text.strip()


def _in_brackets(content: str) -> str:
    """The content as it can stand inside brackets: as it is, or else as a JSON string."""
    plain = content.strip()
    return to_json(content) if not plain or _ENDS_BRACKET.search(plain) else plain


def answer_text(question: str, dialect: Dialect) -> str:
    """What is said behind a result: the question once more.

    A small model that reads only a result repeats its call, or ends at once. Asked again, it
    answers: of five questions with their results, ``qwen2.5-coder:0.5b`` answered none without
    this and all five with it.
    """
    asked = question if len(question) <= _LONGEST_QUESTION else question[:_LONGEST_QUESTION] + "…"
    text = render(f"{dialect.name}/answer.j2", question=neutralise(asked))
    return text.strip()


def correction_text(
    problems: Sequence[Problem],
    catalogue: Catalogue,
    dialect: Dialect | None,
    *,
    required: bool = False,
) -> str:
    """What the model is told about calls that could not be run, each with the right form.

    Args:
        problems: at least one; their messages are meant for the model.
        catalogue: the tools that were offered.
        dialect: how calls are written; ``None`` where the server takes care of that (native mode).
        required: whether the next reply has to be a call, so that a plain answer is no way out.
    """
    folder = dialect.name if dialect else "native"
    items = [_correction(problem, catalogue, dialect) for problem in problems]
    required |= any(p.kind in ("required_call_missing", "wrong_tool") for p in problems)
    return render(f"{folder}/correction.j2", items=items, required=required).strip()


def _correction(problem: Problem, catalogue: Catalogue, dialect: Dialect | None) -> dict[str, Any]:
    tool = catalogue.get(problem.tool) if problem.tool else None
    return {
        "message": problem.message,
        "quote": quote(neutralise(problem.text)),
        "tool": tool.name if tool else None,
        "example": _example(tool, dialect) if tool else None,
    }


def _example(tool: Tool, dialect: Dialect | None, *, optional: bool = False) -> str:
    arguments = skeleton(tool, optional=optional)
    if dialect is None:
        return to_json(arguments)
    return call_text([ToolCall(id="", name=tool.name, arguments=arguments)], dialect)
