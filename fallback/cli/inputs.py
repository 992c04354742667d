"""What comes in: files and standard input, as bytes or text, with one line per way to fail."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from fallback.errors import ConfigurationError, FallbackError


class InputError(FallbackError):
    """A file, or standard input, cannot be read as what it should be."""


@contextmanager
def opened(file: str) -> Iterator[IO[bytes]]:
    """The bytes of a file; ``-`` is standard input.

    Raises:
        InputError: it is not there, or not for reading.
    """
    if file == "-":
        yield sys.stdin.buffer
        return
    with ExitStack() as stack:
        try:
            stream = stack.enter_context(Path(file).open("rb"))
        except OSError as error:
            raise InputError(f"{file}: {error.strerror or error}") from error
        yield stream


def read_text(file: str) -> str:
    """The whole of a file as text, its line breaks untouched.

    Raises:
        InputError: it is not there, or not UTF-8.
    """
    with opened(file) as stream:
        data = stream.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        name = "standard input" if file == "-" else file
        raise InputError(f"{name}: not UTF-8 at byte {error.start}") from error


def user_name() -> str:
    """Who is at the terminal, for what is put on record.

    Raises:
        ConfigurationError: the system does not say.
    """
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in some containers
        raise ConfigurationError("say who you are with --by NAME") from None


def context_values(pairs: tuple[str, ...], option: str = "--context") -> dict[str, str]:
    """``KEY=VALUE`` pairs as the values of injected parameters, or of another option.

    Raises:
        ConfigurationError: a pair without ``=``, or a key twice.
    """
    values: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise ConfigurationError(f"{option} {pair!r} is not KEY=VALUE")
        if key in values:
            raise ConfigurationError(f"{option} gives {key!r} twice")
        values[key] = value
    return values
