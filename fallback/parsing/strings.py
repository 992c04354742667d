"""One string token, in JSON's spelling or in Python's, as the same string in JSON's."""

from __future__ import annotations

import re
from json.encoder import encode_basestring

# Escapes that JSON and Python read alike, and no raw control character: the string can stay as it
# is.
_PLAIN = re.compile(r'"[^"\\\x00-\x1f]*(?:\\(?:["\\bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"')
_ESCAPE = re.compile(
    r"\\(?:u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}|[0-7]{1,3}|\n|.|$)", re.DOTALL
)
JSON_ESCAPES = {
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    '"': '"',
    "\\": "\\",
    "/": "/",
}
PYTHON_ESCAPES = {**JSON_ESCAPES, "a": "\a", "v": "\v", "\n": ""}
del PYTHON_ESCAPES["/"]


class EvaluatedStringError(ValueError):
    """A byte string, or an f-string with something in it: no text until it is evaluated."""


def json_string(text: str, *, python: bool) -> tuple[str, tuple[str, ...]]:
    """The string as a JSON string, and the repairs that took.

    Args:
        text: the token with its quotes, and its prefix if it has one.
        python: whether Python is being read, so that its escapes are no deviation.

    Raises:
        EvaluatedStringError: it would have to be evaluated.
    """
    if text == '""' or (text[0] == '"' and text[:2] != '""' and _PLAIN.fullmatch(text)):
        return text, ()
    if not python and text[0] == '"' != text[1] and "\\" not in text:
        return encode_basestring(text[1:-1]), ("control_characters",)
    if text[0] == "“":
        return encode_basestring(text[1:-1]), ("smart_quotes",)
    prefix = text[: min(at for at in (text.find('"'), text.find("'")) if at >= 0)].lower()
    quoted = text[len(prefix) :]
    size = 3 if len(quoted) >= 6 and quoted[:3] in ('"""', "'''") else 1
    body = quoted[size:-size]
    if "b" in prefix or ("f" in prefix and ("{" in body or "}" in body)):
        raise EvaluatedStringError("a string that would have to be evaluated")
    in_python = python or quoted[0] == "'" or size == 3 or bool(prefix)
    repairs: tuple[str, ...] = ()
    if in_python and not python:
        repairs = ("python_literals",)
    elif not in_python and any(char < " " for char in body):
        repairs = ("control_characters",)
    if "r" in prefix:
        return f'"{_quote(body)}"', repairs
    written, more = _unescape(body, python=in_python)
    return f'"{written}"', (*repairs, *more)


def _unescape(body: str, *, python: bool) -> tuple[str, tuple[str, ...]]:
    """The body as the inside of a JSON string. One wrong escape makes all its letters literal."""
    table = PYTHON_ESCAPES if python else JSON_ESCAPES
    escapes = list(_ESCAPE.finditer(body))
    literal = any(_escaped(m.group()[1:], table, python=python) is None for m in escapes)
    repairs = ("lone_backslashes",) if literal else ()
    if not python and any(match.group() == "\\'" for match in escapes):
        repairs = (*repairs, "escaped_apostrophes")
    if literal and all(match.group()[1:2] not in ('"', "'", "\\") for match in escapes):
        return _quote(body), repairs
    pieces, last = [], 0
    for match in escapes:
        pieces.append(_quote(body[last : match.start()]))
        last = match.end()
        escape = match.group()[1:]
        if literal and escape[:1] not in ('"', "'", "\\"):
            pieces.append(_quote(match.group()))
        else:
            pieces.append(_escaped(escape, table, python=python) or "")
    pieces.append(_quote(body[last:]))
    return "".join(pieces), repairs


def _quote(text: str) -> str:
    return encode_basestring(text)[1:-1]


def _escaped(escape: str, table: dict[str, str], *, python: bool) -> str | None:
    r"""The JSON form of an escape, without its backslash; ``None`` if there is no such escape.

    ``\uXXXX`` stays as it is, so that the decoder joins the two halves of a surrogate pair. ``\'``
    is read everywhere: it is wrong in JSON, but it can mean one thing only.
    """
    if escape == "'":
        return "'"
    if escape in table:
        return _quote(table[escape])
    if escape[:1] == "u" and len(escape) == 5:
        return "\\" + escape
    if not python or len(escape) < 1:
        return None
    if escape[0] in "xU" and len(escape) > 1:
        code = int(escape[1:], 16)
        return _quote(chr(code)) if code <= 0x10FFFF else None
    # ``\8`` and ``\9`` are no escapes, nor is a digit of another script.
    return _quote(chr(int(escape, 8))) if escape[0] in "01234567" else None
