"""One case: a question, the tools on offer, what should be called, and what should be answered.

A suite is a file of JSON Lines. A line is a case, or ``{"define": [tool, ...]}``: tools that later
lines may offer by name. The keys of a case:

``id``            unique within the suite
``kind``          a word to group by; ``case`` by default
``tools``         what is offered: tool objects as OpenAI and Ollama have them, names of defined
                  tools, or ``"*"`` for all that are defined
``question``      the user's words
``instructions``  the application's system prompt
``padding``       characters of unrelated text to put before the instructions
``calls``         the right calls of the whole turn, ``[{"name", "arguments"}]``; the arguments are
                  patterns (:mod:`fallback.compare.patterns`); ``[]`` where no tool may be called
``ordered``       whether the calls have to come in this order; ``false`` by default
``text``          how text in arguments is compared: ``loose`` (default) or ``exact``
``results``       what the tools return: ``[{"name", "arguments"?, "content" | "error"}]``; the
                  first whose name and arguments (patterns too) fit. A case without them ends with
                  the first calls, as the Berkeley leaderboard's do
``answer``        ``{"has": [...], "not": [...]}``: what the final answer says and does not say;
                  each entry is a text or a list of texts of which one will do
``num_ctx``       window in tokens that the case needs
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from fallback.catalogue import Catalogue
from fallback.compare import patterns
from fallback.compare.checking import check_expectations, check_numbers, strict_json
from fallback.compare.faults import CaseError
from fallback.compare.patterns import Fields
from fallback.errors import FallbackError, ToolFailed
from fallback.tools import Risk, Tool

__all__ = [
    "Case",
    "ExpectedAnswer",
    "ExpectedCall",
    "ScriptedResult",
    "padding_text",
    "read_case",
    "read_lines",
]


@dataclass(frozen=True, slots=True)
class ExpectedCall:
    """A call that is right: the tool's name, and a pattern for each argument."""

    name: str
    arguments: Fields


@dataclass(frozen=True, slots=True)
class ScriptedResult:
    """What a tool returns, or raises, for arguments that fit; ``None`` fits all."""

    name: str
    arguments: Fields | None
    content: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class ExpectedAnswer:
    """What the final answer says, each in one of several ways, and what it must not say."""

    has: tuple[tuple[str, ...], ...] = ()
    lacks: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """A case, ready to be run.

    Attributes:
        digest: hash of the whole case, what is expected included; cases are equal by it.
        source: the case as JSON, complete in itself.
    """

    suite: str
    id: str
    kind: str
    tools: tuple[Mapping[str, Any], ...]
    question: str
    instructions: str = ""
    calls: tuple[ExpectedCall, ...] = ()
    ordered: bool = False
    results: tuple[ScriptedResult, ...] = ()
    answer: ExpectedAnswer | None = None
    num_ctx: int | None = None
    digest: str
    source: Mapping[str, Any] = field(default_factory=dict)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Case) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def catalogue(self) -> Catalogue:
        """The tools with handlers that return what the case says; without results, no handlers."""
        if not self.results:
            return Catalogue(self.tools)
        return Catalogue(
            # They only look something up, so nobody has to approve of a call.
            Tool.from_dict(tool, self._handler(tool), risk=Risk.READ_ONLY)
            for tool in self.tools
        )

    def _handler(self, tool: Mapping[str, Any]) -> Any:
        name = _name_of(tool)

        def run(**arguments: Any) -> str:
            for result in self.results:
                fits = result.arguments is None or patterns.matches(result.arguments, arguments)
                if result.name == name and fits:
                    if result.failed:
                        raise ToolFailed(result.content)
                    return result.content
            raise ToolFailed("nothing is known about that")

        return run


_KEYS = frozenset(
    {
        "id", "kind", "tools", "question", "instructions", "padding", "calls", "ordered", "text",
        "results", "answer", "num_ctx",
    }
)  # fmt: skip


