"""JSON and Python literals read character by character, as they arrive.

Strings are decoded as :mod:`fallback.parsing.strings` decodes them. One rule there needs the whole
string: a single wrong escape makes all its letter escapes literal (``C:\\new\\folder``). Here an
escape is believed, unless the string looks like a path or a formula; where that turns out to be
wrong the call is told anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from fallback.parsing.live.shape import Shape
from fallback.parsing.strings import JSON_ESCAPES, PYTHON_ESCAPES

_ENDS = {'"': re.compile(r'["\\]'), "'": re.compile(r"['\\]")}  # what ends or continues a string
_NEVER = re.compile(r"(?!)")
_SPACE = re.compile(r"[\s\u00a0\ufeff]*")
_WORD = re.compile(r"""[^\s{}\[\](),:="']+""")
_MARKS = frozenset("{}[](),:=")
LONGEST_WORD = 400  # of a number that is told before the whole is there
_ESCAPE = re.compile(
    r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|([0-7]{1,3})|(\n|.))", re.DOTALL
)
_USUAL = {'"': '"', "\\": "\\", "n": "\n"}  # the same in JSON and in Python, and never in doubt
_BEGUN = re.compile(r"\\(?:[uUx0-7][0-9a-fA-F]*(?:\\(?:u[0-9a-fA-F]*)?)?)?")
_LENGTH = {"u": 6, "U": 10, "x": 4}
_PAIR = 12  # characters of a surrogate pair in escapes
_HEAD = 3  # characters of a string behind which it cannot be only a drive any more
_DRIVE = re.compile(r"[A-Za-z]:")


class Follower:
    """Feeds a :class:`Shape` with what a text holds, from the opening bracket on.

    Args:
        shape: is told what is read.
        python: whether all strings are Python's; otherwise only those that are quoted like it.
    """

    def __init__(self, shape: Shape, *, python: bool = False) -> None:
        self.shape, self.python = shape, python
        self.quote = ""
        self.piece: Callable[[str], object] = str  # takes the pieces of the open string
        self.carry = ""  # characters that need their successors to be understood
        self._inside = _NEVER
        self.before = ""  # the last piece of the open string
        self._head = ""  # its first characters
        self._escapes = JSON_ESCAPES

    def feed(self, text: str) -> None:
        """Take the next piece of the text."""
        shape = self.shape
        if shape.done:
            return
        if self.carry:
            text, self.carry = self.carry + text, ""
        pos, size = 0, len(text)
        while pos < size and not shape.done:
            pos = self._string(text, pos) if self.quote else self._outside(text, pos)
        shape.sink.flush()

    @property
    def direct(self) -> Callable[[str], None] | None:
        """What takes plain characters of the open string, if they are told as they come."""
        if not self.quote or self.carry or self.shape.done or len(self._head) < _HEAD:
            return None
        return self.shape.direct

    # -- outside strings

    def _outside(self, text: str, pos: int) -> int:
        """Go past the next thing outside strings."""
        space = _SPACE.match(text, pos)
        pos = space.end() if space else pos
        char = text[pos : pos + 1]
        if not char:
            return pos
        if char in _MARKS:
            self.shape.mark(char)
            return pos + 1
        if char in "\"'":
            return self._begin(text, pos, char)
        word = _WORD.match(text, pos)
        end = word.end() if word else pos + 1
        if end == len(text):
            self.carry = text[pos:]
            if end - pos > LONGEST_WORD:
                self.shape.stop()
        elif text[end] in "\"'":
            self.shape.stop()  # a prefixed string
        else:
            self.shape.word(text[pos:end])
        return end

    def _begin(self, text: str, pos: int, char: str) -> int:
        """Enter a string; three quotes open a long one, two are an empty one."""
        opening = text[pos : pos + 3]
        if opening == char * 3:
            self._open(char * 3)
            return pos + 3
        if opening == char * len(opening) and len(opening) < 3:
            self.carry = opening
            return len(text)
        self._open(char)
        if opening[1] == char:
            self._close()
            return pos + 2
        return pos + 1

    def _open(self, quote: str) -> None:
        self.quote, self.before, self._head = quote, "", ""
        self._inside = _ENDS.get(quote[0], _NEVER)
        self._escapes = JSON_ESCAPES if quote == '"' and not self.python else PYTHON_ESCAPES
        self.piece = self.shape.string()

    def _close(self) -> None:
        self.quote = ""
        self.shape.end_string()

    # -- inside strings

    def _string(self, text: str, pos: int) -> int:
        """Go to what ends or continues the open string, and past it."""
        match = self._inside.search(text, pos)
        at = match.start() if match else len(text)
        if at > pos:
            self._take(text[pos:at])
        if match is None:
            return at
        if text[at] == "\\":
            return self._escape(text, at)
        if len(self.quote) == 1:
            self._close()
            return at + 1
        if text.startswith(self.quote, at):
            self._close()
            return at + 3
        if len(text) - at < 3 and self.quote.startswith(text[at:]):
            self.carry = text[at:]
            return len(text)
        self._take(text[at])
        return at + 1

    def _take(self, piece: str) -> None:
        self.piece(piece)
        self.before = piece
        if len(self._head) < _HEAD:
            self._head += piece[:_HEAD]

    def _escape(self, text: str, at: int) -> int:
        letter, room = text[at + 1 : at + 2], len(text) - at
        usual = _USUAL.get(letter)
        if usual is not None and len(self._head) >= _HEAD:
            self._take(usual)
            return at + 2
        short = room < _LENGTH.get(letter, 4 if letter in "01234567" else 2)
        if not letter or (short and self._may_grow(text, at)):
            self.carry = text[at:]
            return len(text)
        match = _ESCAPE.match(text, at)
        if match is None:
            self.shape.stop()
            return at
        char = self._char(match)
        if char is None or self._in_doubt(letter):
            self.shape.stop()
            return at
        end = match.end()
        if "\ud800" <= char <= "\udfff":
            if room < _PAIR and self._may_grow(text, at):
                self.carry = text[at:]
                return len(text)
            char, end = self._pair(char, text, end)
        if char:
            self._take(char)
        return end

    def _in_doubt(self, letter: str) -> bool:
        r"""Whether it may well be a path (``C:\new``) or a formula (``$\theta$``) instead."""
        if letter in "bf":  # nobody writes these, but ``\begin`` and ``\frac``
            return True
        return letter.isalpha() and (
            _DRIVE.fullmatch(self._head) is not None
            or (letter != "n" and self.before.endswith("$"))
        )

    def _may_grow(self, text: str, at: int) -> bool:
        """Whether the escape that ends the text is not whole yet."""
        return _BEGUN.fullmatch(text, at) is not None

    def _char(self, match: re.Match[str]) -> str | None:
        short, long, byte, octal, letter = match.groups()
        if letter is not None:
            return "'" if letter == "'" else self._escapes.get(letter)
        if short is not None:
            return chr(int(short, 16))
        if self._escapes is JSON_ESCAPES:
            return None
        code = int(octal, 8) if octal else int(long or byte, 16)
        return chr(code) if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else None

    def _pair(self, high: str, text: str, end: int) -> tuple[str, int]:
        """The character that two halves are; half a character stops everything."""
        follower = _ESCAPE.match(text, end)
        low = int(follower.group(1), 16) if follower and follower.group(1) else 0
        if follower is None or high > "\udbff" or not 0xDC00 <= low <= 0xDFFF:
            self.shape.stop()
            return "", end
        return chr(0x10000 + ((ord(high) - 0xD800) << 10) + (low - 0xDC00)), follower.end()
