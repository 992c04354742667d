"""Worked examples of one's own: files of them, and which of them are worth their place."""

from fallback.examples.file import load_examples, read_examples, written
from fallback.examples.selecting import Judged, Selection, select
from fallback.rendering.examples import Example

__all__ = [
    "Example",
    "Judged",
    "Selection",
    "load_examples",
    "read_examples",
    "select",
    "written",
]
