"""Anthropic's own client against the adapter, with a scripted upstream, and what others send."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import anthropic
import httpx
import pytest
from proxy_models import scripted_models
from proxy_servers import Pair, pair

SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
ADD: Any = {"name": "add", "description": "Add two numbers.", "input_schema": SCHEMA}
QUESTION: Any = {"role": "user", "content": "What is 1 + 2?"}
PIXEL = "iVBORw0KGgo="


@pytest.fixture(scope="module")
def servers() -> Iterator[Pair]:
    with pair(scripted_models(), silence_seconds=0.05, grace_seconds=0.3) as running:
        yield running


@pytest.fixture(autouse=True)
def _forget(servers: Pair) -> None:
    httpx.post(f"{servers.upstream}/_reset", trust_env=False)


@pytest.fixture
def client(servers: Pair) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=servers.url, api_key="any", max_retries=0) as made:
        yield made


def answered(client: anthropic.Anthropic, model: str, *, stream: bool, **more: Any) -> Any:
    """The message that the client has in the end, streamed or not."""
    told: Any = {"max_tokens": 500, "messages": [QUESTION], "tools": [ADD], **more}
    if not stream:
        return client.messages.create(model=model, **told)
    with client.messages.stream(model=model, **told) as events:
        return events.get_final_message()


def events_of(servers: Pair, model: str, **more: Any) -> list[dict[str, Any]]:
    """A stream as it is on the wire; every event bears the name of its type."""
    body = {"model": model, "max_tokens": 500, "messages": [QUESTION], "tools": [ADD]}
    reply = servers.post("/v1/messages?beta=true", {**body, **more, "stream": True})
    assert reply.headers["content-type"] == "text/event-stream"
    found = []
    for block in reply.text.removesuffix("\n\n").split("\n\n"):
        name, data = block.split("\n")
        found.append(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {found[-1]['type']}"
    return found


def prompt(servers: Pair) -> str:
    """What the model was told last, of whichever endpoint."""
    return json.dumps(servers.generations()[-1])


# S1: discovery


def test_the_probes_of_clients_are_answered(servers: Pair) -> None:
    for path in ("/", "/api/hello"):
        assert httpx.head(servers.url + path, trust_env=False).status_code == 200
    assert servers.seen()["requests"] == []


def test_the_models_are_listed_in_the_client_s_own_form(client: anthropic.Anthropic) -> None:
    listed = {model.id: model for model in client.models.list()}
    assert listed["text"].display_name == "text"
    assert listed["text"].type == "model"


# S2: text


@pytest.mark.parametrize("stream", [True, False])
def test_text_comes_through_exactly_in_one_request(
    servers: Pair, client: anthropic.Anthropic, stream: bool
) -> None:
    for tools in ([], [ADD]):
        message = answered(client, "text", stream=stream, tools=tools)
        assert [block.text for block in message.content] == ["Paris is the capital."]
        assert message.stop_reason == "end_turn"
        assert message.usage.input_tokens > 0
        assert message.usage.output_tokens == 20
    assert len(servers.generations()) == 2


def test_a_stop_sequence_is_told_of(client: anthropic.Anthropic) -> None:
    for stream in (True, False):
        message = answered(client, "text", stream=stream, stop_sequences=[" the"])
        assert message.content[0].text == "Paris is"
        assert (message.stop_reason, message.stop_sequence) == ("stop_sequence", " the")


# S3 and S4: calls


@pytest.mark.parametrize("model", ["call", "native", "claims", "breaks", "slips", "thinks"])
@pytest.mark.parametrize("stream", [True, False])
def test_a_call_comes_as_a_block_of_its_own(
    client: anthropic.Anthropic, model: str, stream: bool
) -> None:
    message = answered(client, model, stream=stream)
    (call,) = [block for block in message.content if block.type == "tool_use"]
    assert (call.name, call.input) == ("add", {"a": 1, "b": 2})
    assert call.id.startswith("toolu_")
    assert message.stop_reason == "tool_use"


@pytest.mark.parametrize("stream", [True, False])
def test_two_calls_are_answered_in_two_generations(
    servers: Pair, client: anthropic.Anthropic, stream: bool
) -> None:
    first = answered(client, "two", stream=stream)
    ids = [block.id for block in first.content]
    assert len(set(ids)) == 2
    results: Any = [
        {"type": "tool_result", "tool_use_id": id_, "content": f"result of {id_}"}
        for id_ in reversed(ids)
    ]
    results.append({"type": "text", "text": "Go on."})
    history = [
        QUESTION,
        {"role": "assistant", "content": first.content},
        {"role": "user", "content": results},
    ]
    second = answered(client, "two", stream=stream, messages=history)
    assert second.content[0].text == "3 and 7."
    told = prompt(servers)
    places = [told.index(f"result of {id_}") for id_ in reversed(ids)]
    assert places[0] < places[1] < told.index("Go on.")
    assert len(servers.generations()) == 2


# S5, S6 and S7


def test_blocks_follow_one_another_and_a_call_is_written_at_once(servers: Pair) -> None:
    events = [e for e in events_of(servers, "prose") if e["type"] != "ping"]
    assert events[0]["type"] == "message_start"
    assert events[0]["message"]["usage"]["input_tokens"] > 50
    assert [e["type"] for e in events[-2:]] == ["message_delta", "message_stop"]
    opened = None
    kinds = []
    for event in events[1:-2]:
        if event["type"] == "content_block_start":
            assert opened is None
            opened = event["index"]
            assert opened == len(kinds)
            kinds.append(event["content_block"]["type"])
        else:
            assert event["index"] == opened
        if event["type"] == "content_block_stop":
            opened = None
    assert opened is None
    assert kinds == ["text", "tool_use"]
    (written,) = [e["delta"]["partial_json"] for e in events if "partial_json" in str(e)]
    assert json.loads(written) == {"a": 1, "b": 2}
    text = "".join(e["delta"].get("text", "") for e in events if e["type"].endswith("block_delta"))
    assert text == "Let me add."


@pytest.mark.parametrize("stream", [True, False])
def test_reasoning_is_a_block_before_the_call(client: anthropic.Anthropic, stream: bool) -> None:
    message = answered(client, "thinks", stream=stream, thinking={"type": "adaptive"})
    assert [block.type for block in message.content] == ["thinking", "tool_use"]
    assert message.content[0].thinking == "sum"


def test_an_unknown_tool_is_never_passed_on(client: anthropic.Anthropic) -> None:
    message = answered(client, "unknown", stream=True)
    assert [block.type for block in message.content] == ["text"]
    assert message.stop_reason == "end_turn"


# S8: results that failed, hold an image, or nothing


def test_results_of_every_kind_are_told(servers: Pair, client: anthropic.Anthropic) -> None:
    past = [
        {"type": "thinking", "thinking": "secret thought", "signature": "s"},
        *({"type": "tool_use", "id": f"t{i}", "name": "add", "input": {"a": i}} for i in range(4)),
    ]
    image = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    text = {"type": "text", "media_type": "text/plain", "data": "the letter"}
    contents: list[Any] = [
        "it broke",
        [{"type": "image", "source": image}],
        None,
        [{"type": "document", "title": "Mail", "source": text}, {"type": "odd", "text": "kept"}],
    ]
    results: Any = [
        {"type": "tool_result", "tool_use_id": f"t{i}", "content": content, "is_error": i == 0}
        for i, content in enumerate(contents)
    ]
    del results[2]["content"]
    history: Any = [
        QUESTION,
        {"role": "assistant", "content": past},
        {"role": "user", "content": results},
    ]
    answered(client, "text", stream=False, messages=history)
    told = prompt(servers)
    assert told.count("it broke") == 1
    assert "error" in told.partition("it broke")[0][-200:]
    assert "an image, which this model cannot see" in told
    assert "the letter" in told
    assert "kept" in told
    assert "secret thought" not in told


# S9: the choice


@pytest.mark.parametrize(
    "choice", [{"type": "any"}, {"type": "tool", "name": "add", "disable_parallel_tool_use": True}]
)
def test_a_demanded_call_is_made(client: anthropic.Anthropic, choice: Any) -> None:
    message = answered(client, "two", stream=True, tool_choice=choice)
    calls = [block for block in message.content if block.type == "tool_use"]
    assert len(calls) == (1 if "name" in choice else 2)


def test_no_call_can_be_wished_for(servers: Pair, client: anthropic.Anthropic) -> None:
    message = answered(client, "text", stream=True, tool_choice={"type": "none"})
    assert message.stop_reason == "end_turn"
    assert "Add two numbers" not in prompt(servers)


def test_a_demand_that_the_model_does_not_meet_is_an_error(client: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.UnprocessableEntityError, match="no usable tool call"):
        answered(client, "text", stream=False, tool_choice={"type": "any"})


def test_what_the_provider_would_run_is_answered_in_words(
    servers: Pair, client: anthropic.Anthropic
) -> None:
    search: Any = {"type": "web_search_20250305", "name": "web_search"}
    choice: Any = {"type": "tool", "name": "web_search"}
    message = answered(client, "text", stream=True, tools=[search], tool_choice=choice)
    assert message.content[0].text == "Paris is the capital."
    assert "make no results up" in prompt(servers)
    answered(client, "text", stream=True, tools=[search, ADD])
    assert "make no results up" not in prompt(servers)


# S11: system messages anywhere, deferred tools, billing lines


def test_a_deferred_tool_is_told_of_when_something_refers_to_it(servers: Pair) -> None:
    tools = [
        {**ADD, "name": "search_tools", "cache_control": {"type": "ephemeral"}},
        {**ADD, "name": "hidden", "description": "Does not matter.", "defer_loading": True},
        {**ADD, "defer_loading": True, "strict": True},
    ]
    use = {"type": "tool_use", "id": "t1", "name": "search_tools", "input": {"a": 1, "b": 1}}
    reference = {"type": "tool_reference", "tool_name": "add"}
    found = {"type": "tool_result", "tool_use_id": "t1", "content": [reference]}
    billing = {"type": "text", "text": "x-anthropic-billing-header: cc_version=1; cch=8f3a1;"}
    rules = {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}
    body: dict[str, Any] = {"max_tokens": 500, "system": [billing, rules], "tools": tools}
    later: Any = [
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [found]},
        {"role": "system", "content": "A reminder."},
    ]
    first = servers.post("/v1/messages", {**body, "model": "text", "messages": [QUESTION]})
    assert first.status_code == 200
    before = prompt(servers)
    assert "Add two numbers" in before
    assert "hidden" not in before
    assert "billing" not in before
    body["system"] = "Be brief."
    reply = servers.post("/v1/messages", {**body, "model": "call", "messages": [QUESTION, *later]})
    (call,) = reply.json()["content"]
    assert call["name"] == "add"
    after = prompt(servers)
    assert "hidden" not in after
    assert "A reminder." in after
    first_prompt, second_prompt = (body["prompt"] for body in servers.generations())
    head = first_prompt[: first_prompt.index("search_tools(") + 30]
    assert second_prompt.startswith(head)


def test_the_question_comes_behind_what_the_system_says_after_it(servers: Pair) -> None:
    skills = {"role": "system", "content": "There are some skills."}
    use = {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 1, "b": 2}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "it is three"}
    later: Any = [
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result]},
        {"role": "system", "content": [{"type": "text", "text": "A reminder."}]},
    ]
    for more in ([], later):
        body = {"model": "text", "messages": [QUESTION, skills, *more], "tools": [ADD]}
        assert servers.post("/v1/messages", body).status_code == 200
        told = prompt(servers)
        assert told.index("some skills") < told.index("What is 1 + 2?")
    assert told.index("it is three") < told.index("A reminder.")


def test_deferred_tools_are_told_of_where_the_provider_would_search(servers: Pair) -> None:
    search = {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}
    tools = [search, {**ADD, "defer_loading": True}]
    assert [e["type"] for e in events_of(servers, "call", tools=tools)].count("message_stop") == 1
    assert "Add two numbers" in prompt(servers)


# Output formats


def test_an_output_format_becomes_the_server_s(servers: Pair) -> None:
    wanted = {"type": "json_schema", "schema": {"type": "object", "properties": {}}}
    for more in ({"output_config": {"format": wanted, "effort": "low"}}, {"output_format": wanted}):
        body = {"model": "text", "messages": [QUESTION], "max_tokens": 9, "tools": [], **more}
        assert servers.post("/v1/messages", body).status_code == 200
        assert servers.generations()[-1]["format"] == wanted["schema"]


# Counting


def test_a_prompt_is_counted_and_nothing_generated(
    servers: Pair, client: anthropic.Anthropic
) -> None:
    def count(**more: Any) -> int:
        told: Any = {"model": "text", "messages": [QUESTION], **more}
        return client.messages.count_tokens(**told).input_tokens

    bare = count()
    assert 0 < bare < 100
    assert count(tools=[ADD]) > bare + 50
    assert 1200 < count(system="word " * 1200) < 3000
    assert servers.generations() == []
    with pytest.raises(anthropic.NotFoundError):
        count(model="nothing-like-it")
    with pytest.raises(anthropic.BadRequestError, match="messages"):
        count(messages=[])


# S15, S16 and S17: trouble


@pytest.mark.parametrize("model", ["dies", "errs", "broken"])
def test_a_failure_in_the_text_is_told_and_the_stream_ended(
    servers: Pair, client: anthropic.Anthropic, model: str
) -> None:
    with pytest.raises(anthropic.APIStatusError) as told:
        answered(client, model, stream=True)
    assert told.value.body["error"]["type"] == "api_error"
    events = events_of(servers, model)
    assert [event["type"] for event in events[-2:]] == ["error", "message_stop"]


def test_half_a_call_is_never_run(servers: Pair) -> None:
    body = {"model": "half", "max_tokens": 500, "messages": [QUESTION], "tools": [ADD]}
    reply = servers.post("/v1/messages", {**body, "stream": True})
    assert "error" in reply.text
    assert "tool_use" not in reply.text


@pytest.mark.parametrize(
    ("model", "status", "kind", "words"),
    [
        ("dead", 502, "api_error", "."),
        ("busy", 503, "overloaded_error", "busy"),
        ("long", 400, "invalid_request_error", r"prompt is too long: 9000 tokens > 8192 maximum"),
        ("nothing", 404, "not_found_error", "nothing"),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_a_failure_before_the_text_is_a_status(
    client: anthropic.Anthropic, model: str, status: int, kind: str, words: str, stream: bool
) -> None:
    with pytest.raises(anthropic.APIStatusError, match=words) as told:
        answered(client, model, stream=stream)
    assert told.value.status_code == status
    assert told.value.body["type"] == "error"
    assert told.value.body["error"]["type"] == kind


def test_the_refusal_of_tools_is_never_seen(servers: Pair, client: anthropic.Anthropic) -> None:
    assert answered(client, "call", stream=True).stop_reason == "tool_use"
    assert all("tools" not in body for body in servers.generations())


# S18: nothing, and too little


@pytest.mark.parametrize("stream", [True, False])
def test_nothing_and_too_little_end_cleanly(client: anthropic.Anthropic, stream: bool) -> None:
    assert answered(client, "empty", stream=stream).content[0].text
    cut = answered(client, "cut", stream=stream)
    assert (cut.content[0].text, cut.stop_reason) == ("Paris is the", "max_tokens")


# S14 and S19: silence, and a client that leaves


def test_silence_is_bridged_by_pings_until_the_client_leaves(servers: Pair) -> None:
    body = {"model": "silent", "messages": [QUESTION], "max_tokens": 9, "stream": True}
    with httpx.stream("POST", f"{servers.url}/v1/messages", json=body, trust_env=False) as reply:
        lines = (line for line in reply.iter_lines() if line.startswith("event: "))
        seen = [next(lines) for _ in range(4)]
        assert servers.seen()["open"] == 1
    assert seen == ["event: message_start", *["event: ping"] * 3]
    for _ in range(100):
        if not servers.seen()["open"]:
            break
    assert servers.seen()["open"] == 0


# S22: what nobody expects


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/messages/count_tokens"])
def test_unknown_fields_roles_blocks_and_headers_change_nothing(servers: Pair, path: str) -> None:
    body = {
        "model": "text",
        "system": [{"type": "hologram", "text": "Be brief."}, 7, None],
        "messages": [
            {"role": "narrator", "content": [{"type": "hologram", "text": "Hello"}, 3, None]},
            {"role": "assistant", "content": [{"type": "server_tool_use", "id": "s"}, 7]},
            {"role": "assistant", "content": [{"type": "tool_use"}, {"type": "tool_use", "id": 3}]},
            {"role": "user", "content": [{"type": "tool_result"}, {"type": "tool_result"}]},
            QUESTION,
        ],
        "tools": [ADD, {"type": "web_fetch_20250910"}, 5, {"name": "bad name!"}, {"name": 4}],
        "metadata": {"user_id": 1},
        "context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]},
        "safeguards": [1],
        "thinking": {"type": "sometimes"},
        "max_tokens": "many",
    }
    headers = {"x-stainless-lang": "python", "anthropic-beta": "a,b", "anthropic-version": "x"}
    reply = servers.post(path, body, **headers)
    assert reply.status_code == 200, reply.text
