"""Where output goes: JSON as UTF-8 bytes, text as the terminal can show it, errors as one line.

What must stay true: with ``--json`` nothing but the JSON reaches standard output, whatever a tool,
a library or a child process prints; and no text from a model or a server can steer the terminal.
"""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console

MAX_ERROR_CHARS = 600
"""An error line longer than this is cut: servers send whole pages."""


def json_line(value: Mapping[str, Any]) -> bytes:
    """One object as one line of UTF-8 JSON.

    A lone surrogate has no UTF-8 form, so a line that holds one is written with escapes instead.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False).encode() + b"\n"


def write_json(value: Mapping[str, Any], out: IO[bytes] | None = None) -> None:
    """Write one line and flush it, so that a reader at the other end of a pipe sees it at once."""
    out = out or sys.stdout.buffer
    out.write(json_line(value))
    out.flush()


@contextmanager
def only_json() -> Iterator[IO[bytes]]:
    """Keep standard output for the JSON alone; everything else that is printed goes to stderr.

    The file descriptor itself is turned, not only ``sys.stdout``, because tools start child
    processes and libraries print from C. Yields the stream for the JSON.
    """
    sys.stdout.flush()
    try:
        own, errors = sys.stdout.fileno(), sys.stderr.fileno()
    except (
        AttributeError,
        OSError,
        ValueError,
    ):  # not real files: inside a test or another program
        yield sys.stdout.buffer
        return
    saved = os.dup(own)
    os.dup2(errors, own)
    try:
        with os.fdopen(saved, "wb", closefd=False) as out:
            yield out
    finally:
        sys.stdout.flush()
        os.dup2(saved, own)
        os.close(saved)


def visible(text: str) -> str:
    """The text without what would steer a terminal: control characters are shown, not obeyed.

    Line breaks and tabs stay. The C0 controls, among them the escape that begins ANSI sequences,
    become pictures (U+2400 onwards); C1 controls, bidirectional overrides and such are written out.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else _shown(c) for c in text)


def _shown(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if unicodedata.category(character) == "Zs":
        return " "
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def prepare_streams() -> None:
    """Make printing impossible to fail: characters that a terminal's encoding lacks are escaped."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIO) or hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # TextIOWrapper


def console(*, stderr: bool = False) -> Console:
    """A console that obeys ``NO_COLOR``, ``FORCE_COLOR`` and pipes, and reads no markup."""
    from rich.console import Console

    class PlainConsole(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich would end the process with a code that says nothing

    return PlainConsole(stderr=stderr, markup=False, emoji=False, highlight=False, soft_wrap=True)


def can_show(text: str, stream: TextIO | None = None) -> bool:
    """Whether the stream's encoding has the characters: a Windows code page lacks most symbols."""
    stream = stream or sys.stdout
    try:
        text.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def error_line(error: BaseException | str) -> str:
    """An error as one line, cut, with nothing in it that steers a terminal."""
    text = str(error) or type(error).__name__
    text = visible(" ".join(text.split()))
    return text if len(text) <= MAX_ERROR_CHARS else text[: MAX_ERROR_CHARS - 1] + "…"


def complain(error: BaseException | str) -> None:
    """Say on standard error what went wrong, in one line."""
    try:
        print(f"fallback: {error_line(error)}", file=sys.stderr, flush=True)  # noqa: T201  # its job
    except (OSError, ValueError):  # standard error is closed: the exit code still tells
        return


def forget_stdout() -> None:
    """Whoever read the output has gone: nothing that is still buffered may raise at exit."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
    except (OSError, ValueError):
        return
