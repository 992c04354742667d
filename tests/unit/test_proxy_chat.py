"""Chat completions through the gateway, with a scripted model behind it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from proxy_models import ADD, QUESTION
from scripted_upstream import Scripted

from fallback.errors import (
    BackendConnectionError,
    BackendProtocolError,
    CapabilityError,
    ContextWindowError,
)
from fallback.proxy.gateway import Gateway
from fallback.proxy.http import Incoming
from fallback.proxy.settings import ModelSettings, Settings

PATH = "/v1/chat/completions"
CALL = '```tool_call\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n```'
WRONG = '```tool_call\n{"name": "add", "arguments": {"a": "one", "b": 2}}\n```'


def asked(upstream: Scripted, settings: Settings | None = None, /, **body: Any) -> tuple[int, str]:
    """Status and body of one request."""

    async def run() -> tuple[int, str]:
        server: Any = upstream
        gateway = Gateway(settings or Settings(), upstream=server)
        request = {"model": "m", "messages": [QUESTION], "tools": [ADD], **body}

        async def pieces() -> AsyncIterator[bytes]:
            yield json.dumps(request).encode()

        reply = await gateway.handle(Incoming("POST", PATH, body=pieces()))
        try:
            if isinstance(reply.body, bytes):
                return reply.status, reply.body.decode()
            return reply.status, b"".join([piece async for piece in reply.body]).decode()
        finally:
            await reply.close()

    return asyncio.run(run())


def message(upstream: Scripted, settings: Settings | None = None, /, **body: Any) -> Any:
    status, text = asked(upstream, settings, **body)
    assert status == 200, text
    choice = json.loads(text)["choices"][0]
    return choice["message"] | {"finish_reason": choice["finish_reason"]}


def deltas(upstream: Scripted, settings: Settings | None = None, /, **body: Any) -> list[Any]:
    status, text = asked(upstream, settings, stream=True, **body)
    assert status == 200, text
    events = text.split("\n\n")
    assert events.pop() == ""
    assert events.pop() == "data: [DONE]"
    return [json.loads(event.removeprefix("data: ")) for event in events]


def test_a_call_leaves_as_json_text_under_an_id_of_its_own_beside_the_prose() -> None:
    reply = message(Scripted(f"Let me see.\n\n{CALL}\n5 it is"))
    (call,) = reply["tool_calls"]
    assert reply["content"] == "Let me see."
    assert reply["finish_reason"] == "tool_calls"
    assert call["function"]["name"] == "add"
    assert json.loads(call["function"]["arguments"]) == {"a": 1, "b": 2}
    assert call["id"].startswith("call_")


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_calls_are_streamed_whole_with_a_rising_index_after_the_text(size: int) -> None:
    two = CALL.replace('"b": 2', '"b": 5')
    events = deltas(Scripted(f"Now. {CALL}\n{two}\n", chunk_size=size))
    choices = [event["choices"][0] for event in events]
    assert choices[0]["delta"] == {"role": "assistant", "content": ""}
    assert "".join(c["delta"].get("content", "") for c in choices) == "Now."
    calls = [c["delta"]["tool_calls"][0] for c in choices if "tool_calls" in c["delta"]]
    assert [call["index"] for call in calls] == [0, 1]
    assert len({call["id"] for call in calls}) == 2
    assert [json.loads(c["function"]["arguments"])["b"] for c in calls] == [2, 5]
    assert [c["finish_reason"] for c in choices[:-1]] == [None] * (len(choices) - 1)
    assert choices[-1]["finish_reason"] == "tool_calls"


def test_the_model_is_not_heard_any_further_than_its_first_batch_of_calls() -> None:
    upstream = Scripted(f"{CALL}\n{'It is three. ' * 500}", chunk_size=8)
    message(upstream)
    assert len(upstream.model.delivered[0]) < 200


def test_prose_streams_to_the_last_blank() -> None:
    events = deltas(Scripted("It is 3. \n", chunk_size=2), stream_options={"include_usage": True})
    told = [e["choices"][0]["delta"].get("content", "") for e in events if e["choices"]]
    assert "".join(told) == "It is 3. \n"
    assert len(told) > 3
    assert events[-1]["choices"] == []
    assert events[-1]["usage"]["completion_tokens"] == 5


def test_a_wrong_call_is_corrected_out_of_the_client_s_sight() -> None:
    upstream = Scripted(f"Adding. {WRONG}", f"Sorry. {CALL}")
    reply = message(upstream)
    assert reply["content"] == "Adding."
    assert json.loads(reply["tool_calls"][0]["function"]["arguments"]) == {"a": 1, "b": 2}
    assert "$.a" in upstream.model.requests[1].messages[-1].content


def test_what_could_not_be_corrected_is_text_and_never_an_error() -> None:
    reply = message(Scripted(f"Adding. {WRONG}", WRONG))
    assert "tool_calls" not in reply
    assert reply["finish_reason"] == "stop"
    assert '"one"' in reply["content"]


def test_what_a_server_reports_and_nobody_can_use_is_text_too() -> None:
    calls = [{"name": "subtract", "arguments": {"a": 1}}]
    upstream = Scripted(*[{"tool_calls": calls}] * 2, capabilities=["tools"])
    reply = message(upstream)
    assert "tool_calls" not in reply
    assert "subtract" in reply["content"]


def test_reasoning_stays_out_of_what_could_not_be_corrected() -> None:
    reply = message(Scripted(*[f"<think>hush</think>Adding. {WRONG}"] * 2))
    assert "hush" not in reply["content"]
    assert "<think>" not in reply["content"]
    assert '"one"' in reply["content"]


def test_without_corrections_nothing_is_asked_twice() -> None:
    upstream = Scripted(WRONG)
    reply = message(upstream, Settings(default=ModelSettings(corrections=0)))
    assert '"one"' in reply["content"]
    assert upstream.model.remaining == 0


def test_a_demanded_call_is_asked_for_again_and_then_refused_as_the_client_s_error() -> None:
    upstream = Scripted("It is 3.", "Really, 3.")
    status, text = asked(upstream, tool_choice="required")
    assert status == 422
    assert json.loads(text)["error"]["code"] == "tool_use_failed"
    assert upstream.model.remaining == 0


def test_a_demanded_call_that_comes_late_is_a_call() -> None:
    named = {"type": "function", "function": {"name": "add"}}
    reply = message(Scripted("It is 3.", CALL), tool_choice=named)
    assert reply["tool_calls"][0]["function"]["name"] == "add"


def test_no_choice_means_no_tools_in_the_prompt_and_nothing_read() -> None:
    upstream = Scripted(CALL)
    reply = message(upstream, tool_choice="none")
    assert reply["content"] == CALL
    assert "add" not in upstream.model.requests[0].messages[0].content.replace("1 + 2", "")


def test_only_the_first_call_is_kept_where_one_at_a_time_is_wanted() -> None:
    reply = message(Scripted(f"{CALL}\n{CALL}"), parallel_tool_calls=False)
    assert len(reply["tool_calls"]) == 1


def test_a_stop_string_ends_the_text_and_not_a_call() -> None:
    assert message(Scripted("One. Observation: two"), stop=["Observation:"])["content"] == "One. "
    reply = message(Scripted(CALL.replace("1,", "1,  ")), stop=["arguments"])
    assert len(reply["tool_calls"]) == 1


def test_a_native_model_that_is_refused_tools_is_asked_in_prompt_mode() -> None:
    refused = CapabilityError("no tools", status=400, missing="tools")
    upstream = Scripted(refused, CALL, capabilities=["tools"])
    assert message(upstream)["tool_calls"][0]["function"]["name"] == "add"
    assert [request.mode for request in upstream.model.requests] == ["native", "prompt"]


def test_a_native_call_keeps_neither_a_server_s_id_nor_its_wrong_name() -> None:
    calls = [
        {"id": "0", "name": "add", "arguments": {"a": 1, "b": 2}},
        {"id": "0", "name": "add", "arguments": {"a": 3, "b": 4}},
        {"id": "1", "name": "subtract", "arguments": {}},
    ]
    reply = message(Scripted({"tool_calls": calls}, capabilities=["tools"]))
    assert [call["function"]["name"] for call in reply["tool_calls"]] == ["add", "add"]
    assert len({call["id"] for call in reply["tool_calls"]}) == 2


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (BackendConnectionError("nobody"), 503, "api_error"),
        (BackendProtocolError("half"), 502, "api_error"),
        (
            ContextWindowError("too long", status=400, prompt_tokens=9000, num_ctx=8192),
            400,
            "invalid_request_error",
        ),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_a_failure_before_the_first_word_has_its_own_status(
    error: Exception, status: int, kind: str, stream: bool
) -> None:
    found, text = asked(Scripted(error), stream=stream)
    told = json.loads(text)["error"]
    assert (found, told["type"]) == (status, kind)
    if isinstance(error, ContextWindowError):
        assert told["code"] == "context_length_exceeded"
        assert "maximum context length is 8192 tokens" in told["message"]


def test_an_empty_reply_is_asked_for_once_more_and_then_told() -> None:
    upstream = Scripted("", "")
    assert "no answer" in message(upstream)["content"]
    assert upstream.model.remaining == 0


def test_a_forced_form_without_tools_goes_to_the_server_and_into_the_prompt() -> None:
    schema = {"type": "object", "properties": {"title": {"type": "string"}}}
    upstream = Scripted('{"title": "x"}')
    wanted = {"type": "json_schema", "json_schema": {"name": "t", "schema": schema}}
    assert message(upstream, tools=[], response_format=wanted)["content"] == '{"title": "x"}'
    request = upstream.model.requests[0]
    assert request.format == schema
    assert '"title"' in request.messages[0].content


def test_a_forced_form_beside_tools_leaves_calls_possible_and_is_enforced_on_the_text() -> None:
    wanted = {"type": "json_object"}
    assert message(Scripted(CALL), response_format=wanted)["tool_calls"]
    upstream = Scripted("three", '{"sum": 3}')
    assert message(upstream, response_format=wanted)["content"] == '{"sum": 3}'
    assert [request.format is None for request in upstream.model.requests] == [True, False]


def test_a_legacy_function_is_answered_in_the_legacy_form() -> None:
    reply = message(Scripted(CALL), tools=None, functions=[ADD["function"]])
    assert reply["function_call"]["name"] == "add"
    assert reply["finish_reason"] == "function_call"


def test_reasoning_is_no_text() -> None:
    events = deltas(Scripted(f"<think>add them</think>{CALL}"))
    told = [event["choices"][0]["delta"] for event in events]
    assert "".join(delta.get("reasoning", "") for delta in told) == "add them"
    assert "".join(delta.get("content", "") for delta in told) == ""


LIVE = Settings(stream_arguments=True)


@pytest.mark.parametrize("size", [1, 4, 1000])
def test_arguments_can_be_told_while_they_are_written(size: int) -> None:
    two = CALL.replace('"b": 2', '"b": 5')
    events = deltas(Scripted(f"Now. {CALL}\n{two}\n", chunk_size=size), LIVE)
    pieces = [c for e in events for c in e["choices"][0]["delta"].get("tool_calls", ())]
    for index, wanted in enumerate(({"a": 1, "b": 2}, {"a": 1, "b": 5})):
        first, *rest = [piece for piece in pieces if piece["index"] == index]
        assert first["id"]
        assert first["function"] == {"name": "add", "arguments": ""}
        assert all("id" not in piece for piece in rest)
        assert json.loads("".join(piece["function"]["arguments"] for piece in rest)) == wanted
    assert events[-1]["choices"][0]["finish_reason"] == "tool_calls"


def test_a_call_that_was_told_and_is_none_ends_the_answer_as_an_error() -> None:
    _, text = asked(Scripted(WRONG, CALL, chunk_size=4), LIVE, stream=True)
    *_, error, done, rest = text.split("\n\n")
    assert json.loads(error.removeprefix("data: "))["error"]["code"] == "tool_use_failed"
    assert (done, rest) == ("data: [DONE]", "")
