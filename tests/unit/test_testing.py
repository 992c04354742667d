from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fallback.backend import Chunk, GenerationRequest
from fallback.errors import BackendTimeoutError, ConfigurationError, UsageError
from fallback.messages import Message
from fallback.testing import ScriptedBackend

REQUEST = GenerationRequest(
    model="m", mode="prompt", messages=(Message(role="user", content="Hi"),)
)


def texts(chunks: list[Chunk]) -> list[str]:
    return [chunk.text for chunk in chunks if chunk.text]


def test_replies_come_in_order_and_requests_are_kept() -> None:
    backend = ScriptedBackend(["one", "two"])
    assert texts(list(backend.stream(REQUEST))) == ["one"]
    assert backend.remaining == 1
    assert texts(list(backend.stream(REQUEST))) == ["two"]
    assert backend.requests == [REQUEST, REQUEST]
    assert backend.delivered == ["one", "two"]


def test_a_reply_can_be_streamed_in_pieces() -> None:
    backend = ScriptedBackend(["abcdefg"], chunk_size=3)
    chunks = list(backend.stream(REQUEST))
    assert texts(chunks) == ["abc", "def", "g"]
    assert [chunk.done for chunk in chunks] == [False, False, False, True]
    assert chunks[-1].finish_reason == "stop"
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == 3


def test_what_is_not_taken_is_not_delivered() -> None:
    backend = ScriptedBackend(["abcdefg"], chunk_size=3)
    stream = backend.stream(REQUEST)
    next(stream)
    stream.close()
    assert backend.delivered == ["abc"]


def test_native_calls_come_flat_with_the_last_piece() -> None:
    calls = [
        {"name": "a", "arguments": {"x": 1}},
        {"id": "c7", "type": "function", "function": {"name": "b", "arguments": "{}"}},
    ]
    (chunk,) = ScriptedBackend([{"tool_calls": calls}]).stream(REQUEST)
    assert chunk.tool_calls == (
        {"name": "a", "arguments": {"x": 1}},
        {"id": "c7", "name": "b", "arguments": "{}"},
    )
    assert chunk.finish_reason == "tool_call"


def test_thinking_and_the_finish_reason_can_be_given() -> None:
    reply = {"thinking": "hm", "content": "yes", "finish_reason": "length"}
    chunks = list(ScriptedBackend([reply]).stream(REQUEST))
    assert "".join(chunk.thinking for chunk in chunks) == "hm"
    assert chunks[-1].finish_reason == "length"


def test_usage_can_be_written_as_a_dict() -> None:
    reply = {"content": "", "usage": {"prompt_tokens": 10, "completion_tokens": 30}}
    *_, last = ScriptedBackend([reply]).stream(REQUEST)
    assert last.usage is not None
    assert (last.usage.prompt_tokens, last.usage.completion_tokens) == (10, 30)
    with pytest.raises(UsageError, match=r"fields of Usage.*tokens"):
        list(ScriptedBackend([{"usage": {"tokens": 1}}]).stream(REQUEST))


def test_an_exception_is_raised_in_place_of_a_reply() -> None:
    backend = ScriptedBackend([BackendTimeoutError("slow"), "then"])
    with pytest.raises(BackendTimeoutError):
        list(backend.stream(REQUEST))
    assert texts(list(backend.stream(REQUEST))) == ["then"]


def test_a_function_sees_the_request() -> None:
    backend = ScriptedBackend([lambda request: request.messages[-1].content.upper()])
    assert texts(list(backend.stream(REQUEST))) == ["HI"]


def test_one_reply_too_many_is_a_clear_error() -> None:
    backend = ScriptedBackend(["one"])
    list(backend.stream(REQUEST))
    with pytest.raises(UsageError, match="the script has 1 replies and one more was asked for"):
        list(backend.stream(REQUEST))


@pytest.mark.parametrize("reply", [{"text": "x"}, 5, None])
def test_a_reply_of_the_wrong_kind_is_a_clear_error(reply: Any) -> None:
    with pytest.raises(UsageError, match="a scripted reply is a string or a dict of content"):
        list(ScriptedBackend([reply]).stream(REQUEST))


def test_a_chunk_has_at_least_one_character() -> None:
    with pytest.raises(ConfigurationError, match="chunk_size"):
        ScriptedBackend([], chunk_size=0)


def test_the_async_side_says_the_same() -> None:
    async def collect() -> list[Chunk]:
        backend = ScriptedBackend(["abcdefg"], chunk_size=3)
        assert (await backend.adescribe("m")).capabilities == frozenset({"completion"})
        chunks = [chunk async for chunk in backend.astream(REQUEST)]
        await backend.aclose()
        return chunks

    assert asyncio.run(collect()) == list(
        ScriptedBackend(["abcdefg"], chunk_size=3).stream(REQUEST)
    )


def test_the_claimed_capabilities_are_described() -> None:
    info = ScriptedBackend([], capabilities=["tools"]).describe("m")
    assert info.capabilities == frozenset({"completion", "tools"})
