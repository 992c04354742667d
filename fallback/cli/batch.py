"""Many replies, one JSON object a line: ``fallback parse --batch``.

What must stay true: one line out for one line in, in order, flushed at once; memory does not grow
with the number of lines; a line that cannot be read is reported in its place and the rest goes on.
"""

from __future__ import annotations

import codecs
import json
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any, get_args

from fallback.catalogue import Catalogue
from fallback.cli.output import error_line, write_json
from fallback.cli.records import reading_record
from fallback.errors import FallbackError
from fallback.limits import DEFAULT_LIMITS, Limits
from fallback.messages import FinishReason, Reading
from fallback.parsing import Parser

KEPT_CATALOGUES = 64
"""Catalogues that are kept compiled. Files repeat the same tools line after line."""


class _BadLineError(Exception):
    """The line is not what a batch holds; the message is for whoever wrote it."""


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """How many lines were answered, how many with an error, and how many errors are ours."""

    lines: int = 0
    errors: int = 0
    bugs: int = 0


class BatchReader:
    """Reads the lines of one batch.

    Args:
        catalogue: the tools of the lines that bring none of their own.
        limits: sizes for every line.
    """

    def __init__(
        self, catalogue: Catalogue | None = None, *, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        self._default, self._limits = catalogue, limits
        self._kept: OrderedDict[str, Catalogue] = OrderedDict()
        self._bugs = 0

    def run(self, lines: Iterable[bytes], out: IO[bytes]) -> BatchOutcome:
        """Answer every line; blank ones are passed over, but count as lines of the file."""
        answered = errors = 0
        for record in self.records(lines):
            answered += 1
            errors += "error" in record
            write_json(record, out)
        return BatchOutcome(answered, errors, self._bugs)

    def records(self, lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
        """One record per line that is not blank."""
        for number, line in enumerate(lines, 1):
            content = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            if content.strip():
                yield self._record(number, content)

    def _record(self, number: int, line: bytes) -> dict[str, Any]:
        try:
            return reading_record(self.read(_decoded(line)))
        except (_BadLineError, FallbackError) as error:
            return {"error": error_line(error), "line": number}
        except Exception as error:  # noqa: BLE001  # a bug costs one line of the batch, not the rest
            self._bugs += 1
            text = f"this is a bug: {type(error).__name__}: {error}"
            return {"error": error_line(text), "line": number}

    def read(self, entry: Mapping[str, Any]) -> Reading:
        """The reading of one entry; its ``chunks``, if it has any, are fed one by one."""
        parser = Parser(
            self._catalogue(entry),
            tool_choice=_tool_choice(entry),
            reasoning_open=_typed(entry, "reasoning_open", bool, False),
            limits=self._limits,
        )
        for chunk in _chunks(entry):
            parser.feed(chunk)
        parser.close(_finish_reason(entry))
        return parser.reading

    def _catalogue(self, entry: Mapping[str, Any]) -> Catalogue:
        tools = entry.get("tools")
        if tools is None:
            if self._default is None:
                raise _BadLineError("'tools' is missing")
            return self._default
        if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
            raise _BadLineError("'tools' is not a list of objects")
        key = json.dumps(tools)
        catalogue = self._kept.pop(key, None) or Catalogue(tools, limits=self._limits)
        self._kept[key] = catalogue  # the newest stands last, so the first is the one to drop
        if len(self._kept) > KEPT_CATALOGUES:
            self._kept.popitem(last=False)
        return catalogue


def _decoded(line: bytes) -> dict[str, Any]:
    try:
        entry = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise _BadLineError(f"not UTF-8 at byte {error.start} of the line") from error
    except json.JSONDecodeError as error:
        raise _BadLineError(f"not JSON: {error.msg} at column {error.colno}") from error
    except RecursionError as error:
        raise _BadLineError("not readable: nested too deeply") from error
    except ValueError as error:  # such as an integer of more than 4300 digits
        raise _BadLineError(f"not readable: {error}") from error
    if not isinstance(entry, dict):
        raise _BadLineError(f"not an object but {_kind(entry)}")
    return entry


def _chunks(entry: Mapping[str, Any]) -> list[str]:
    chunks = entry.get("chunks")
    if chunks is None:
        if "output" not in entry:
            raise _BadLineError("'output' is missing")
        return [_typed(entry, "output", str, "")]
    if not isinstance(chunks, list) or not all(isinstance(chunk, str) for chunk in chunks):
        raise _BadLineError("'chunks' is not a list of strings")
    return chunks


def _tool_choice(entry: Mapping[str, Any]) -> Any:
    choice = entry.get("tool_choice")
    if choice is None:
        return "auto"
    if not isinstance(choice, str | dict):
        raise _BadLineError(f"'tool_choice' is {_kind(choice)}, expected a string or an object")
    return choice


def _finish_reason(entry: Mapping[str, Any]) -> FinishReason:
    reason: FinishReason = _typed(entry, "finish_reason", str, "stop")
    if reason not in get_args(FinishReason):
        allowed = ", ".join(get_args(FinishReason))
        raise _BadLineError(f"'finish_reason' is {reason!r}, expected one of {allowed}")
    return reason


def _typed(entry: Mapping[str, Any], key: str, kind: type, default: Any) -> Any:
    """The value of a key; absent and ``null`` mean the default."""
    value = entry.get(key)
    if value is None:
        return default
    if not isinstance(value, kind):
        raise _BadLineError(f"{key!r} is {_kind(value)}, expected {_NAMES[kind]}")
    return value


_NAMES: dict[type, str] = {
    dict: "an object",
    list: "a list",
    str: "a string",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    type(None): "null",
}


def _kind(value: object) -> str:
    return _NAMES[type(value)]
