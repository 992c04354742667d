"""What befalls a reply: it is cut, doubled, joined, wrapped, requoted, stuffed."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from fallback.dialects import markers
from fallback.testing.pieces import PROSE, TRICKY


def _place(text: str, draw: st.DrawFn) -> int:
    return draw(st.integers(0, len(text)))


def _cut(text: str, draw: st.DrawFn) -> str:
    at = _place(text, draw)
    return text[:at] + text[at + draw(st.integers(1, 20)) :]


def _doubled(text: str, draw: st.DrawFn) -> str:
    at = _place(text, draw)
    return text[: at + draw(st.integers(1, 40))] + text[at:]


def _stuffed(text: str, draw: st.DrawFn) -> str:
    at = _place(text, draw)
    piece = draw(st.sampled_from(TRICKY) | st.sampled_from(sorted(markers.table())))
    return text[:at] + piece + text[at:]


def _ended(text: str, draw: st.DrawFn) -> str:
    return text[: _place(text, draw)]


def _told(text: str, draw: st.DrawFn) -> str:
    gap = draw(st.sampled_from([" ", "\n", "\n\n", ""]))
    pieces = [draw(st.sampled_from(PROSE)), text, draw(st.sampled_from((*PROSE, "")))]
    return gap.join(pieces)


def _wrapped(text: str, draw: st.DrawFn) -> str:
    marker = draw(st.sampled_from(markers.MARKERS))
    return marker.text + text + "".join(marker.closers[:1])


def _requoted(text: str, draw: st.DrawFn) -> str:
    return text.replace('"', draw(st.sampled_from(["'", "“", '\\"', ""])))


def _pythonised(text: str, draw: st.DrawFn) -> str:
    pairs = (("true", "True"), ("null", "None"), ("}", ",}"), (": ", "="))
    return text.replace(*draw(st.sampled_from(pairs)))


ACCIDENTS: tuple[Callable[[str, st.DrawFn], str], ...] = (
    _cut, _doubled, _stuffed, _ended, _told, _wrapped, _requoted, _pythonised,
)  # fmt: skip
