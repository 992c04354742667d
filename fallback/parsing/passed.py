"""What the shown text before a candidate says about it: that it is quoted, or not the model's own.

Markdown's fences and quotes are followed where they stand. Models also quote in the ways of other
markup: elements of HTML, environments of LaTeX, blocks of AsciiDoc, Org, BBCode and Jira. Those are
looked for only where a call would begin, in the text that was shown since the last look, so prose
costs nothing and every character is looked at once.
"""

from __future__ import annotations

import re

_WORDS = (
    r"pre|code|kbd|samp|tt|xmp|listing|plaintext|textarea|script|style|template|blockquote|q|cite"
    r"|del|strike|quote|quoted|nowiki|source|syntaxhighlight|code[-_]?block|snippet|verbatim"
    r"|[\w-]{0,20}(?:example|sample)s?(?:[-_]\w{1,20})?"
)
_BLOCKS = r"verbatim\*?|[BL]?Verbatim\*?|lstlisting|minted|alltt|comment|quote|quotation|tcblisting"
_TOKEN = re.compile(
    rf"<(?P<shut>/?)(?P<tag>{_WORDS})(?:[ \t][^<>\n]{{0,200}})?>"
    r"|(?P<remark><!--|-->)|(?P<data><!\[CDATA\[|\]\]>)"
    rf"|\\(?P<latex>begin|end)\{{(?P<block>{_BLOCKS})\}}"
    r"|^[ \t]*\#\+(?P<org>begin|end)_(?P<kind>src|example|quote|verse|comment|export)\b"
    r"|\[(?P<close>/?)(?P<bb>code|quote|pre|noparse|spoiler)(?:=[^\[\]\n]{0,40})?\]"
    r"|^[ \t]*\{(?P<jira>code|noformat|quote)(?::[^{}\n]{0,40})?\}"
    r"|^(?P<line>-{4,80}|\.{4,80}|\+{4,80}|={4,80}|_{4,80}|\"\"\"|''')[ \t]*(?=\n)",
    re.IGNORECASE | re.MULTILINE | re.ASCII,
)
# A line with which a transcript gives the word to somebody, and the end of a ReAct turn.
_TURN = re.compile(
    r"^[ \t]*(?:\#{2,4}[ \t]*|\*\*)?(?:(?P<other>User|USER|Human|HUMAN)(?:\*\*)?[ \t]*:"
    r"|(?<=\#)[ \t]*(?P<alpaca>Instruction:)|(?P<own>Assistant|ASSISTANT|AI|Bot)(?:\*\*)?[ \t]*:"
    r"|(?<=\#)[ \t]*(?P<response>Response:)|(?P<answer>Final Answer)(?:\*\*)?[ \t]*:"
    r"|(?P<question>Question)(?:\*\*)?[ \t]*:)",
    re.MULTILINE,
)
_SENTENCE_ENDS = re.compile(r"[.!?][\"')*]*\s+(?=[^a-z\s])")
_CALLING = r"(?:call|use|run|invoke|try|write|type|execute|issue|send|make|do|say)"
_SUPPOSED = re.compile(
    rf"\b(?:you|one|users?|we|i)\s+(?:could|might)\s+(?:\w+\s+){{0,2}}{_CALLING}\b"
    rf"|\b(?:you|one|users?)\s+(?:would|can|may)\s+(?:\w+\s+){{0,2}}{_CALLING}\b"
    r"|\b(?:call|it|that|this|which|one)\s+(?:could|might|would)\s+(?:look|read|be\W*$)"
    r"|\bfor\s+(?:example|instance|illustration)\b|\be\.\s?g\.|\bsuch\s+as\W*$"
    r"|\b(?:an?|the|this|following)\s+(?:\w+\s+)?(?:example|sample)\b|^\W*example\b"
    r"|\b(?:format|form|syntax|pattern|template|notation|usage)\b(?:[^.!?]{0,60}?)"
    r"\b(?:is|are|looks?|as\s+follows)\W*$"
    r"|\blooks?\s+like\b|\blike\s+(?:this|so|that)\W*$",
    re.IGNORECASE,
)
_MEANT = re.compile(r"\b(?:i['’]?ll|i\s+will|i['’]?m|i\s+am|let\s+me|let['’]?s|we['’]?ll)\b", re.I)
_TAGS = re.compile(r"<[^<>\n]{1,200}>|^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")
_BEFORE_LISTING = re.compile(r"(?:\A|(?:\A|\n)(?:[ \t]*|\[[^\n]*\][ \t]*|\.\w[^\n]*)\n)\Z")
_BARE_LEAD = re.compile(
    r"(?:for\s+(?:example|instance)|such\s+as|e\.\s?g\.|like\s+(?:this|so)),?$", re.IGNORECASE
)
_SENTENCE = 400  # characters of a sentence that are looked at
_NEAR = 200  # characters of a line that decide whether a tag begins or ends it
_MOST_OPEN = 8  # quotations in one another
_KEPT = 2000  # characters of what was shown that are looked back on


