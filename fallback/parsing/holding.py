"""What has to wait: the end of a text that may still grow into the beginning of a call.

Everything else leaves at once. Only the beginning of a line is ever held, and only while it can
still become a declared name, a label or the info word of a fence whose ticks were lost.
"""

from __future__ import annotations

import re

from fallback.catalogue import Catalogue, fold
from fallback.parsing.cursor import LOOK_BACK, Cursor

_OTHER_WORDS = (
    "functions.", "function.", "tools.", "default_api.", "functools", "action", "observation",
    "call", "assistantcommentary", "assistantanalysis", "commentary", "analysis",
)  # fmt: skip
_TURNS = ("user", "human")
_FLOWERS = ("✿FUNCTION✿", "✿RE")
_INFO_WORDS = ("json", "python", "tool_call", "tool_code")
_NUMBER_BEHIND = re.compile(r":\d*$")
_HELD_WORD = re.compile(
    r"[ \t>]*\**(?:Action(?:[ \t]*\d{0,3})?|Observation)[ \t]*\**[ \t]*"
    r"|[ \t>]*\**[\"'`]?(?:[Cc]all\s*:\s*[\"'`]?)?([^\W\d][\w.\-/\\:]*)?[\"'`]?[ \t]*"
    r"(?:[<\[][^<>\[\]\n]{0,40}[>\]]?)?[ \t]*"
    r"|(?:assistant)?(?:commentary|analysis)?\s*(?:t(?:o(?:=[\w.\-]*\s*\w*\s*)?)?)?"
)
# Functionary puts ``>>>`` in front of the name.
HELD_NAME = re.compile(r"(?:(?:^|\n)[ \t]*(?:>>>)?|>>>)([^\W\d][\w.\-/]*)[ \t]*\n\s*$")
_HEADED = re.compile(r">{1,3}(?:(?<=>>>)([^\W\d][\w.\-/]*)[ \t]*(?:\n\s*)?)?")


class Holding:
    """Decides how much of the text may leave."""

    def __init__(self, cursor: Cursor, catalogue: Catalogue) -> None:
        self.cursor, self.catalogue = cursor, catalogue
        self._after_a_call = False
        self._words: tuple[str, ...] = ()  # what a held word may become; made when first needed

    def safe_end(self) -> int:
        """Up to where the text can be handed on: what may still grow into a call stays."""
        cursor = self.cursor
        buf = cursor.source.buf
        if self.lone_info_word(buf[cursor.pos : cursor.pos + LOOK_BACK], whole=False):
            return cursor.pos
        flower = buf.find("✿", max(cursor.pos, len(buf) - len(_FLOWERS[0])))
        while flower >= 0:
            if any(sign.startswith(buf[flower:]) for sign in _FLOWERS):
                return flower
            flower = buf.find("✿", flower + 1)
        if buf[-1:].isspace():
            named = self.name_in_front(len(buf))
            if named:
                return named[0]
        line = buf.rfind("\n", cursor.pos) + 1 or cursor.pos
        if not (line == cursor.pos and cursor.head.strip()):
            match = _HELD_WORD.fullmatch(buf, line)
            if match and (not match.group(1) or self._may_be_name(match.group(1))):
                return line
        return self._headed()

    def name_in_front(self, end: int) -> tuple[int, int] | None:
        """Where a declared name that ends its line, and the text up to ``end``, is begun and
        written: the two differ by the line break and the signs in front of it."""
        cursor, buf = self.cursor, self.cursor.source.buf
        low = max(cursor.pos, end - LOOK_BACK)
        named = HELD_NAME.search(buf[low:end])
        if named is None or self.catalogue.resolve(named.group(1)) is None:
            return None
        begin = low + named.start()
        at_start = low == cursor.pos and not cursor.head.strip()
        if named.start() or buf[begin] in "\n>" or at_start:
            return begin, low + named.start(1)
        return None

    def _headed(self) -> int:
        """Where ``>>>`` and what may be a name end the text, or the end of it."""
        buf, pos = self.cursor.source.buf, self.cursor.pos
        if buf.endswith("]") and len(buf) > pos:
            return len(buf) - 1  # MiniMax M3's token begins with it
        sign = buf.rfind(">", max(pos, len(buf) - LOOK_BACK))
        if sign < 0:
            return len(buf)
        while sign > pos and buf[sign - 1] == ">" and not buf.startswith(">>>", sign):
            sign -= 1
        match = _HEADED.fullmatch(buf, sign)
        held = match and (not match.group(1) or self._may_be_name(match.group(1)))
        return sign if held else len(buf)

    def lone_info_word(self, text: str, *, whole: bool) -> bool:
        """Whether a reply begins with the info word of a fence whose ticks were lost."""
        word = text.strip().lower()
        if self.cursor.prose or self.cursor.called or not word:
            return False
        return word in _INFO_WORDS if whole else any(info.startswith(word) for info in _INFO_WORDS)

    def _may_be_name(self, word: str) -> bool:
        if not self._words or (self.cursor.called and not self._after_a_call):
            self._after_a_call = self.cursor.called
            names = (*self.catalogue.names, *_OTHER_WORDS, *(_TURNS if self._after_a_call else ()))
            self._words = tuple(fold(name) for name in names)
        plain = _NUMBER_BEHIND.sub("", word.replace("\\", "").casefold().removeprefix("call:"))
        folded = fold(plain)
        # Behind a namespace any name may follow.
        return "." in plain or any(name.startswith(folded) for name in self._words)
