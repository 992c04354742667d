"""Flows as TOML files."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fallback.errors import FlowError, FlowFileError
from fallback.flow.flow import Flow
from fallback.flow.record import Step

__all__ = ["FlowFile", "load_flow"]

_TOP: dict[str, type] = {
    "model": str,
    "instructions": str,
    "tools": list,
    "needs": list,
    "inputs": dict,
    "step": list,
}
_STEP: dict[str, type | tuple[type, ...]] = {
    "name": str,
    "ask": str,
    "tools": list,
    "takes": str,
    "of": str,
    "tool_choice": str,
    "max_steps": int,
    "max_calls": int,
    "seconds": (int, float),
    "tries": int,
}
_KINDS = {str: "text", list: "a list", dict: "a table", int: "a whole number"}
_HEADER = re.compile(r"^[ \t]*\[\[[ \t]*step[ \t]*\]\]", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowFile:
    """What the file of a flow says.

    Attributes:
        flow: the steps.
        tools: files of tools, as paths that are relative to the file's own folder.
        model: which model; ``None`` to leave that open.
        instructions: the system prompt of every step.
        inputs: values that may be given anew for a run.
    """

    flow: Flow
    tools: tuple[Path, ...] = ()
    model: str | None = None
    instructions: str = ""
    inputs: dict[str, Any] = field(default_factory=dict)


def load_flow(path: Path) -> FlowFile:
    """Read a flow.

    Raises:
        FlowFileError: one line with the file, the line or step, and what is wrong there.
    """
    text, told = _read(path)
    try:
        _check_keys(told, _TOP)
        inputs = told.get("inputs", {})
        names = [*_texts(told, "needs"), *(n for n in inputs if n not in told.get("needs", []))]
        return FlowFile(
            flow=Flow(_steps(told, text, path), inputs=names),
            tools=tuple(path.parent / name for name in _texts(told, "tools")),
            model=told.get("model"),
            instructions=told.get("instructions", ""),
            inputs=inputs,
        )
    except FlowFileError:
        raise
    except FlowError as error:
        number = re.match(r"step (\d+) ", str(error))
        line = f":{_line(text, int(number[1]))}" if number else ""
        raise FlowFileError(f"{path}{line}: {error}") from None


def _read(path: Path) -> tuple[str, dict[str, Any]]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
        return text, tomllib.loads(text)
    except OSError as error:
        raise FlowFileError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise FlowFileError(f"{path}: not UTF-8 at byte {error.start}") from error
    except tomllib.TOMLDecodeError as error:
        raise FlowFileError(f"{path}: {error}") from error
    except RecursionError as error:
        raise FlowFileError(f"{path}: nested too deeply") from error


def _steps(told: Mapping[str, Any], text: str, path: Path) -> list[Step]:
    steps = []
    for number, entry in enumerate(told.get("step", []), 1):
        try:
            if not isinstance(entry, dict):
                raise FlowError("a step is a table; begin it with [[step]]")
            _check_keys(entry, _STEP)
            for key in ("name", "ask"):
                if key not in entry:
                    raise FlowError(f"a step needs {key!r}")
            tools = {"tools": tuple(_texts(entry, "tools"))} if "tools" in entry else {}
            steps.append(Step(**{**entry, **tools}))
        except FlowError as error:
            raise FlowFileError(f"{path}:{_line(text, number)}: step {number}: {error}") from None
    return steps


def _check_keys(told: Mapping[str, Any], known: Mapping[str, type | tuple[type, ...]]) -> None:
    for key, value in told.items():
        if key not in known:
            raise FlowError(f"there is no setting {key!r}; there are {', '.join(known)}")
        wanted = known[key]
        if not isinstance(value, wanted) or isinstance(value, bool):
            kind = _KINDS[wanted] if isinstance(wanted, type) else "a number"
            raise FlowError(f"{key} has to be {kind}")


def _texts(told: Mapping[str, Any], key: str) -> list[str]:
    listed = told.get(key, [])
    if not all(isinstance(entry, str) for entry in listed):
        raise FlowError(f"{key} has to be a list of texts")
    return list(listed)


def _line(text: str, number: int) -> int:
    """The line on which the nth step begins; where it is written in another way, the first."""
    headers = list(_HEADER.finditer(text))
    if number > len(headers):
        return 1
    return text.count("\n", 0, headers[number - 1].start()) + 1
