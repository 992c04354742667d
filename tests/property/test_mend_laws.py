"""What is mended in one pass is what the reader of everything would have made of it."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fallback.parsing.framing import Framer
from fallback.parsing.lenient import read_value
from fallback.parsing.malformed import MalformedError
from fallback.parsing.mend import mend
from fallback.parsing.strict import DuplicateKeyError

PIECES = [
    "{", "}", "[", "]", "(", ")", ",", ":", '"a"', "'b'", '"', "'", '"""', "''", "“c”", "“", "a",
    "true", "True", "None", "null", "x_y", "1", "-2.5e3", "007", "1abc", "+5", "1_0", ".5", "5.",
    "/* c */", "// d\n", "/*", "//", "# e\n", '"\\n"', '"\\q"', "'\\''", '"\n"', "\\_", "r'x'", "=",
    " ", "\n", "\u00a0", "\ufeff", "é", "-", ".", "**", ";", "<", "`", '"it\'s"', "'say \"x\"'",
]  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


def slips(text: str, data: st.DataObject) -> str:
    """A few slips in a text that was JSON."""
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(text)))
        text = data.draw(
            st.sampled_from(
                [
                    text[:at] + data.draw(st.sampled_from(PIECES)) + text[at:],
                    text[:at] + text[at + 1 :],
                    text.replace('"', "'"),
                    text.replace("true", "True").replace("null", "None"),
                    text.replace("}", ",}"),
                    text.replace(", ", " "),
                ]
            )
        )
    return text


def agree(text: str) -> None:
    """The frame of the text is read the same both ways, as far as one pass reads it."""
    framer = Framer(128)
    framer.feed(text)
    end = len(text) if framer.end is None else framer.end
    found = mend(text, 0, end)
    if found is None or framer.fault or (framer.end is None and framer.open_string):
        return
    value, repairs, surplus = found
    if surplus:
        return
    try:
        expected: Any = read_value(text, 0, end)
    except (MalformedError, DuplicateKeyError) as error:
        raise AssertionError(f"{text!r} is refused: {error}") from error
    assert (json.dumps(value), repairs) == (json.dumps(expected[0]), expected[1])


@given(pieces=st.lists(st.sampled_from(PIECES), max_size=14))
def test_any_pieces_are_mended_as_the_reader_reads_them(pieces: list[str]) -> None:
    agree("{" + "".join(pieces))
    agree("[" + "".join(pieces))


@given(value=VALUES, data=st.data())
def test_any_slips_are_mended_as_the_reader_reads_them(value: Any, data: st.DataObject) -> None:
    agree(slips("[" + json.dumps(value, ensure_ascii=data.draw(st.booleans())) + "]", data))
