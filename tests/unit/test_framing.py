"""A value decides itself where it ends, however it is cut into chunks."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallback.parsing.framing import Framer
from fallback.parsing.gemma import GemmaFramer

FRAMES = [
    '{"a": "}", "b": [1, 2, "]"]}',
    "[f(a=\"x)\", b='y]'), g()]",
    '{\'a\': """x"y}""", \'b\': \'\'}',
    '{"a": "C:\\\\", "b": /* } */ 1}',
    '{"u": https://x.y/z}',
    '("", \'\', """ """ )',
    '["a\\"b"]',
    '{"a": 1 // }\n}',
    '{"x": "a*/"}',
    "{“a}”: 1}",
    "{'''a'b''': 1}",
]


def follow(framer: Framer, chunks: list[str]) -> tuple[int | None, str, bool]:
    for chunk in chunks:
        if framer.feed(chunk):
            break
    return framer.end, framer.fault, framer.open_string


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("tail", ["", " tail", "}}", '"', "\n```\n"])
def test_the_end_is_behind_the_closing_bracket(frame: str, tail: str) -> None:
    assert follow(Framer(99), [frame + tail]) == (len(frame), "", False)
    assert follow(Framer(99), list(frame + tail)) == (len(frame), "", False)


@given(frame=st.sampled_from(FRAMES), places=st.lists(st.integers(0, 60), max_size=6))
def test_chunks_do_not_matter(frame: str, places: list[int]) -> None:
    text = frame + " tail"
    edges = [0, *sorted(place % len(text) for place in places), len(text)]
    assert follow(Framer(99), [text[a:b] for a, b in pairwise(edges)])[0] == len(frame)


@given(value=st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
).filter(lambda value: isinstance(value, (dict, list))))  # fmt: skip
def test_every_json_container_is_framed_exactly(value: Any) -> None:
    text = json.dumps(value)
    assert follow(Framer(999), [text, "]"])[0] == len(text)


@pytest.mark.parametrize("text", ['{"a": "b', "{'a", '{"a": """x"', '["', '{"a": "\\'])
def test_a_cut_inside_a_string_is_told_from_missing_closers(text: str) -> None:
    assert follow(Framer(99), [text]) == (None, "", True)
    assert follow(Framer(99), list(text)) == (None, "", True)


@pytest.mark.parametrize("text", ['{"a": "b"', "[1, 2", '{"a": ""', "{'a': /* } */ 1"])
def test_missing_closers_are_told_from_a_cut_inside_a_string(text: str) -> None:
    assert follow(Framer(99), list(text)) == (None, "", False)


@pytest.mark.parametrize("text", ['{"a": 1</tool_call>', '{"a": 1\n```', "[f(1), <x>]"])
def test_markup_outside_a_string_breaks_the_frame_off(text: str) -> None:
    framer = Framer(99)
    assert framer.feed(text)
    assert framer.fault == "markup"
    assert text[framer.fault_at] in "<`"


def test_depth_is_bounded() -> None:
    framer = Framer(10)
    assert framer.feed("[" * 11)
    assert (framer.end, framer.fault) == (None, "too_deep")


@pytest.mark.parametrize(
    "frame",
    ['{a:<|"|>x}y<|"|>,b:[1,{c:<|"|>"<|"|>}]}', "{a:<escape>{<escape>}", '{a:"}"}', "{}"],
)
def test_gemmas_strings_stand_between_tokens(frame: str) -> None:
    assert follow(GemmaFramer(99), [frame + "}"])[0] == len(frame)
    assert follow(GemmaFramer(99), list(frame + "}"))[0] == len(frame)
