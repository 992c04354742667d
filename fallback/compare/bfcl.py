"""Cases of the Berkeley Function-Calling Leaderboard, read from an installed ``bfcl-eval``.

Only its data files are read (``bfcl_eval/data``, version 4: questions, functions and accepted
answers, a JSON object a line); nothing of it is imported. The package declares whole inference
stacks, none of which are needed for that: ``pip install --no-deps bfcl-eval``.

An accepted answer maps each parameter to the list of values that are right; an empty text among
them means that it may be left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fallback.compare.cases import Case, read_case
from fallback.compare.faults import CaseError

__all__ = ["CATEGORIES", "bfcl_cases", "json_schema", "question_case", "questions"]

CATEGORIES = {
    "simple": "simple_python",
    "multiple": "multiple",
    "parallel": "parallel",
    "parallel_multiple": "parallel_multiple",
    "irrelevance": "irrelevance",
}
"""Our names and the files' names of the categories of one turn."""

_INSTALL = "pip install --no-deps bfcl-eval"

# The leaderboard's names of types and what it makes of them itself (GORILLA_TO_OPENAPI).
_TYPES = {
    "any": "string",
    "bool": "boolean",
    "dict": "object",
    "double": "number",
    "float": "number",
    "list": "array",
    "tuple": "array",
}


def bfcl_cases(category: str, *, data: Path | None = None) -> Iterator[Case]:
    """The cases of one category, in the leaderboard's order; see :func:`questions`."""
    for line, answers in questions(category, data=data):
        yield question_case(category, line, answers)


def questions(
    category: str, *, data: Path | None = None
) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Each question of a category as the leaderboard has it, with its accepted answers.

    Args:
        category: a key of :data:`CATEGORIES`.
        data: folder of the data files; by default that of the installed package.

    Raises:
        CaseError: no such category, or the package or a file of it is not there.
    """
    if category not in CATEGORIES:
        raise CaseError(f"no category {category!r} of bfcl; there are {', '.join(CATEGORIES)}")
    folder = _data() if data is None else data
    name = f"BFCL_v4_{CATEGORIES[category]}.json"
    answers: dict[str, Any] = {}
    if category != "irrelevance":
        accepted = _lines(folder / "possible_answer" / name)
        answers = {line["id"]: line["ground_truth"] for line in accepted}
    for line in _lines(folder / name):
        yield line, answers.get(line["id"], [])


def _data() -> Path:
    spec = find_spec("bfcl_eval")
    places = list(spec.submodule_search_locations or ()) if spec else []
    if not places:
        raise CaseError(f"the suite bfcl is read from the package bfcl-eval: {_INSTALL}")
    return Path(places[0]) / "data"


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with path.open(encoding="utf-8") as file:
            yield from (json.loads(line) for line in file if line.strip())
    except FileNotFoundError:
        raise CaseError(
            f"the installed bfcl-eval has no {path.name}: another version? {_INSTALL}==2026.3.23"
        ) from None


def question_case(
    category: str, line: Mapping[str, Any], answers: Sequence[Mapping[str, Any]]
) -> Case:
    """A question of the leaderboard and its accepted answers as a case."""
    tools = [
        function | {"parameters": json_schema(function["parameters"])}
        for function in line["function"]
    ]
    schemas = {tool["name"]: tool["parameters"] for tool in tools}
    calls = [
        {"name": name, "arguments": _arguments(accepted, schemas[name])}
        for answer in answers
        for name, accepted in answer.items()
    ]
    turn = line["question"][0]
    value = {
        "id": line["id"],
        "kind": category,
        "tools": tools,
        "question": turn[-1]["content"],
        "calls": calls,
    }
    instructions = "\n\n".join(m["content"] for m in turn[:-1] if m["role"] == "system")
    return read_case(
        f"bfcl:{category}", value | ({"instructions": instructions} if instructions else {})
    )


def _arguments(accepted: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The accepted values of a call's parameters as patterns.

    As the checker has it: a parameter that the function requires may not be left out, and one that
    it does not declare may not be given, whatever the answer says.
    """
    declared, required = schema.get("properties", {}), schema.get("required", ())
    return {
        name: _field(values, required=name in required)
        for name, values in accepted.items()
        if name in declared
    }


def _field(values: list[Any], *, required: bool = False) -> Any:
    """The accepted values; what stands for "left out", an empty text or list, may be written."""
    options = [_value(value) for value in values]
    if "" in values and any(isinstance(value, list) for value in values):
        options.append([])
    pattern = {"$any_of": options} if len(options) > 1 else options[0]
    return {"$optional": pattern} if "" in values and not required else pattern


def _value(value: Any) -> Any:
    """One accepted value; the fields of an object are lists of accepted values again."""
    if isinstance(value, Mapping):
        return {
            name: _field(held) if isinstance(held, list) else held for name, held in value.items()
        }
    if isinstance(value, list):
        return [_value(item) for item in value]
    return value


def json_schema(schema: Any) -> Any:
    """The leaderboard's schema as JSON Schema."""
    if isinstance(schema, list):
        return [json_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: json_schema(value) for key, value in schema.items()}
    kind = made.get("type")
    if isinstance(kind, str):
        made["type"] = _TYPES.get(kind, kind)
    return made
