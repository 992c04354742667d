"""What became of every character of a reply."""

from __future__ import annotations

from fallback.messages import Segment, SegmentKind


class Evidence:
    """Collects the segments of one reply, in order, and what is to be said of shown text.

    Text is handed on before it is known what it was, so that is added at the end.
    """

    def __init__(self) -> None:
        self._segments: list[Segment] = []
        self._marks: list[Segment] = []

    def add(self, kind: SegmentKind, start: int, end: int, note: str = "") -> None:
        """The next characters; what is of one kind and one note is one segment, but for calls."""
        if self._segments and kind != "call":
            last = self._segments[-1]
            if last.kind == kind and last.end == start and last.note == note:
                self._segments[-1] = Segment(kind, last.start, end, note)
                return
        self._segments.append(Segment(kind, start, end, note))

    def mark(self, kind: SegmentKind, start: int, end: int, note: str) -> None:
        """Shown text that is ``masked`` or a ``candidate``, and why."""
        self._marks.append(Segment(kind, start, end, note))

    def segments(self) -> tuple[Segment, ...]:
        """All of them, with the text cut where something is to be said of it."""
        if not self._marks:
            return tuple(self._segments)
        marks = sorted(self._marks, key=lambda mark: mark.start)
        cut: list[Segment] = []
        first = 0
        for segment in self._segments:
            if segment.kind != "text":
                cut.append(segment)
                continue
            while first < len(marks) and marks[first].end <= segment.start:
                first += 1
            _cut(segment, marks, first, cut)
        return tuple(cut)


def _cut(text: Segment, marks: list[Segment], first: int, cut: list[Segment]) -> None:
    """One segment of text as pieces; of marks that overlap the earlier one counts."""
    at = text.start
    while first < len(marks) and marks[first].start < text.end:
        mark = marks[first]
        first += 1
        start, end = max(at, mark.start), min(mark.end, text.end)
        if start >= end:
            continue
        if start > at:
            cut.append(Segment("text", at, start))
        cut.append(Segment(mark.kind, start, end, mark.note))
        at = end
    if at < text.end:
        cut.append(Segment("text", at, text.end))
