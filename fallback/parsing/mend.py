"""The common slips of form in a JSON value, mended in one pass over its tokens.

:mod:`fallback.parsing.lenient` reads everything that can be read. This reads most of what really
comes, several times as fast, and gives the rest up. What it answers is by law what the other
answers, repairs included: ``tests/property/test_mend_laws.py`` holds the two together.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from fallback.parsing.strict import decode_at
from fallback.parsing.strings import json_string

_TOKEN = re.compile(
    r"""\s*+(
        (?: "(?!"")[^"\\]*+(?:\\.[^"\\]*+)*+"
          | '(?!'')[^'\\]*+(?:\\.[^'\\]*+)*+'
          | “[^”]*+”
          | [A-Za-z_]\w*+
        ) (?:\s*+:)?+
      | -?\d[\w.+\-]*+
      | /\*(?:.*?\*/|.*\Z)
      | (?<=[\s,{\[(])//[^\n]*+\n
      | \S
    )""",
    re.VERBOSE | re.DOTALL,
)
_PLAIN = re.compile(r'"[^"\\\x00-\x1f]*+"')
_SINGLE = re.compile(r"""'[^'"\\\x00-\x1f]*+'""")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_CLOSER = {"{": "}", "[": "]", "(": ")"}
_LITERALS = {
    "true": "true", "false": "false", "null": "null",
    "True": "true", "False": "false", "None": "null",
}  # fmt: skip

# What is due: a separator, a key, a colon, an item of an array, the value of a key.
_AFTER, _KEY, _COLON, _ITEM, _VALUE = range(5)


def mend(text: str, start: int, end: int) -> tuple[Any, tuple[str, ...], int] | None:
    """Read ``text[start:end]`` as one object or array, if it takes no more than common repairs.

    Returns:
        The value, the repairs as :func:`fallback.parsing.lenient.read_value` names them, and how
        many closers stand behind it; or ``None`` if it has to be read by that.
    """
    pieces: list[str] = _TOKEN.findall(text, start, end)
    if not pieces or pieces[0] not in ("{", "["):
        return None
    mender = _Mender(pieces, comments=text.find("/", start, end) >= 0)
    surplus = mender.run()
    if surplus is None:
        return None
    written = "".join(mender.out)
    try:
        value, stop = decode_at(written, 0)
    except ValueError:
        return None
    return (value, tuple(mender.repairs), surplus) if stop == len(written) else None


class _Mender:
    """Writes the tokens down as strict JSON. A step that returns ``False`` gives up."""

    __slots__ = ("at", "due", "members", "out", "pieces", "repairs", "stack", "trailing")

    def __init__(self, pieces: list[str], *, comments: bool) -> None:
        self.repairs: dict[str, None] = {}
        if comments and any(piece[0] == "/" for piece in pieces):
            closed = pieces[-1][:2] != "/*" or pieces[-1][2:].endswith("*/")
            pieces = [piece for piece in pieces if not closed or piece[:2] not in ("/*", "//")]
            self.repairs["comments"] = None
        self.pieces = pieces
        self.out: list[str] = []
        self.stack: list[str] = []  # closers that are awaited
        self.members: list[int] = []  # values in each container that is open
        self.due = _ITEM
        self.trailing = False  # whether a comma was the last thing
        self.at = 0

    def run(self) -> int | None:
        """How many closers stand behind the value; ``None`` gives up."""
        steps, pieces = _STEPS, self.pieces
        for self.at, piece in enumerate(pieces):
            if not steps.get(piece[0], _Mender._name)(self, piece):
                return None
            if not self.stack:
                rest = pieces[self.at + 1 :]
                return len(rest) if all(piece in "]})" for piece in rest) else None
        if self.due != _AFTER or ")" in self.stack:
            return None
        self.repairs["missing_closers"] = None
        self.out += reversed(self.stack)
        return 0

    def _take(self, written: str) -> bool:
        """A scalar value, where one is due."""
        if self.due < _ITEM:
            return False
        self.out.append(written)
        self.members[-1] += 1
        self.due, self.trailing = _AFTER, False
        return True

    def _open(self, piece: str) -> bool:
        if self.due == _AFTER:
            beside = self.pieces[self.at - 1] in ("}", "]") and self.stack[-1] != "}"
            if not beside or piece == "(":
                return False
            self.repairs["missing_comma"] = None
            self.out.append(",")
        elif self.due < _ITEM:
            return False
        if self.stack:
            self.members[-1] += 1
        self.out.append("[" if piece == "(" else piece)
        self.stack.append(_CLOSER[piece])
        self.members.append(0)
        self.due, self.trailing = _KEY if piece == "{" else _ITEM, False
        return True

    def _close(self, piece: str) -> bool:
        if self.due in (_COLON, _VALUE) or piece not in self.stack:
            return False
        if self.due != _AFTER:
            # Nothing stands in front of it, or only a comma.
            if piece != self.stack[-1] or not (self.trailing or self.members[-1] == 0):
                return False
            if self.trailing:
                self.out.pop()
                self.repairs["trailing_comma"] = None
        while (closer := self.stack.pop()) != piece:
            self.repairs["missing_closers"] = None
            if closer == ")":
                return False
            self.members.pop()
            self.out.append(closer)
        members = self.members.pop()
        if piece == ")":
            if members == 1 and not self.trailing:
                return False
            self.repairs["python_literals"] = None
        self.out.append("]" if piece == ")" else piece)
        self.due, self.trailing = _AFTER, False
        return True

    def _comma(self, piece: str) -> bool:
        if self.due != _AFTER:
            return False
        self.out.append(piece)
        self.due, self.trailing = _KEY if self.stack[-1] == "}" else _ITEM, True
        return True

    def _colon(self, piece: str) -> bool:
        if self.due != _COLON or piece != ":":
            return False
        self.out.append(piece)
        self.due = _VALUE
        return True

    def _string(self, piece: str) -> bool:
        if len(piece) < 2:
            return False
        is_key = piece[-1] == ":"
        if is_key:
            piece = piece[:-1].rstrip()
        if _PLAIN.fullmatch(piece):
            written = piece
        elif _SINGLE.fullmatch(piece):
            written = f'"{piece[1:-1]}"'
            more: tuple[str, ...] = ("python_literals",)
        else:
            written, more = json_string(piece, python=False)
        if not (
            self._key(written, colon=is_key) if is_key or self.due == _KEY else self._take(written)
        ):
            return False
        if written is not piece:
            self.repairs.update(dict.fromkeys(more))
        return True

    def _key(self, written: str, *, colon: bool) -> bool:
        if self.due == _AFTER and self.stack[-1] == "}":
            self.repairs["missing_comma"] = None
            self.out.append(",")
        elif self.due != _KEY:
            return False
        self.out.append(written + ":" if colon else written)
        self.members[-1] += 1
        self.due, self.trailing = _VALUE if colon else _COLON, False
        return True

    def _number(self, piece: str) -> bool:
        return _NUMBER.fullmatch(piece) is not None and self._take(piece)

    def _name(self, piece: str) -> bool:
        if not (piece[0].isascii() and (piece[0].isalpha() or piece[0] == "_")):
            return False
        is_key = piece[-1] == ":"
        if is_key or self.due == _KEY:
            name = piece[:-1].rstrip() if is_key else piece
            if not self._key(f'"{name}"', colon=is_key):
                return False
            self.repairs["unquoted_keys"] = None
            return True
        literal = _LITERALS.get(piece)
        if literal is None or not self._take(literal):
            return False
        if literal != piece:
            self.repairs["python_literals"] = None
        return True


_STEPS: dict[str, Callable[[_Mender, str], bool]] = {
    **dict.fromkeys("{[(", _Mender._open),
    **dict.fromkeys("}])", _Mender._close),
    **dict.fromkeys("\"'“", _Mender._string),
    **dict.fromkeys("-0123456789", _Mender._number),
    ",": _Mender._comma,
    ":": _Mender._colon,
}
