"""HTML as the text that a reader of the page would see.

A page costs a model ten times its text, and hides sentences that only the model reads. So tags,
scripts and styles go, and with them what the page itself hides. The tags are found as
https://html.spec.whatwg.org/multipage/parsing.html says (attributes may hold ``>``, a comment that
is never closed goes on to the end); the tree is not built, since only text is wanted. Every
construct either ends or takes the rest, so the work is linear for any input.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["html_to_text", "is_html"]

_DOCUMENT = re.compile(
    r"\s{0,1000}(?:<!--.{0,2000}?-->\s{0,1000})?<(?:!doctype\s+html|html)\b", re.I | re.S
)
_ATTRIBUTE = r"""\s*+/?+(?:[^\s"'>/=][^\s>/=]*+|=)(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s"'>]++))?+"""
_TAG = re.compile(rf"<(/?)([a-zA-Z][^\s/>]*+)((?:{_ATTRIBUTE})*+)\s*+/?+\s*+>")
_NAMED = re.compile(
    r"""([^\s"'>/=][^\s>/=]*+)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'>]++)))?+"""
)
_HIDING_STYLE = re.compile(
    r"(?i)display\s*:\s*none|visibility\s*:\s*hidden|(?:opacity|font-size)\s*:\s*0(?![.\d])"
)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_RAW = _names("script style textarea title xmp iframe noembed noframes")
"""Elements whose content is text up to their end tag, whatever is in it."""

_DROPPED = _names(
    "script style noscript template svg math canvas iframe object embed audio video select datalist"
    " noembed noframes dialog"
)
_VOID = _names("area base br col embed hr img input link meta source track wbr")
_PARAGRAPHS = _names(
    "article blockquote div footer h1 h2 h3 h4 h5 h6 header ol p pre section table title ul"
)
_BLOCKS = _PARAGRAPHS | _names(
    "address aside body br caption dd details dl dt fieldset figcaption figure form head hr html li"
    " main nav summary tbody textarea tfoot thead tr xmp"
)
_CELLS = _names("td th")
_CELL_ENDS = _names("td th tr tbody tfoot /tr /tbody /table")
# An element of the left column ends where a tag of the right stands: it needs no end tag.
_ENDED_BY = {
    "p": _PARAGRAPHS | _names("address hr main nav form li /div /section /article /body /li /td"),
    "li": _names("li /ul /ol /menu"),
    "dt": _names("dt dd /dl"),
    "dd": _names("dt dd /dl"),
    "td": _CELL_ENDS,
    "th": _CELL_ENDS,
    "tr": _names("tr tbody tfoot /tbody /thead /table"),
}
_SPACES = re.compile(r"[ \t\n\r\f]+")
# A number of more digits is no character, and Python refuses to read one of some thousands.
_LONG_NUMBER = re.compile(r"&#(?:x[0-9a-f]{7,}+|[0-9]{8,}+);?", re.I)
# Characters without a picture: tags, which can spell a hidden sentence, and zero-width ones.
_UNSEEN = re.compile(
    "[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]+"
)


class _Tag(NamedTuple):
    name: str
    closes: bool
    attributes: str


def is_html(text: str) -> bool:
    """Whether a text says that it is an HTML document: it begins with a doctype or ``<html>``."""
    return _DOCUMENT.match(text) is not None


def html_to_text(markup: str) -> str:
    """The visible text of a document or a fragment, a line for each block; never raises.

    Scripts, styles, forms' choices, comments and everything that the page hides are left out, and
    so are characters that show nothing. Cells of a row are separated by ``|``, items of a list
    begin with ``-``, and a picture is its ``alt`` text. Addresses of links are left out.
    """
    writer = _Writer()
    skipping, depth = "", 0
    for part in _parts(markup):
        if isinstance(part, str):
            if not skipping:
                writer.text(part)
            continue
        if skipping:
            if _ends(skipping, part):
                skipping = ""
            else:
                depth += _step(skipping, part)
                skipping = skipping if depth else ""
                continue
        if not part.closes and _is_hidden(part):
            if part.name not in _VOID:
                skipping, depth = part.name, 1
            continue
        writer.tag(part)
    return writer.finished()


def _step(skipping: str, tag: _Tag) -> int:
    if tag.name != skipping:
        return 0
    return -1 if tag.closes else 1


def _ends(skipping: str, tag: _Tag) -> bool:
    return ("/" * tag.closes + tag.name) in _ENDED_BY.get(skipping, ())


def _is_hidden(tag: _Tag) -> bool:
    if tag.name in _DROPPED:
        return True
    for name, value in _attributes(tag):
        if name == "hidden" or (name == "aria-hidden" and value.lower() == "true"):
            return True
        if name == "style" and _HIDING_STYLE.search(value):
            return True
    return False


def _attributes(tag: _Tag) -> Iterator[tuple[str, str]]:
    """Names in small letters, and values; empty where there is none."""
    for match in _NAMED.finditer(tag.attributes):
        yield match[1].lower(), match[2] or match[3] or match[4] or ""


def _parts(markup: str) -> Iterator[str | _Tag]:
    """Text and tags in turn; comments, doctypes and what is never closed are left out."""
    at = 0
    while (opening := markup.find("<", at)) >= 0:
        yield markup[at:opening]
        after = markup[opening + 1 : opening + 2]
        if after in ("!", "?"):
            at = _past_declaration(markup, opening)
        elif (tag := _TAG.match(markup, opening)) is not None:
            name = tag[2].lower()
            yield _Tag(name, bool(tag[1]), tag[3])
            at = tag.end()
            if name in _RAW and not tag[1]:
                end = _raw_end(markup, name, at)
                yield markup[at:end]
                at = end
        elif after == "/" or after.isalpha():
            end = markup.find(">", opening)  # an odd tag: over at the next bracket, if there is one
            at = end + 1 if end >= 0 else len(markup)
        else:
            yield "<"
            at = opening + 1
    yield markup[at:]


def _past_declaration(markup: str, opening: int) -> int:
    closer = "-->" if markup.startswith("<!--", opening) else ">"
    end = markup.find(closer, opening + 2)
    return end + len(closer) if end >= 0 else len(markup)


def _raw_end(markup: str, name: str, at: int) -> int:
    found = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(markup, at)
    return found.start() if found else len(markup)


class _Writer:
    """Lines of text; blanks are joined as a browser does it."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._line: list[str] = []
        self._preformatted = 0

    def text(self, raw: str) -> None:
        text = _UNSEEN.sub("", html.unescape(_LONG_NUMBER.sub("\ufffd", raw)))
        if self._preformatted:
            first, *more = text.split("\n")
            self._line.append(first)
            for line in more:
                self._end_line()
                self._line.append(line)
        elif text:
            self._line.append(_SPACES.sub(" ", text))

    def tag(self, tag: _Tag) -> None:
        if tag.name in _BLOCKS:
            self._end_line()
            if tag.name in _PARAGRAPHS:
                self._lines.append("")
        if tag.name == "pre":
            self._preformatted = max(0, self._preformatted + (-1 if tag.closes else 1))
        elif tag.name == "li" and not tag.closes:
            self._line.append("- ")
        elif tag.name in _CELLS and not tag.closes:
            self._line.append(" | ")
        elif tag.name == "img":
            self.text(dict(_attributes(tag)).get("alt", ""))

    def finished(self) -> str:
        self._end_line()
        kept = [
            line
            for i, line in enumerate(self._lines)
            if line or (i and self._lines[i - 1])  # one empty line at a time
        ]
        return "\n".join(kept).strip("\n")

    def _end_line(self) -> None:
        line = "".join(self._line)
        self._line = []
        if not self._preformatted:
            line = _SPACES.sub(" ", line).strip().removeprefix("| ")
        if line.strip(" -|"):
            self._lines.append(line.rstrip())
