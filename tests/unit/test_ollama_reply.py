from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from typing import Any, Literal

import pytest

from fallback.backend import Chunk
from fallback.errors import BackendProtocolError, ContextWindowError
from fallback.messages import Usage
from fallback.ollama.failures import Asked
from fallback.ollama.reply import Guard, LineSplitter, ReplyReader, decode_line

ASKED = Asked(where="http://gpu:11434", model="m", num_ctx=4096)


def reader(kind: Literal["generate", "chat"] = "generate", **more: Any) -> ReplyReader:
    ticks = itertools.count()
    given: dict[str, Any] = {"path": "p", "asked": ASKED, "limit": 1000}
    return ReplyReader(kind, clock=lambda: float(next(ticks)), **(given | more))


def lines(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def read(data: Iterable[bytes] | bytes, **more: Any) -> list[Chunk]:
    given = reader(**more)
    pieces = [data] if isinstance(data, bytes) else data
    chunks = [chunk for piece in pieces for chunk in given.feed(piece)]
    return chunks + list(given.close())


DONE = {"response": "", "done": True, "done_reason": "stop"}


def test_a_generated_reply_is_read_as_it_streams() -> None:
    given = reader()
    assert [c.text for c in given.feed(lines({"response": "Hel", "done": False}))] == ["Hel"]
    assert [c.text for c in given.feed(b'{"response":"lo","done":fal')] == []
    assert [c.text for c in given.feed(b"se}\n")] == ["lo"]
    assert not given.done
    (last,) = given.feed(lines(DONE))
    assert (last.done, last.finish_reason, last.path) == (True, "stop", "p")
    assert given.done
    assert list(given.close()) == []


def test_the_figures_are_in_tokens_and_seconds() -> None:
    final = DONE | {
        "total_duration": 2_500_000_000,
        "load_duration": 1_000_000_000,
        "prompt_eval_count": 301,
        "prompt_eval_duration": 500_000_000,
        "eval_count": 5,
        "cached_tokens": 290,
    }
    assert read(lines({"response": "x", "done": False}, final))[-1].usage == Usage(
        prompt_tokens=301,
        cached_tokens=290,
        completion_tokens=5,
        seconds=2.5,
        load_seconds=1.0,
        prompt_seconds=0.5,
        first_token_seconds=1.0,
    )


def test_figures_that_are_missing_or_absurd_count_as_nothing() -> None:
    final = DONE | {"eval_count": -3, "prompt_eval_count": "many", "total_duration": True}
    assert read(lines(final))[-1].usage == Usage()


def test_a_chat_is_read_from_its_message() -> None:
    first = {"message": {"role": "assistant", "content": "Hi", "thinking": "hm"}, "done": False}
    last = {"message": {"role": "assistant", "content": ""}, "done": True}
    chunks = read(lines(first, last), kind="chat")
    assert (chunks[0].text, chunks[0].thinking) == ("Hi", "hm")
    assert chunks[-1].finish_reason == "stop"


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"id": f"call_{name}", "function": {"index": 0, "name": name, "arguments": arguments}}


def test_calls_are_collected_from_every_chunk_the_last_one_included() -> None:
    chunks = read(
        lines(
            {"message": {"content": "", "tool_calls": [call("a", x=1)]}, "done": False},
            {"message": {"content": "", "tool_calls": [call("b"), call("c")]}, "done": True},
        ),
        kind="chat",
    )
    calls = [dict(entry) for chunk in chunks for entry in chunk.tool_calls]
    assert calls == [
        {"id": "call_a", "name": "a", "arguments": {"x": 1}},
        {"id": "call_b", "name": "b", "arguments": {}},
        {"id": "call_c", "name": "c", "arguments": {}},
    ]
    assert chunks[-1].finish_reason == "tool_call"


