"""From a call as it was written to one that may run, or to the reason why not.

Both modes come through here: what the parser read in a text and what a server reported as
``tool_calls``.
Order: name, shape of the arguments, coercion by the tool's own schema, the schema itself. A name is
never resolved by similarity, a value is never guessed, and nothing ever becomes ``{}`` that was
something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from fallback.catalogue import Catalogue, fold
from fallback.limits import DEFAULT_LIMITS, Limits
from fallback.messages import Problem, ProblemKind, ToolCall
from fallback.parsing.lenient import read_value
from fallback.parsing.malformed import MalformedError
from fallback.parsing.rawcall import RawCall
from fallback.parsing.strict import DuplicateKeyError, decode_at
from fallback.parsing.vocabulary import is_schema
from fallback.schema import Violation, coerce, violations
from fallback.tools import Risk, Tool

_SHOWN_TOOLS = 20  # a list that is longer than this is not read by a small model
MAY_BE_PLACEHOLDER = frozenset("<[{ \t\nyY")
"""First characters that a placeholder can have: everything else is not looked at."""
_PLACEHOLDER = re.compile(
    r"\s*[<\[{]+\s*([^<>\[\]{}]{1,64}?)\s*[>\]}]+\s*|\s*(your[_ ][\w ]{1,60})\s*"
)
_CUT_OFF = "The call of `{}` was cut off before it was complete and was not run. Write it shorter."
_SHORTEST_TOLD = 4  # letters; shorter words stand in descriptions for other reasons
_FILLERS = re.compile(r"\b(?:your|the|a|an|insert|enter|some|here|name|value|of)\b")


def validate(
    raw: RawCall,
    catalogue: Catalogue,
    *,
    id: str,  # noqa: A002 -- the field's own name on every wire
    dialect: str = "",
    only: str | None = None,
    said: str = "",
) -> ToolCall | Problem:
    """Resolve and check one call.

    Args:
        raw: the call as written.
        catalogue: the tools that were offered.
        id: the id that the call will carry.
        dialect: the dialect it is reported under; the reader's own where this is empty.
        only: the one tool that may be called, where the caller forced one.
        said: the user's words; what stands there is meant, also if it looks like a placeholder.
    """
    tool = catalogue.resolve(raw.name)
    if tool is None:
        return unknown_tool(raw, catalogue)
    if only is not None and tool.name != only:
        message = f"`{tool.name}` was called, but only `{only}` may be called now"
        return _problem("wrong_tool", message, raw, tool)
    repairs = dict.fromkeys(raw.repairs)
    try:
        arguments = _arguments(raw, tool, repairs)
        if raw.textual:
            arguments = _with_nulls(arguments, tool)
        arguments, notes, faults = _checked(arguments, tool)
        # Not before: a list or an object that was written as text looks like one.
        _refuse_placeholders(arguments, said)
        _refuse_variables(raw, arguments, tool)
    except ValueError as error:
        return _problem("invalid_arguments", f"`{tool.name}`: {error}", raw, tool)
    if faults and None in arguments.values():
        arguments, dropped = _without_nulls(arguments, tool, {fault.path for fault in faults})
        notes += dropped
        faults = violations(tool.compiled, arguments) if dropped else faults
    if faults:
        message = "; ".join(fault.message for fault in faults[:4])
        return _problem(
            "invalid_arguments", f"`{tool.name}`: {message}", raw, tool, path=faults[0].path
        )
    return ToolCall(
        id=id,
        name=tool.name,
        arguments=arguments,
        dialect=dialect or raw.dialect,
        span=raw.span,
        repairs=(*repairs, *notes),
    )


def _checked(
    arguments: dict[str, Any], tool: Tool
) -> tuple[dict[str, Any], tuple[str, ...], tuple[Violation, ...]]:
    """The arguments as the schema wants them, the coercions that took, and what is still wrong."""
    schema = tool.compiled
    valid = schema.accepts(arguments)
    if valid and not schema.document.has_integers:
        return arguments, (), ()
    arguments, notes = coerce(arguments, schema)
    return arguments, notes, () if valid else violations(schema, arguments)


def unknown_tool(raw: RawCall, catalogue: Catalogue) -> Problem:
    """The problem of a name that is not declared: what was asked for, the nearest, the whole
    list."""
    names = catalogue.names
    if catalogue.is_ambiguous(raw.name):
        message = f"`{_cut(raw.name)}` could mean more than one tool; write the name exactly."
    else:
        message = f"There is no tool `{_cut(raw.name)}`."
    near = catalogue.nearest(raw.name)
    if near:
        message += " Nearest: " + ", ".join(f"`{name}`" for name in near) + "."
    if len(names) <= _SHOWN_TOOLS:
        message += " Tools: " + (", ".join(f"`{name}`" for name in names) or "none") + "."
    return _problem("unknown_tool", message, raw, None)


def own_id(given: str, taken: AbstractSet[str], prefix: str, number: int) -> str:
    """An id that no other call of the reply has: the one that came with the call, if it can be.

    Results are tied to calls by it, and models write whatever they like.
    """
    if given and given not in taken:
        return given
    while f"{prefix}{number}" in taken:
        number += 1
    return f"{prefix}{number}"


def read_native(
    tool_calls: Iterable[Mapping[str, Any]],
    catalogue: Catalogue,
    *,
    id_prefix: str = "call_",
    only: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    said: str = "",
    cut_short: bool = False,
) -> tuple[tuple[ToolCall, ...], tuple[Problem, ...]]:
    """Check the calls that a server reports.

    Args:
        tool_calls: as reported: ``{"id"?, "name", "arguments"}`` or nested under ``function``;
            ``arguments`` an object (Ollama) or a JSON string (OpenAI).
        catalogue: the tools that were offered.
        id_prefix: begins the ids of calls that came without one, or with that of another.
        only: the one tool that may be called, where the caller forced one.
        limits: how many calls are read.
        said: the user's words; see :func:`validate`.
        cut_short: whether the reply ended at a limit, so that what is not closed is not complete.
    """
    calls: list[ToolCall] = []
    problems: list[Problem] = []
    ids: set[str] = set()
    for index, reported in enumerate(tool_calls):
        if index >= limits.max_calls_per_step:
            message = f"more than {index} calls in one reply; the rest was not read"
            problems.append(Problem(kind="oversized", message=message))
            break
        function = reported.get("function")
        inner = function if isinstance(function, Mapping) else reported
        raw = RawCall(str(inner.get("name") or ""), inner.get("arguments"), dialect="native")
        identity = own_id(str(reported.get("id") or ""), ids, id_prefix, index)
        ids.add(identity)
        checked = validate(raw, catalogue, id=identity, only=only, said=said)
        if cut_short and isinstance(checked, ToolCall) and "missing_closers" in checked.repairs:
            problems.append(_problem("truncated", _CUT_OFF.format(checked.name), raw, None))
        elif isinstance(checked, ToolCall):
            calls.append(checked)
        else:
            problems.append(checked)
    return tuple(calls), tuple(problems)


def _problem(
    kind: ProblemKind, message: str, raw: RawCall, tool: Tool | None, *, path: str | None = None
) -> Problem:
    written = raw.arguments if isinstance(raw.arguments, str) else ""
    return Problem(
        kind=kind,
        message=message,
        tool=tool.name if tool else None,
        path=path,
        span=raw.span,
        text=_cut(written, 2000),
    )


def _cut(text: str, size: int = 80) -> str:
    return text if len(text) <= size else text[: size - 1] + "…"


# -- the arguments object


def _arguments(raw: RawCall, tool: Tool, repairs: dict[str, None]) -> dict[str, Any]:
    """The arguments as one object with the schema's own names.

    Raises:
        ValueError: there is no such object; the message says what stood there instead.
    """
    properties: Mapping[str, Any] = tool.parameters.get("properties") or {}
    value = raw.arguments
    if isinstance(value, str):
        value = _from_text(value, repairs)
    if value is None:
        value = {}
    if not isinstance(value, dict):
        shown = _cut(repr(raw.arguments))
        wanted = ", ".join(f"`{name}`" for name in properties) or "nothing in it"
        raise ValueError(f"arguments have to be an object with {wanted}, got {shown}")
    if is_schema(value, properties):
        required = ", ".join(f"`{name}`" for name in tool.parameters.get("required") or properties)
        raise ValueError(f"the tool's definition was repeated; give values for {required}")
    value = _unwrap(value, properties, repairs)
    if any("\\" in key and key not in properties for key in value):
        value = _unescape_names(value, properties, repairs)
    if raw.positional:
        value = _bind(raw.positional, value, tool, properties)
    smuggled = sorted(tool.injected & value.keys())
    if smuggled:
        raise ValueError(f"`{smuggled[0]}` is filled in by the application; leave it out")
    return value


def _from_text(text: str, repairs: dict[str, None]) -> Any:
    """Arguments that were written as a string: JSON inside JSON, or nothing at all."""
    stripped = text.strip()
    if not stripped:
        return None
    try:
        value, end = decode_at(stripped, 0)
        if end != len(stripped):
            raise ValueError("something follows")
    except DuplicateKeyError as error:
        raise ValueError(f"the key {str(error)!r} stands twice") from None
    except ValueError:
        if stripped[0] != "{":
            return text
        try:
            value, mended = read_value(stripped, 0, len(stripped))
        except (MalformedError, DuplicateKeyError):
            return text
        repairs.update(dict.fromkeys(mended))
    if isinstance(value, dict):
        repairs["stringified_arguments"] = None
        return value
    return None if value is None else text


def _unwrap(
    value: dict[str, Any], properties: Mapping[str, Any], repairs: dict[str, None]
) -> dict[str, Any]:
    """``{"arguments": {…}}`` once more, unless the schema has a property of that name."""
    if len(value) == 1 and not properties.keys() & value.keys():
        ((key, inner),) = value.items()
        if key in ("arguments", "parameters", "args", "input") and isinstance(inner, dict):
            repairs["nested_arguments"] = None
            return inner
    return value


def _unescape_names(
    value: dict[str, Any], properties: Mapping[str, Any], repairs: dict[str, None]
) -> dict[str, Any]:
    """``city\\_name``, where Markdown escaped what is declared as ``city_name``."""
    renamed: dict[str, Any] = {}
    for key, item in value.items():
        plain = key.replace("\\", "")
        if key not in properties and plain in properties and plain not in value:
            repairs["markdown_escapes"] = None
            key = plain  # noqa: PLW2901 -- the declared spelling replaces the written one
        renamed[key] = item
    return renamed


def _bind(
    positional: tuple[Any, ...],
    keywords: dict[str, Any],
    tool: Tool,
    properties: Mapping[str, Any],
) -> dict[str, Any]:
    """Give positional arguments the names that the schema lists, in its order."""
    first = next(iter(properties.values()), None)
    if (
        len(positional) == 1
        and isinstance(positional[0], dict)
        and not keywords
        and not (
            isinstance(first, Mapping) and first.get("type") == "object" and len(properties) == 1
        )
        and (positional[0].keys() & properties.keys() or not positional[0])
    ):
        return dict(positional[0])
    names = list(properties)
    if len(positional) > len(names):
        raise ValueError(f"{len(positional)} values, but only {len(names)} parameters")
    bound = dict(zip(names, positional, strict=False))
    twice = sorted(bound.keys() & keywords.keys())
    if twice:
        raise ValueError(f"`{twice[0]}` is given twice, by place and by name")
    return bound | keywords


def _with_nulls(arguments: dict[str, Any], tool: Tool) -> dict[str, Any]:
    """Raw text has no other way to say ``null`` where the schema allows it beside a string."""
    properties = tool.parameters.get("properties") or {}
    nulls = [
        name
        for name, value in arguments.items()
        if value in ("null", "None")
        and name in properties
        and tool.compiled.argument_accepts(name, None)
    ]
    return arguments | dict.fromkeys(nulls)


def _without_nulls(
    arguments: dict[str, Any], tool: Tool, faulty: set[str]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """``null`` for an optional parameter that does not allow it says that it is left out."""
    required = tool.parameters.get("required") or ()
    absent = [
        name
        for name, value in arguments.items()
        if value is None and name not in required and f"$.{name}" in faulty
    ]
    kept = {name: value for name, value in arguments.items() if name not in absent}
    return kept, tuple(f"null_left_out $.{name}" for name in absent)


def _refuse_variables(raw: RawCall, arguments: Mapping[str, Any], tool: Tool) -> None:
    """An unquoted word that could be a variable is a value that the schema lists or its description
    names, or a text in a list of calls, where there are no variables; or else it is none. A tool
    that is declared to change something is never called with such a text."""
    changes = tool.risk is not None and tool.risk is not Risk.READ_ONLY
    for repair in raw.repairs:
        _, _, name = repair.partition("unquoted_name ")
        if not name:
            continue
        properties = tool.parameters.get("properties") or {}
        schema, word = properties.get(name), arguments.get(name)
        listed = schema.get("enum") if isinstance(schema, Mapping) else None
        sure = word in (listed or ()) or _is_told(word, schema, properties)
        bare = raw.listed and not changes and _is_bare_word(word, name, schema, properties)
        if not sure and not bare:
            raise ValueError(
                f"`{word}` is neither quoted nor a literal at `{name}`; "
                "only literal values are read, nothing is evaluated"
            )


def _is_told(word: Any, schema: Any, properties: Mapping[str, Any]) -> bool:
    """Whether the parameter's own description names the word, and no parameter is called so."""
    told = schema.get("description") if isinstance(schema, Mapping) else None
    if not isinstance(word, str) or not isinstance(told, str):
        return False
    if len(word) < _SHORTEST_TOLD or word in properties:
        return False
    return re.search(rf"(?<![\w.]){re.escape(word)}(?![\w(]|\.\w)", told) is not None