def read_lines(suite: str, lines: Iterable[bytes | str], where: str) -> Iterator[Case]:
    """Read a suite; more strictly than one case is read, see :mod:`fallback.compare.checking`.

    Args:
        suite: its name, for the results.
        lines: of the file.
        where: the file's name, for errors.

    Raises:
        CaseError: with the number of the line and what is wrong there.
    """
    defined: dict[str, Mapping[str, Any]] = {}
    seen: set[str] = set()
    for number, line in enumerate(lines, 1):
        try:
            value = _line(line)
            if value is None:
                continue
            if value.keys() == {"define"}:
                defined.update((_name_of(tool), tool) for tool in _defined(value["define"]))
                continue
            check_numbers(value)
            case = read_case(suite, value, defined)
            check_expectations(value, {tool.name: tool for tool in case.catalogue()})
            if case.id in seen:
                raise CaseError(f"the id {case.id!r} occurs twice")
        except FallbackError as error:
            raise CaseError(f"{where}, line {number}: {error}") from error
        seen.add(case.id)
        yield case
    if not seen:
        raise CaseError(f"{where}: there is no case in it")


def _line(line: bytes | str) -> dict[str, Any] | None:
    try:
        text = line.decode("utf-8-sig") if isinstance(line, bytes) else line
        value = strict_json(text) if text.strip() else None
    except UnicodeDecodeError as error:
        raise CaseError(f"not UTF-8 at byte {error.start}") from error
    except CaseError:
        raise
    except (ValueError, RecursionError) as error:
        raise CaseError(f"no JSON: {error}") from error
    if value is not None and not isinstance(value, dict):
        raise CaseError(f"a case is an object, got {type(value).__name__}")
    return value


def read_case(
    suite: str, value: Mapping[str, Any], defined: Mapping[str, Mapping[str, Any]] | None = None
) -> Case:
    """Make a case of its JSON.

    Raises:
        CaseError: a key is missing, unknown or of the wrong type; ``InvalidToolError`` for a tool.
    """
    _check_keys(value)
    tools = _tools(value["tools"], defined or {})
    schemas = {_name_of(tool): _schema_of(tool) for tool in tools}
    loose = _choice(value, "text", ("loose", "exact"), "loose") == "loose"
    calls = [_call(call, schemas, loose=loose) for call in _list(value, "calls")]
    padding = value.get("padding", 0)
    if isinstance(padding, bool) or not isinstance(padding, int) or padding < 0:
        raise CaseError("'padding' is a number of characters")
    source = {**value, "tools": tools}
    case = Case(
        suite=suite,
        id=_text(value, "id"),
        kind=_text(value, "kind", "case"),
        tools=tuple(tools),
        question=_text(value, "question"),
        instructions=(padding_text(padding) + "\n\n" + _text(value, "instructions", "")).strip(),
        calls=tuple(calls),
        ordered=bool(value.get("ordered", False)),
        results=tuple(_result(result, schemas) for result in _list(value, "results")),
        answer=_answer(value.get("answer")),
        num_ctx=value.get("num_ctx"),
        digest=hashlib.sha256(json.dumps([suite, source], sort_keys=True).encode()).hexdigest()[
            :16
        ],
        source=source,
    )
    case.catalogue()  # whatever is wrong with a tool is found out now, with the line's number
    return case


def _check_keys(value: Mapping[str, Any]) -> None:
    for key in ("id", "question", "tools", "calls"):
        if key not in value:
            raise CaseError(f"there is no {key!r}")
    unknown = sorted(value.keys() - _KEYS)
    if unknown:
        raise CaseError(f"{unknown[0]!r} is no key of a case; there are {', '.join(sorted(_KEYS))}")
    window = value.get("num_ctx")
    if window is not None and (isinstance(window, bool) or not isinstance(window, int)):
        raise CaseError("'num_ctx' is a number of tokens")


