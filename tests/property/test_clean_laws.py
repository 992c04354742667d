"""What is recognised at once is what the scanner would have said."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from property.test_mend_laws import slips
from property.test_parser_laws import CATALOGUE, FINISH, TEXTS

from fallback import Parser, Reading, parse
from fallback.messages import FinishReason


def scanned(text: str, finish: FinishReason) -> Reading:
    parser = Parser(CATALOGUE)
    parser.feed(text)
    parser.close(finish)
    return parser.reading


@given(text=TEXTS | st.text(max_size=60), finish=FINISH)
@example(text=">>>all\n", finish="stop")
def test_any_text_is_read_the_same(text: str, finish: FinishReason) -> None:
    assert parse(text, CATALOGUE, finish) == scanned(text, finish)


FRAMES = st.sampled_from(
    [
        "{}",
        "```tool_call\n{}\n```",
        "```tool_call\n{}```",
        "<tool_call>{}</tool_call>",
        "<tool_call>\n{}\n</tool_call>",
        "<tool_call>\n{}\n</tool_call>\n",
        "<tool_call>{}}] }</tool_call>",
        "```tool_call\n{} }\n\n```",
        " {}",
        "{}}",
    ]
)
CALLS = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["get_weather", "Get-Weather", "now", "nope", ""]),
        "arguments": st.dictionaries(
            st.sampled_from(["city", "days", "x"]),
            st.text(max_size=8) | st.integers() | st.floats(allow_nan=False) | st.none(),
            max_size=3,
        )
        | st.just("{}"),
    }
)


@given(
    call=CALLS,
    frame=FRAMES,
    finish=FINISH,
)
def test_any_call_is_read_the_same(call: dict[str, Any], frame: str, finish: FinishReason) -> None:
    text = frame.replace("{}", json.dumps(call, ensure_ascii=False))
    assert parse(text, CATALOGUE, finish) == scanned(text, finish)


@given(call=CALLS, frame=FRAMES, data=st.data(), finish=FINISH)
def test_any_call_with_slips_is_read_the_same(
    call: dict[str, Any], frame: str, data: st.DataObject, finish: FinishReason
) -> None:
    text = frame.replace("{}", slips(json.dumps(call, ensure_ascii=False), data), 1)
    assert parse(text, CATALOGUE, finish) == scanned(text, finish)