def test_a_call_in_an_early_chunk_decides_the_finish_reason_of_the_last() -> None:
    chunks = read(
        lines(
            {"message": {"tool_calls": [call("a")]}, "done": False},
            {"message": {"content": ""}, "done": True, "done_reason": "stop"},
        ),
        kind="chat",
    )
    assert chunks[-1].finish_reason == "tool_call"


def test_a_cut_reply_stays_cut_even_with_calls() -> None:
    final = {"message": {"tool_calls": [call("a")]}, "done": True, "done_reason": "length"}
    assert read(lines(final), kind="chat")[-1].finish_reason == "length"


@pytest.mark.parametrize(
    ("reported", "read_as"),
    [
        ({"function": {"name": "a", "arguments": "{}"}}, {"name": "a", "arguments": "{}"}),
        ({"name": "a", "arguments": {}}, {"name": "a", "arguments": {}}),
        ({"function": None}, {"name": "", "arguments": None}),
        ("a()", {"name": "", "arguments": None}),
        ({"function": {"name": None}}, {"name": "", "arguments": None}),
    ],
)
def test_a_malformed_call_is_kept_for_validation(reported: Any, read_as: dict[str, Any]) -> None:
    final = {"message": {"tool_calls": [reported]}, "done": True}
    (chunk,) = read(lines(final), kind="chat")
    assert [dict(entry) for entry in chunk.tool_calls] == [read_as]


def test_tool_calls_that_are_no_list_are_none() -> None:
    (chunk,) = read(lines({"message": {"tool_calls": "a()"}, "done": True}), kind="chat")
    assert chunk.tool_calls == ()


def test_empty_lines_and_empty_chunks_are_left_out() -> None:
    data = b"\n\r\n  \n" + lines({"response": "", "done": False}, DONE) + b"\n\n"
    (only,) = read(data)
    assert only.done


def test_what_follows_the_last_chunk_is_not_read() -> None:
    given = reader()
    data = lines(DONE) + b"garbage\n" + b"x" * 5000
    assert [chunk.done for chunk in given.feed(data)] == [True]
    assert list(given.feed(b"more garbage\n")) == []
    assert list(given.close()) == []


def test_a_last_line_without_a_line_break_counts() -> None:
    assert read(lines(DONE).rstrip())[-1].done


def test_a_character_cut_in_two_is_whole_again() -> None:
    whole = b'{"response":"\xc3\xa9\xe2\x82\xac","done":true}\n'
    for cut in range(len(whole)):
        assert read([whole[:cut], whole[cut:]])[0].text == "é€"


def test_html_escapes_of_the_server_are_undone() -> None:
    assert read(b'{"response":"\\u003ctag\\u003e \\u0026","done":true}')[0].text == "<tag> &"


def test_half_a_surrogate_pair_is_replaced() -> None:
    assert read(b'{"response":"a\\ud83db\\ud83d\\ude00","done":true}')[0].text == "a�b😀"


# Failures -----------------------------------------------------------------------------------------


def test_an_error_line_raises_after_what_had_come() -> None:
    given = reader()
    chunks = given.feed(lines({"response": "x", "done": False}, {"error": "runner stopped"}))
    assert next(chunks).text == "x"
    with pytest.raises(BackendProtocolError, match="runner stopped"):
        next(chunks)


def test_an_overflow_in_the_middle_of_a_stream_is_told_as_one() -> None:
    inner = {"error": {"type": "exceed_context_size_error", "n_prompt_tokens": 9, "n_ctx": 8}}
    with pytest.raises(ContextWindowError) as caught:
        read(lines({"error": json.dumps(inner)}))
    assert (caught.value.prompt_tokens, caught.value.num_ctx) == (9, 8)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        lines({"response": "Hel", "done": False}),
        lines({"response": "Hello", "done": False, "done_reason": None}),
        lines({"response": "x", "done": "true"}),
        lines({"response": "x", "done": 1}),
    ],
)
def test_a_reply_that_is_not_done_is_a_failure(data: bytes) -> None:
    with pytest.raises(BackendProtocolError, match="ended before it was done") as caught:
        read(data)
    for word in ("'m'", "crashed", "memory", "see the log of http://gpu:11434"):
        assert word in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [
        b"<html>",
        b"[1]\n",
        b'"text"\n',
        b"{broken\n",
        b"\xff\xfe\n",
        b"[" * 900 + b"\n",
        b"data: {}\n",
    ],
)
def test_a_line_that_is_no_object_is_no_reply_of_ollama(data: bytes) -> None:
    with pytest.raises(BackendProtocolError, match="does not speak Ollama's API") as caught:
        read(data)
    assert len(str(caught.value)) < 400