def _tools(given: Any, defined: Mapping[str, Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    if given == "*":
        given = list(defined)
    if not isinstance(given, list) or not given:
        raise CaseError("'tools' is a list with at least one tool")
    return [_tool(tool, defined) for tool in given]


def _tool(tool: Any, defined: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    if isinstance(tool, str) and tool not in defined:
        known = ", ".join(defined) or "none at all"
        raise CaseError(f"no tool {tool!r} is defined above; there are {known}")
    found = defined[tool] if isinstance(tool, str) else tool
    if not isinstance(found, Mapping):
        raise CaseError("a tool is an object or the name of one that is defined above")
    return found


def _defined(tools: Any) -> Sequence[Mapping[str, Any]]:
    if not isinstance(tools, list) or not all(isinstance(tool, Mapping) for tool in tools):
        raise CaseError("'define' is a list of tool objects")
    Catalogue(tools)
    return tools


def _inside(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    inside = tool.get("function", tool)
    return inside if isinstance(inside, Mapping) else {}


def _name_of(tool: Mapping[str, Any]) -> str:
    return str(_inside(tool).get("name", ""))


def _schema_of(tool: Mapping[str, Any]) -> Any:
    inside = _inside(tool)
    return inside.get("parameters", inside.get("input_schema", inside.get("inputSchema")))


def _call(value: Any, schemas: Mapping[str, Any], *, loose: bool) -> ExpectedCall:
    if not isinstance(value, Mapping) or not value.keys() <= {"name", "arguments"}:
        raise CaseError('an expected call is {"name": ..., "arguments": {...}}')
    name = _declared(value, schemas)
    return ExpectedCall(name, _arguments(value.get("arguments", {}), schemas[name], loose=loose))


def _declared(value: Mapping[str, Any], schemas: Mapping[str, Any]) -> str:
    name = _text(value, "name")
    if name not in schemas:
        raise CaseError(f"no tool {name!r} is offered; there are {', '.join(schemas)}")
    return name


def _arguments(value: Any, schema: Any, *, loose: bool) -> Fields:
    if not isinstance(value, Mapping):
        raise CaseError("'arguments' is an object")
    return patterns.read_fields(value, schema, loose=loose)


def _result(value: Any, schemas: Mapping[str, Any]) -> ScriptedResult:
    if not isinstance(value, Mapping) or ("content" in value) == ("error" in value):
        raise CaseError('a result is {"name": ..., "content": ...}, or "error" for "content"')
    name = _declared(value, schemas)
    given = value.get("arguments")
    return ScriptedResult(
        name=name,
        arguments=None if given is None else _arguments(given, schemas[name], loose=True),
        content=_text(value, "error" if "error" in value else "content"),
        failed="error" in value,
    )


def _answer(value: Any) -> ExpectedAnswer | None:
    if value is None:
        return None
    if not isinstance(value, Mapping) or not value.keys() <= {"has", "not"}:
        raise CaseError('\'answer\' is {"has": [...], "not": [...]}')
    return ExpectedAnswer(has=_texts(value.get("has", [])), lacks=_texts(value.get("not", [])))


def _texts(value: Any) -> tuple[tuple[str, ...], ...]:
    if not isinstance(value, list):
        raise CaseError("'has' and 'not' are lists")
    entries = [[entry] if isinstance(entry, str) else entry for entry in value]
    if not all(isinstance(e, list) and e and all(isinstance(t, str) for t in e) for e in entries):
        raise CaseError("an entry of 'has' or 'not' is a text, or a list of texts")
    return tuple(tuple(entry) for entry in entries)


def _text(value: Mapping[str, Any], key: str, default: str | None = None) -> str:
    held = value.get(key, default)
    if not isinstance(held, str) or not (held.strip() or default == ""):
        raise CaseError(f"{key!r} is a text that is not empty")
    return held


def _choice(value: Mapping[str, Any], key: str, allowed: Sequence[str], default: str) -> str:
    held = value.get(key, default)
    if held not in allowed:
        raise CaseError(f"{key!r} is one of {', '.join(allowed)}")
    return str(held)


def _list(value: Mapping[str, Any], key: str) -> list[Any]:
    held = value.get(key, [])
    if not isinstance(held, list):
        raise CaseError(f"{key!r} is a list")
    return held


@cache
def _handbook() -> str:
    path = Path(__file__).with_name("data") / "handbook.txt"
    return path.read_text(encoding="utf-8").strip()


def padding_text(characters: int) -> str:
    """That many characters of a handbook that has nothing to do with any tool, in whole lines."""
    if not characters:
        return ""
    lines: list[str] = []
    size = edition = 0
    while size < characters:
        edition += 1
        for line in (f"Handbook, part {edition}", *_handbook().splitlines()):
            lines.append(line)
            size += len(line) + 1
            if size >= characters:
                break
    return "\n".join(lines)