class Passed:
    """The text that was shown since the last call, and what is open in it.

    Attributes:
        tail: its last characters.
        turned: whether the model has gone on with a turn that is somebody else's.
        open: what is quoted and not closed yet, outermost first: the name of the construct, and an
            expression for what closes it.
    """

    __slots__ = ("_ahead", "_pieces", "_said", "open", "tail", "turned")

    def __init__(self) -> None:
        self.tail = ""
        self.open: dict[str, str] = {}
        self._pieces: list[str] = []
        self.turned = False
        self._said = ""  # what was: ``text``, ``other`` behind nothing, or ``answer``
        self._ahead = 0  # offset in the reply up to which everything has been looked at

    def add(self, text: str, start: int) -> None:
        """Take shown text that begins at an offset in the reply."""
        seen = self._ahead - start
        if seen <= 0:
            self._pieces.append(text)
        elif seen < len(text):
            self._pieces.append(text[seen:])

    def clear(self) -> None:
        """Begin anew: behind a call, and behind markup, nothing is open."""
        self.look()
        self.tail = ""
        self.open.clear()

    def skip(self, end: int) -> None:
        """What was shown up to ``end`` is a quotation of its own, and says nothing."""
        self._pieces.clear()
        self.tail, self._ahead = "```\n", end

    def look(self, text: str = "", start: int = 0) -> None:
        """Look at what was added, and at ``text`` that will be added."""
        seen = max(0, self._ahead - start)
        self._ahead = max(self._ahead, start + len(text))
        new = "".join(self._pieces) + text[seen:]
        self._pieces.clear()
        if not new:
            return
        whole = self.tail + new
        for token in _TOKEN.finditer(whole, len(self.tail)):
            self._token(whole, token)
        self._turns(whole, len(self.tail))
        self.tail = whole[-_KEPT:]

    def called(self) -> None:
        """A call was made: whoever has the word from now on, it is not the user."""
        self.clear()
        self._said = "text"

    def _turns(self, text: str, start: int) -> None:
        for turn in _TURN.finditer(text, start):
            said = self._said or ("text" if text[start : turn.start()].strip() else "")
            if turn["other"] or turn["alpaca"]:
                self.turned = self.turned or bool(said)
                said = said or "other"
            elif turn["own"] or turn["response"]:
                self.turned = self.turned or said == "other"
            elif turn["answer"]:
                said = "answer"
            else:
                self.turned = self.turned or said == "answer"
            self._said = said
            start = turn.end()
        if not self._said and text[start:].strip():
            self._said = "text"

    @property
    def speaks_for_others(self) -> bool:
        """Whether what follows is said in another's name, be it only in this paragraph."""
        if self.turned or self._said != "other":
            return self.turned
        paragraph = self.tail[self.tail.rfind("\n\n") + 1 :]
        return any(turn["other"] for turn in _TURN.finditer(paragraph))

    @property
    def supposes(self) -> bool:
        """Whether the last sentence speaks of what could be called, or is a literal's heading."""
        paragraph = self.tail.rstrip().rpartition("\n\n")[2]
        sentence = paragraph[-_SENTENCE:]
        for end in _SENTENCE_ENDS.finditer(sentence):
            last = end.end()
            if not sentence[:last].lower().rstrip().endswith("e.g."):
                paragraph = sentence[last:]
        introduces = paragraph[-_SENTENCE:].rstrip("*_` ")
        if introduces.endswith("::"):
            return True
        if not introduces.endswith(":") and not _BARE_LEAD.search(introduces):
            return False
        return bool(_SUPPOSED.search(introduces)) and not _MEANT.search(introduces)

    def _token(self, text: str, token: re.Match[str]) -> None:
        name, closer, opens, closes = _meaning(token)
        if name in self.open and closes:
            self.close(name)
        elif opens and len(self.open) < _MOST_OPEN and _is_set_apart(text, token):
            self.open.setdefault(name, closer)

    def close(self, name: str) -> None:
        """One of what is open ends, and with it what was opened inside."""
        names = list(self.open)
        for inner in names[names.index(name) :]:
            del self.open[inner]


def _meaning(token: re.Match[str]) -> tuple[str, str, bool, bool]:
    """The construct, an expression for its end, and whether this may open and may close it."""
    tag, block, kind, bb, jira = (
        (token[part] or "").lower() for part in ("tag", "block", "kind", "bb", "jira")
    )
    if tag:
        shut = token["shut"] == "/"
        return f"<{tag}>", rf"</{re.escape(tag)}\s{{0,8}}>", not shut, shut
    if token["remark"]:
        return "<!--", "-->", token["remark"] == "<!--", token["remark"] == "-->"
    if token["data"]:
        return "<![", r"\]\]>", token["data"] != "]]>", token["data"] == "]]>"
    if block:
        begins = token["latex"].lower() == "begin"
        return "\\" + block, rf"\\end\{{{re.escape(block)}\}}", begins, not begins
    if kind:
        begins = token["org"].lower() == "begin"
        return "#" + kind, rf"^[ \t]*\#\+end_{kind}\b", begins, not begins
    if bb:
        return f"[{bb}]", rf"\[/{bb}\]", not token["close"], bool(token["close"])
    if jira:
        return f"{{{jira}}}", rf"^[ \t]*\{{{jira}\}}", True, True
    line = token["line"]
    # A rule between paragraphs has empty lines around it, a listing has none inside.
    return line, rf"(?<=\S)[ \t]*\n{re.escape(line)}[ \t]*$", True, True


def _is_set_apart(text: str, token: re.Match[str]) -> bool:
    """Whether an opener begins or ends its line: in a sentence it is only spoken of."""
    start, end = token.span()
    if token["line"] and token["line"][0] not in "\"'":
        below, more, _ = text[end + 1 : end + _NEAR].partition("\n")
        above = text[max(0, start - _NEAR) : start]
        return bool(below.strip() or not more) and _BEFORE_LISTING.search(above) is not None
    line = text.rfind("\n", max(0, start - _NEAR), start)
    if line >= 0 or start <= _NEAR:
        head = _TAGS.sub("", text[line + 1 : start])
        if not head.strip():
            return True
    rest, more, _ = text[end : end + _NEAR].partition("\n")
    return bool(more or end + _NEAR > len(text)) and not _TAGS.sub("", rest).strip()