def _is_bare_word(word: Any, name: str, schema: Any, properties: Mapping[str, Any]) -> bool:
    """Whether the word can be meant as a text: the schema wants one, and it names nothing else."""
    wanted = schema.get("type") if isinstance(schema, Mapping) else None
    if wanted != "string" or not isinstance(word, str) or not word.isidentifier():
        return False
    return len(word) >= _SHORTEST_TOLD and word not in properties and not _stands_for(word, name)


def _stands_for(words: str, name: str) -> bool:
    """Whether words say no more than what belongs there: ``your_city`` for ``city``."""
    bare = re.sub(r"\W|_", "", _FILLERS.sub("", fold(words).replace("_", " ")))
    return bare in ("", re.sub(r"\W|_", "", fold(name)))


def _refuse_placeholders(arguments: Mapping[str, Any], said: str) -> None:
    """``<city>`` for ``city``: the form of a call was shown, not a call made.

    Unless the user wrote it himself: he may well call a data set ``your_dataset_name``.
    """
    for name, value in arguments.items():
        if not isinstance(value, str) or value[:1] not in MAY_BE_PLACEHOLDER or len(value) > 128:
            continue
        match = _PLACEHOLDER.fullmatch(value)
        if match is None:
            continue
        meant = value.strip().casefold() in said.casefold()
        if not meant and _stands_for(match.group(1) or match.group(2), name):
            raise ValueError(f"`{name}` is the placeholder {value!r}; give the real value")