def test_a_model_that_was_only_loaded_has_not_replied() -> None:
    with pytest.raises(BackendProtocolError, match="only loaded 'm': the prompt was empty"):
        read(lines({"response": "", "done": True, "done_reason": "load"}))


def test_a_line_without_end_is_refused_before_it_fills_the_memory() -> None:
    given = reader(limit=100)
    for _ in range(10):
        list(given.feed(b"x" * 10))
    with pytest.raises(BackendProtocolError, match=r"more than 100 bytes \(limit max_line_bytes\)"):
        list(given.feed(b"x"))


# Reasoning ----------------------------------------------------------------------------------------


def test_the_first_chunk_says_that_the_prompt_opened_the_reasoning() -> None:
    data = lines({"response": "", "done": False}, {"response": "hm", "done": False}, DONE)
    assert [chunk.reasoning_open for chunk in read(data, opened=True)] == [True, False]
    assert [chunk.reasoning_open for chunk in read(data)] == [False, False]


def test_a_server_that_splits_thinking_off_has_read_the_opening_tag_already() -> None:
    data = lines(
        {"response": "", "thinking": "hm", "done": False}, {"response": "x", "done": False}, DONE
    )
    assert not any(chunk.reasoning_open for chunk in read(data, opened=True))


# Servers that cut silently ------------------------------------------------------------------------


@pytest.mark.parametrize("count", [2050, 2051])
def test_a_prompt_that_an_old_server_has_cut_is_noticed(count: int) -> None:
    final = DONE | {"prompt_eval_count": count}
    with pytest.raises(ContextWindowError, match=r"update Ollama to 0\.12\.6") as caught:
        read(lines(final), guard=Guard(4096, 60_000))
    assert caught.value.num_ctx == 4096


@pytest.mark.parametrize(("count", "chars"), [(2049, 60_000), (2050, 7_000), (0, 60_000)])
def test_a_prompt_that_fits_is_not_taken_for_a_cut_one(count: int, chars: int) -> None:
    assert read(lines(DONE | {"prompt_eval_count": count}), guard=Guard(4096, chars))[-1].done


# Lines --------------------------------------------------------------------------------------------


def test_lines_end_at_line_feeds_and_nowhere_else() -> None:
    splitter = LineSplitter(100)
    data = "a\u2028b\x0bc\x85d\re\n".encode()
    assert list(splitter.feed(data)) == [data[:-1]]


def test_a_line_is_decoded_to_an_object() -> None:
    assert decode_line(b'{"a": 1}', "w") == {"a": 1}
    with pytest.raises(BackendProtocolError, match="w does not speak"):
        decode_line(b"9" * 5000, "w")


def test_the_beginning_of_a_reply_is_told_once_with_its_first_piece() -> None:
    data = lines({"response": '"Oslo"', "done": False}, {"response": "}", "done": False}, DONE)
    chunks = read(data, prefill='{"city": ')
    assert [(c.prefill, c.text) for c in chunks] == [('{"city": ', '"Oslo"'), ("", "}"), ("", "")]


def test_a_reply_that_is_begun_and_not_continued_is_told_all_the_same() -> None:
    assert [c.prefill for c in read(lines(DONE), prefill="{")] == ["{"]


def test_the_window_is_told_with_the_last_piece() -> None:
    chunks = read(lines({"response": "x", "done": False}, DONE))
    assert [c.num_ctx for c in chunks] == [None, 4096]
