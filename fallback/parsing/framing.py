"""Where a bracketed value ends, found while it arrives.

A value decides itself where it ends: this module follows quotes and brackets and nothing else, so a
close tag, a fence or a brace inside a string is never taken for the end. Each character is looked
at once, however the text is cut into chunks; strings are skipped at C speed. What stands inside is
the business of :mod:`fallback.parsing.lenient`, which only ever sees a complete frame.
"""

from __future__ import annotations

import re

# Outside strings only these matter. A comment opens with two characters; a lone slash means
# nothing. A ``<`` or a back-tick stands in no value outside a string: there the value is broken off
# by markup.
_OUTSIDE = re.compile(r"""["'“(){}\[\]/#<`]""")
# What needs no look at all: anything else, and strings that are closed and have no escape in them.
_PASSED = re.compile(r"""(?:[^"'“(){}\[\]/#<`]++|"[^"\\]++"|'[^'\\]++')++""")
_CLOSERS = {")": "(", "]": "[", "}": "{"}
# What ends or continues a string, by its delimiter.
_INSIDE = {
    '"': re.compile(r'["\\]'),
    "'": re.compile(r"['\\]"),
    '"""': re.compile(r'["\\]'),
    "'''": re.compile(r"['\\]"),
    "”": re.compile("[”\\\\]"),
    "*/": re.compile(r"\*/"),
    "\n": re.compile(r"\n"),
}


class Framer:
    """Follows one value from its opening bracket.

    ``feed`` takes the text piece by piece and returns whether the frame is settled. Afterwards
    ``end`` is the offset just behind the closing bracket, counted from the first character fed, or
    ``None`` where
    ``fault`` says why there is none (``too_deep``, or ``markup``: something that is in no value
    broke it off at ``fault_at``). Until then :attr:`open_string` tells a cut inside a string (which
    is never mended) from missing closers (which may be).
    """

    __slots__ = (
        "_before", "carry", "comments", "end", "fault", "fault_at", "max_depth", "quote", "seen",
        "stack",
    )  # fmt: skip

    def __init__(self, max_depth: int, *, comments: bool = False) -> None:
        self.stack: list[str] = []
        self.quote = ""
        self.end: int | None = None
        self.fault = ""
        self.fault_at = 0
        self.max_depth = max_depth
        self.comments = comments  # whether ``#`` opens one: true in Python text only
        self.seen = 0  # characters of earlier feeds, without the carry
        self.carry = ""  # up to two characters that need their successors to be understood
        self._before = ""  # the character before the text at hand

    @property
    def open_string(self) -> bool:
        """Whether the text ends inside a string, so that its content is not known."""
        return self.quote not in ("", "\n", "*/") or self.carry in ('"', "'")

    def feed(self, text: str, pos: int = 0) -> bool:
        """Take ``text[pos:]``; return whether the end, or a fault, has been found."""
        if self.carry:
            text, pos = self.carry + text[pos:], 0
            self.carry = ""
        base = self.seen - pos
        size = len(text)
        while pos < size:
            pos = self._string(text, pos) if self.quote else self._structure(text, pos)
            if self.end is not None:
                self.end += base
                return True
            if self.fault:
                self.fault_at += base
                return True
            if self.carry:
                break
        kept = size - len(self.carry)
        self.seen = base + kept
        self._before = text[kept - 1 : kept] or self._before
        return False

    def _structure(self, text: str, pos: int) -> int:
        """Go to the next thing that matters outside strings, and past it."""
        passed = _PASSED.match(text, pos)
        match = _OUTSIDE.search(text, passed.end() if passed else pos)
        if match is None:
            return len(text)
        char, at = match.group(), match.start()
        if char in "([{":
            self.stack.append(char)
            if len(self.stack) > self.max_depth:
                self.fault, self.fault_at = "too_deep", at
            return at + 1
        if char in ")]}":
            return self._close(char, at)
        if char in "\"'":
            return self._open(text, at, char)
        if char == "“":
            self.quote = "”"
            return at + 1
        if char in "<`":
            self.fault, self.fault_at = "markup", at
            return at
        return self._comment(text, at, char)

    def _close(self, char: str, at: int) -> int:
        opener = _CLOSERS[char]
        # A closer that skips inner ones leaves those unclosed; one that closes nothing is surplus
        # and is left to the decoder to name.
        if opener in self.stack:
            while self.stack.pop() != opener:
                pass
            if not self.stack:
                self.end = at + 1
        return at + 1

    def _open(self, text: str, at: int, char: str) -> int:
        """Enter a string; three quotes open a long one, two are an empty one."""
        if text.startswith(char, at + 1):
            if text.startswith(char, at + 2):
                self.quote = char * 3
                return at + 3
            if at + 2 < len(text):
                return at + 2
            self.carry = text[at:]
            return len(text)
        if at + 1 == len(text):
            self.carry = char
            return len(text)
        self.quote = char
        return at + 1

    def _comment(self, text: str, at: int, char: str) -> int:
        if char == "#":
            self.quote = "\n" if self.comments else ""
            return at + 1
        follower = text[at + 1 : at + 2]
        if not follower:
            self.carry = char
            return len(text)
        # ``//`` is also in the middle of every URL, so it must stand behind a blank or a bracket.
        before = text[at - 1] if at else self._before
        if follower == "/" and before in " \t\n\r,{[(":
            self.quote = "\n"
        elif follower == "*":
            self.quote = "*/"
        return at + (2 if self.quote else 1)

    def _string(self, text: str, pos: int) -> int:
        """Go to the end of the open string, or to the end of the text."""
        quote = self.quote
        match = _INSIDE[quote].search(text, pos)
        if match is None:
            if quote == "*/" and text.endswith("*"):
                self.carry = "*"
            return len(text)
        at = match.start()
        if text[at] == "\\":
            if at + 1 == len(text):
                self.carry = "\\"
                return at + 1
            return at + 2
        if len(quote) == 3:
            return self._long_end(text, at, quote)
        self.quote = ""
        return match.end()

    def _long_end(self, text: str, at: int, quote: str) -> int:
        if text.startswith(quote, at):
            self.quote = ""
            return at + 3
        if at + 3 > len(text) and quote.startswith(text[at:]):
            self.carry = text[at:]
            return len(text)
        return at + 1
