"""Laws of the adapter: any JSON is read, histories survive, streams say what wholes say."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallback.messages import Message, ToolCall, Usage
from fallback.proxy.ask import Ask, Refused
from fallback.proxy.events import (
    Answer,
    CallReady,
    Failure,
    Finished,
    ReasoningDelta,
    TextDelta,
    collected,
)
from fallback.proxy.gateway import WIRES
from fallback.proxy.history import History, PastCall
from fallback.proxy.noise import settled
from fallback.proxy.stops import StopFilter
from fallback.proxy.toolset import Toolbox
from fallback.proxy.wires import Wire
from fallback.proxy.wires.anthropic import AnthropicMessages
from fallback.proxy.wires.ollama import OllamaChat
from fallback.proxy.wires.openai_chat import OpenAIChat
from fallback.proxy.wires.responses import OpenAIResponses

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
WORDS = st.sampled_from(
    [
        *("model", "messages", "role", "content", "user", "assistant", "system", "tool", "text"),
        *("tools", "type", "function", "name", "arguments", "parameters", "tool_calls", "id"),
        *("tool_call_id", "tool_choice", "required", "stop", "format", "images", "input", "n"),
        *("max_tokens", "options", "json_schema", "schema", "response_format", "image_url", "url"),
        *("tool_use", "tool_result", "tool_use_id", "is_error", "source", "data", "document"),
        *("tool_reference", "tool_name", "input_schema", "custom", "defer_loading", "title"),
        *("function_call", "function_call_output", "custom_tool_call", "call_id", "output"),
        *("namespace", "message", "developer", "allowed_tools", "mode", "instructions"),
    ]
)
ANY = st.recursive(
    SCALARS | WORDS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(WORDS | st.text(max_size=5), inner, max_size=5)
    ),
    max_leaves=25,
)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "role": st.sampled_from(["user", "assistant", "tool", "system", "developer"]) | ANY,
            "content": ANY,
            "tool_calls": st.lists(
                st.fixed_dictionaries(
                    {}, optional={"id": ANY, "function": ANY, "name": ANY, "arguments": ANY}
                )
            )
            | ANY,
            "tool_call_id": ANY,
            "tool_name": ANY,
            "images": ANY,
        },
    ),
    max_size=4,
)
ITEMS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "type": WORDS | ANY,
            "role": WORDS | ANY,
            "content": ANY,
            "call_id": ANY,
            "name": ANY,
            "namespace": ANY,
            "arguments": ANY,
            "output": ANY,
        },
    ),
    max_size=4,
)
CHOICES = st.fixed_dictionaries(
    {}, optional={"type": st.sampled_from(["auto", "any", "tool", "none", "function"]), "name": ANY}
)
BODIES = st.fixed_dictionaries(
    {"model": st.just("m") | ANY, "messages": MESSAGES | ANY},
    optional={
        "tools": st.lists(st.fixed_dictionaries({"type": st.just("function"), "function": ANY}))
        | st.lists(st.fixed_dictionaries({"type": WORDS}, optional={"name": ANY, "tools": ANY}))
        | ANY,
        "input": ITEMS | ANY,
        "system": ANY,
        "instructions": ANY,
        "text": ANY,
        "functions": ANY,
        "tool_choice": CHOICES | ANY,
        "function_call": ANY,
        "parallel_tool_calls": ANY,
        "stream": ANY,
        "stream_options": ANY,
        "options": ANY,
        "stop": ANY,
        "format": ANY,
        "response_format": ANY,
        "think": ANY,
        "reasoning": ANY,
        "max_tokens": ANY,
        "thinking": ANY,
        "output_config": ANY,
        "keep_alive": ANY,
        "n": ANY,
    },
)


@pytest.mark.parametrize("wire", WIRES.values(), ids=lambda wire: wire.name)
@given(body=BODIES)
def test_any_json_is_read_or_refused_as_the_client_s_mistake(
    wire: Wire, body: dict[str, Any]
) -> None:
    before = json.dumps(body)
    ask: Ask | None = None
    failure: Failure | None = None
    try:
        ask = wire.decode(body, Toolbox())
    except Refused as refused:
        failure = refused.failure
    if failure is not None:
        assert 400 <= failure.status < 500
        json.dumps(wire.error(failure))
    elif ask is not None:
        assert all(isinstance(message.content, str) for message in ask.messages)
        choices = ("auto", "none", "required", *ask.catalogue.names)
        assert ask.tool_choice in choices
    assert json.dumps(body) == before


NAMES = st.sampled_from(["add", "read_file", "search"])
ARGUMENTS = st.dictionaries(st.text(max_size=5), SCALARS, max_size=3)
CALLS = st.lists(st.tuples(NAMES, ARGUMENTS), min_size=1, max_size=4)


@given(calls=CALLS, order=st.randoms(use_true_random=False), text=st.text(max_size=20))
def test_results_find_their_calls_by_id_in_any_order(
    calls: list[tuple[str, dict[str, Any]]], order: Any, text: str
) -> None:
    history = History()
    history.assistant(text, [PastCall(f"id{i}", name, a) for i, (name, a) in enumerate(calls)])
    numbers = list(range(len(calls)))
    order.shuffle(numbers)
    for number in numbers:
        history.result(f"result {number}", call_id=f"id{number}")
    for number, message in zip(numbers, history.messages[1:], strict=True):
        assert message.result is not None
        assert message.result.name == calls[number][0]
        assert message.result.content == f"result {number}"
    assert history.notes == ()


@given(calls=CALLS, repeated=st.booleans())
def test_results_without_an_identity_are_taken_in_order(
    calls: list[tuple[str, dict[str, Any]]], repeated: bool
) -> None:
    history = History()
    history.assistant("", [PastCall("0" if repeated else None, n, a) for n, a in calls])
    for _ in calls:
        history.result("r", call_id="0" if repeated else None)
    names = [message.result.name for message in history.messages[1:] if message.result]
    assert names == [name for name, _ in calls]


@given(calls=CALLS, as_text=st.booleans())
def test_arguments_mean_the_same_as_an_object_and_as_text(
    calls: list[tuple[str, dict[str, Any]]], as_text: bool
) -> None:
    history = History()
    past = [PastCall("x", n, json.dumps(a) if as_text else a) for n, a in calls]
    history.assistant("", past)
    (message,) = history.messages
    assert [call.arguments for call in message.tool_calls] == [a for _, a in calls]


@given(arguments=st.text().filter(lambda t: t.strip() and not t.strip().startswith("{")))
def test_malformed_old_arguments_are_told_as_text(arguments: str) -> None:
    history = History()
    history.assistant("Let me.", [PastCall("x", "add", arguments)])
    (message,) = history.messages
    assert not message.tool_calls
    assert "add" in message.content
    assert message.content.startswith("Let me.")


EVENTS = st.builds(
    lambda parts, calls, reason: [
        *parts,
        *(
            CallReady(i, ToolCall(id=f"c{i}", name=n, arguments=a))
            for i, (n, a) in enumerate(calls)
        ),
        Finished("tool_calls" if calls else reason, Usage(prompt_tokens=3, completion_tokens=4)),
    ],
    st.lists(
        st.builds(TextDelta, st.text(min_size=1)) | st.builds(ReasoningDelta, st.text(min_size=1))
    ),
    st.lists(st.tuples(NAMES, ARGUMENTS), max_size=3),
    st.sampled_from(["stop", "length"]),
)
ASK = Ask(wire="w", model="m", messages=(), include_usage=True)


@given(events=EVENTS)
def test_a_chat_stream_adds_up_to_the_whole_answer(events: list[Any]) -> None:
    wire = OpenAIChat()
    encoder = wire.stream(ASK)
    data = encoder.open() + encoder.keep_alive() + b"".join(map(encoder.encode, events))
    lines = data.decode().split("\n\n")
    assert lines[-2:] == ["data: [DONE]", ""]
    chunks = [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]
    answer = collected(events)
    assert isinstance(answer, Answer)
    whole = wire.whole(ASK, answer)
    message = whole["choices"][0]["message"]
    deltas = [c["choices"][0]["delta"] for c in chunks if c["choices"]]
    assert "".join(d.get("content", "") for d in deltas) == (message["content"] or "")
    assert "".join(d.get("reasoning", "") for d in deltas) == message.get("reasoning", "")
    calls = [call for d in deltas for call in d.get("tool_calls", ())]
    assert calls == message.get("tool_calls", [])
    assert [call["index"] for call in calls] == list(range(len(calls)))
    assert chunks[-1]["usage"] == whole["usage"]


@given(events=EVENTS)
def test_an_ollama_stream_adds_up_to_the_whole_answer(events: list[Any]) -> None:
    wire = OllamaChat()
    encoder = wire.stream(ASK)
    data = encoder.open() + encoder.keep_alive() + b"".join(map(encoder.encode, events))
    lines = [json.loads(line) for line in data.decode().split("\n")[:-1]]
    answer = collected(events)
    assert isinstance(answer, Answer)
    message = wire.whole(ASK, answer)["message"]
    assert "".join(line["message"]["content"] for line in lines) == message["content"]
    calls = [call for line in lines for call in line["message"].get("tool_calls", ())]
    assert calls == message.get("tool_calls", [])
    assert [line["done"] for line in lines] == [False] * (len(lines) - 1) + [True]


def named_events(data: bytes) -> list[dict[str, Any]]:
    """Events whose name is the type that stands in their data."""
    found = []
    for block in data.decode().removesuffix("\n\n").split("\n\n"):
        name, line = block.split("\n")
        found.append(json.loads(line.removeprefix("data: ")))
        assert name == f"event: {found[-1]['type']}"
    return found


@given(events=EVENTS)
def test_anthropic_s_blocks_never_overlap_and_add_up_to_the_whole_answer(events: list[Any]) -> None:
    wire = AnthropicMessages()
    encoder = wire.stream(ASK)
    data = encoder.open() + b"".join(encoder.encode(e) + encoder.keep_alive() for e in events)
    told = [event for event in named_events(data) if event["type"] != "ping"]
    blocks: list[dict[str, Any]] = []
    for event in told[1:-2]:
        assert event["index"] == len(blocks) - (event["type"] != "content_block_start")
        if event["type"] == "content_block_start":
            blocks.append({**event["content_block"], "written": "", "open": True})
        elif event["type"] == "content_block_delta":
            assert blocks[-1]["open"]
            (written,) = (v for k, v in event["delta"].items() if k != "type")
            blocks[-1]["written"] += written
        else:
            blocks[-1]["open"] = False
    answer = collected(events)
    assert isinstance(answer, Answer)
    whole = wire.whole(ASK, answer)
    by_kind = {kind: [b for b in blocks if b["type"] == kind] for kind in ("text", "thinking")}
    assert "".join(b["written"] for b in by_kind["text"]) == answer.text
    assert "".join(b["written"] for b in by_kind["thinking"]) == answer.reasoning
    calls = [b for b in blocks if b["type"] == "tool_use"]
    wholes = [b for b in whole["content"] if b["type"] == "tool_use"]
    assert [(b["id"], b["name"]) for b in calls] == [(b["id"], b["name"]) for b in wholes]
    assert [json.loads(b["written"]) for b in calls] == [b["input"] for b in wholes]
    assert not any(b["open"] for b in blocks)
    assert told[-2]["delta"]["stop_reason"] == whole["stop_reason"]
    assert told[-2]["usage"] == whole["usage"]
    assert told[-1] == {"type": "message_stop"}


@given(events=EVENTS)
def test_what_anthropic_s_wire_answered_is_read_again_as_what_it_was(events: list[Any]) -> None:
    wire = AnthropicMessages()
    answer = collected(events)
    assert isinstance(answer, Answer)
    content = wire.whole(ASK, answer)["content"]
    results = [
        {"type": "tool_result", "tool_use_id": block["id"], "content": block["name"]}
        for block in reversed(content)
        if block["type"] == "tool_use"
    ]
    messages = [{"role": "assistant", "content": content}, {"role": "user", "content": results}]
    said, *told = wire.decode({"model": "m", "messages": messages}, Toolbox()).messages
    assert said.content == (answer.text if answer.text.strip() else "")
    assert [(c.name, c.arguments) for c in said.tool_calls] == [
        (c.name, c.arguments) for c in answer.calls
    ]
    assert [m.result.name for m in told if m.result] == [m.content for m in told]
    assert len(told) == len(answer.calls)


@given(events=EVENTS)
def test_the_items_of_a_response_add_up_to_the_whole_answer(events: list[Any]) -> None:
    wire = OpenAIResponses()
    encoder = wire.stream(ASK)
    data = encoder.open() + b"".join(encoder.encode(e) + encoder.keep_alive() for e in events)
    told = named_events(data)
    assert [event["sequence_number"] for event in told] == list(range(len(told)))
    assert told[-1]["type"] == "response.in_progress"  # ours, behind the end
    last = told[-2]
    assert last["type"] == "response.completed"
    done: list[Any] = []
    written: dict[str, str] = {}
    for event in told[:-2]:
        if event["type"] == "response.in_progress":
            continue
        assert event.get("output_index", 0) == len(done)
        if event["type"].endswith("delta"):
            written[event["item_id"]] = written.get(event["item_id"], "") + event["delta"]
        elif event["type"] == "response.output_item.done":
            done.append(event["item"])
    assert last["response"]["output"] == done
    for item in done:
        parts = item.get("content") or item.get("summary")
        assert (parts[0]["text"] if parts else item["arguments"]) == written[item["id"]]
    answer = collected(events)
    assert isinstance(answer, Answer)
    whole = wire.whole(ASK, answer)
    for key in ("status", "usage", "incomplete_details"):
        assert last["response"][key] == whole[key]
    calls = [i for i in done if i["type"] == "function_call"]
    wholes = [i for i in whole["output"] if i["type"] == "function_call"]
    assert [{**i, "id": ""} for i in calls] == [{**i, "id": ""} for i in wholes]


@given(events=EVENTS, custom=st.booleans(), namespace=st.sampled_from(["", "calc"]))
def test_what_the_responses_wire_answered_is_read_again_as_what_it_was(
    events: list[Any], custom: bool, namespace: str
) -> None:
    wire = OpenAIResponses()
    kind = "custom" if custom else "function"
    tools: Any = [{"type": kind, "name": name} for name in ("add", "read_file", "search")]
    if namespace:
        tools = [{"type": "namespace", "name": namespace, "tools": tools}]
    ask = wire.decode({"model": "m", "input": "Hi", "tools": tools}, Toolbox())
    answer = collected(events)
    assert isinstance(answer, Answer)
    if custom:
        calls = tuple(replace(call, arguments={"input": call.id}) for call in answer.calls)
        answer = replace(answer, calls=calls)
    output = wire.whole(ask, answer)["output"]
    results = [
        {"type": f"{item['type']}_output", "call_id": item["call_id"], "output": item["name"]}
        for item in reversed(output)
        if "call_id" in item
    ]
    body = {"model": "m", "input": ["Hi", *output, *results], "tools": tools}
    _, *rest = wire.decode(body, Toolbox()).messages
    said = [message for message in rest if message.role == "assistant"]
    assert "".join(m.content for m in said) == (answer.text if answer.text.strip() else "")
    assert [(c.name, c.arguments) for m in said for c in m.tool_calls] == [
        (c.name, c.arguments) for c in answer.calls
    ]
    told = [message for message in rest if message.role == "tool"]
    assert [m.result.name for m in told if m.result] == [m.content for m in told]
    assert len(told) == len(answer.calls)


@given(
    text=st.text(alphabet="abc ", max_size=40),
    stops=st.lists(st.text(alphabet="abc", min_size=1, max_size=4), max_size=3),
    size=st.integers(1, 7),
)
def test_a_stop_string_cuts_at_the_same_place_for_any_chunks(
    text: str, stops: list[str], size: int
) -> None:
    filtered = StopFilter(stops)
    told = "".join(filtered.feed(text[i : i + size]) for i in range(0, len(text), size))
    told += filtered.close()
    # A stream stops at the stop string that is complete first, whatever its pieces.
    ends = [text.index(stop) + len(stop) for stop in stops if stop in text]
    if not ends:
        assert told == text
        assert filtered.hit is None
    else:
        assert filtered.hit in stops
        assert text.startswith(told + str(filtered.hit))


@given(now=st.times(), rest=st.text(alphabet="abc \n", max_size=30))
def test_a_clock_at_the_head_does_not_change_the_head(now: Any, rest: str) -> None:
    def head(clock: str) -> list[str]:
        told = (
            Message(role="system", content=f"Be brief.\nCurrent time: {clock}\n{rest}"),
            Message(role="user", content="Hi"),
        )
        return [message.content for message in settled(told)][:-1]

    assert head(now.strftime("%H:%M:%S")) == head("00:00:00")
    moved = settled(
        (Message(role="system", content="Current time: 10:30"), Message(role="user", content="Hi"))
    )
    assert [message.content for message in moved] == ["Hi", "Current time: 10:30"]
