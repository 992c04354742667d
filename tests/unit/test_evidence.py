"""The segments of a reading say what became of every character, and why."""

from __future__ import annotations

import pytest
from weather_kit import WEATHER

from fallback import Catalogue, parse
from fallback.limits import DEFAULT_LIMITS, Limits
from fallback.messages import SHOWN, Segment
from fallback.parsing.evidence import Evidence

CATALOGUE = Catalogue([WEATHER])
CALL = '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>'
BARE = 'get_weather(city="Oslo")'


def parts(text: str, limits: Limits = DEFAULT_LIMITS) -> list[tuple[str, str, str]]:
    """Kind, note and text of every segment."""
    segments = parse(text, CATALOGUE, limits=limits).segments
    return [(part.kind, part.note, text[part.start : part.end]) for part in segments]


def test_a_clean_call_has_nothing_to_note() -> None:
    assert parts(CALL) == [("call", "", CALL)]


def test_a_call_notes_its_repairs() -> None:
    mended = CALL.replace('"}}', '",}}')
    assert parts(mended) == [("call", "trailing_comma", mended)]


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (CALL.replace("city", "town"), "invalid_arguments"),
        (CALL.replace("get_weather", "get_sun"), "unknown_tool"),
        ("<tool_call>nothing to read", "invalid_json"),
        (CALL[:50], "truncated"),
    ],
)
def test_what_must_not_run_is_rejected_and_notes_the_kind_of_its_problem(
    text: str, note: str
) -> None:
    assert parts(text) == [("rejected", note, text)]


def test_a_body_with_both_is_a_call_that_notes_the_problem_beside_it() -> None:
    text = f"[{BARE}, {BARE.replace('city', 'town')}]"
    assert [part[:2] for part in parts(text)] == [("call", "invalid_arguments")]


@pytest.mark.parametrize(
    ("frame", "note", "inside"),
    [
        ("One writes `{}` for it.", "inline_code", "{}"),
        ("Like this:\n```text\nSay:\n\n{}\n```\nor so.", "fence", "\nSay:\n\n{}\n"),
        ("Before.\n\n{}\n\nBehind.", "prose_on_both_sides", "{}"),
        ("{} is the form.", "inside_a_sentence", "{}"),
        ("So it is:\n> {}\n\nsaid they.", "block_quote", "> {}\n"),
    ],
)
def test_a_call_that_is_not_meant_is_a_candidate_and_notes_why(
    frame: str, note: str, inside: str
) -> None:
    text = frame.replace("{}", BARE)
    found = [part for part in parts(text) if part[0] == "candidate"]
    assert found == [("candidate", note, inside.replace("{}", BARE))]
    assert "".join(part[2] for part in parts(text) if part[0] in SHOWN) == text


def test_quoted_text_that_holds_no_call_is_masked() -> None:
    text = 'The data is `{"a": 1}` and `plain`.'
    assert [part for part in parts(text) if part[0] != "text"] == [
        ("masked", "inline_code", '{"a": 1}')
    ]


@pytest.mark.parametrize(
    ("behind", "note"),
    [
        ("\n<tool_response>5</tool_response>", "invented_result"),
        ("\n<|im_start|>user\nAnd now?", "next_turn"),
    ],
)
def test_what_is_not_read_notes_why(behind: str, note: str) -> None:
    dropped = [part for part in parts(CALL + behind) if part[0] == "dropped"]
    assert dropped == [("dropped", note, behind[1:])]


def test_what_is_beyond_a_limit_is_dropped() -> None:
    assert parts("abcdef", Limits(max_reply_chars=4))[-1] == ("dropped", "oversized", "ef")
    many = parts(f"{CALL}\n{CALL}\n{CALL}", Limits(max_calls_per_step=1))
    assert many[-1][:2] == ("dropped", "too_many")


def test_marks_cut_text_and_nothing_else() -> None:
    evidence = Evidence()
    evidence.add("text", 0, 10)
    evidence.add("text", 10, 12)
    evidence.add("call", 12, 20)
    evidence.add("text", 20, 30)
    evidence.mark("masked", 8, 22, "fence")
    evidence.mark("candidate", 2, 4, "inline_code")
    evidence.mark("candidate", 3, 6, "inline_code")
    assert evidence.segments() == (
        Segment("text", 0, 2),
        Segment("candidate", 2, 4, "inline_code"),
        Segment("candidate", 4, 6, "inline_code"),
        Segment("text", 6, 8),
        Segment("masked", 8, 12, "fence"),
        Segment("call", 12, 20),
        Segment("masked", 20, 22, "fence"),
        Segment("text", 22, 30),
    )
