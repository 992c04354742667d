"""Examples as JSON Lines: ``{"question", "calls": [{"name", "arguments"}], "results": [text]}``.

``results`` has one text for each call, or is left out. A call has to be valid for its tool: what
the model is shown is what it will write.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fallback.catalogue import Catalogue
from fallback.errors import ExampleFileError
from fallback.messages import ToolCall, ToolResult
from fallback.rendering.examples import Example
from fallback.validation import read_native

__all__ = ["load_examples", "read_examples", "written"]

_KEYS = frozenset({"question", "calls", "results"})


def load_examples(path: Path, catalogue: Catalogue) -> tuple[Example, ...]:
    """Read a file of examples for the tools of a catalogue.

    Raises:
        ExampleFileError: it cannot be read, or a line is wrong; with the line's number.
    """
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise ExampleFileError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ExampleFileError(f"{path}: not UTF-8 at byte {error.start}") from error
    return read_examples(text.split("\n"), catalogue, path.name)


def read_examples(lines: Iterable[str], catalogue: Catalogue, where: str) -> tuple[Example, ...]:
    """Read examples, one a line; blank lines do not count.

    Args:
        lines: JSON, each one object.
        catalogue: the tools; an example may call no other.
        where: what errors call the file.

    Raises:
        ExampleFileError: a line is wrong, or there is none.
    """
    examples = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                examples.append(_example(line, catalogue))
            except ExampleFileError as error:
                raise ExampleFileError(f"{where}, line {number}: {error}") from None
    if not examples:
        raise ExampleFileError(f"{where}: there are no examples in it")
    return tuple(examples)


def written(example: Example) -> str:
    """An example as a line of a file, without the line break."""
    value: dict[str, Any] = {
        "question": example.question,
        "calls": [{"name": call.name, "arguments": call.arguments} for call in example.calls],
    }
    if example.results:
        value["results"] = [result.content for result in example.results]
    return json.dumps(value, ensure_ascii=False)


def _example(line: str, catalogue: Catalogue) -> Example:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ExampleFileError(f"not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ExampleFileError('an example is an object with "question" and "calls"')
    if unknown := sorted(value.keys() - _KEYS):
        raise ExampleFileError(f"unknown key {unknown[0]!r}; there are {', '.join(sorted(_KEYS))}")
    question = value.get("question")
    if not isinstance(question, str) or not question.strip():
        raise ExampleFileError('"question" is the text that a user might write')
    calls = _calls(value.get("calls"), catalogue)
    return Example(question=question, calls=calls, results=_results(value.get("results"), calls))


def _calls(value: Any, catalogue: Catalogue) -> tuple[ToolCall, ...]:
    given = value if isinstance(value, list) else []
    if not given or not all(isinstance(call, Mapping) for call in given):
        raise ExampleFileError('"calls" is a list of at least one {"name", "arguments"}')
    calls, problems = read_native(given, catalogue)
    if problems:
        raise ExampleFileError(problems[0].message)
    if repaired := next((call for call in calls if call.repairs), None):
        fixes = ", ".join(repaired.repairs)
        raise ExampleFileError(f"the call of {repaired.name} needs a repair first: {fixes}")
    return calls


def _results(value: Any, calls: tuple[ToolCall, ...]) -> tuple[ToolResult, ...]:
    if value is None:
        return ()
    texts = isinstance(value, list) and all(isinstance(text, str) for text in value)
    if not texts or len(value) != len(calls):
        raise ExampleFileError(f'"results" is a list of {len(calls)} texts, one for each call')
    return tuple(
        ToolResult(call_id=call.id, name=call.name, content=text)
        for call, text in zip(calls, value, strict=True)
    )
