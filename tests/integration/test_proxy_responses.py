"""OpenAI's client on ``/v1/responses``, with a scripted upstream, and what Codex sends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest
from proxy_models import scripted_models
from proxy_servers import Pair, pair

from fallback.testing.scripted_server import Model, Reply

SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
ADD: Any = {
    "type": "function",
    "name": "add",
    "description": "Add two numbers.",
    "parameters": SCHEMA,
    "strict": False,
}
QUESTION = "What is 1 + 2?"
ASKED: Any = {"role": "user", "content": QUESTION}
PATCH = '```tool_call\n{"name": "apply_patch", "arguments": {"input": "*** Begin Patch"}}\n```'
SPACED = '```tool_call\n{"name": "calc__add", "arguments": {"a": 1, "b": 2}}\n```'


@pytest.fixture(scope="module")
def servers() -> Iterator[Pair]:
    models = scripted_models()
    models["patches"] = Model(replies=[Reply(text=PATCH)])
    models["spaced"] = Model(replies=[Reply(text=SPACED)])
    with pair(models, silence_seconds=0.05, grace_seconds=0.3) as running:
        yield running


@pytest.fixture(autouse=True)
def _forget(servers: Pair) -> None:
    httpx.post(f"{servers.upstream}/_reset", trust_env=False)


@pytest.fixture
def client(servers: Pair) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{servers.url}/v1", api_key="any", max_retries=0) as made:
        yield made


def answered(client: openai.OpenAI, model: str, *, stream: bool, **more: Any) -> Any:
    """The response that the client has in the end, streamed or not."""
    told: Any = {"input": QUESTION, "tools": [ADD], **more}
    if not stream:
        return client.responses.create(model=model, **told)
    with client.responses.stream(model=model, **told) as events:
        return events.get_final_response()


def events_of(servers: Pair, model: str, **more: Any) -> list[dict[str, Any]]:
    """A stream as it is on the wire: named by types, and numbered without a gap."""
    body = {"model": model, "input": QUESTION, "tools": [ADD], **more, "stream": True}
    reply = servers.post("/v1/responses", body)
    assert reply.headers["content-type"] == "text/event-stream"
    found = []
    for block in reply.text.removesuffix("\n\n").split("\n\n"):
        name, data = block.split("\n")
        found.append(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {found[-1]['type']}"
    assert [event["sequence_number"] for event in found] == list(range(len(found)))
    return found


def prompt(servers: Pair) -> str:
    """What the model was told last, of whichever endpoint."""
    return json.dumps(servers.generations()[-1])


# S1: discovery


def test_codex_finds_a_model_by_the_name_that_was_typed(servers: Pair) -> None:
    def listed(**headers: str) -> list[str]:
        with httpx.Client(base_url=servers.url, trust_env=False) as plain:
            del plain.headers["user-agent"]
            models = plain.get("/api/tags", headers=headers).json()["models"]
        assert all(model["name"] == model["model"] for model in models)
        assert all("tools" in model["capabilities"] for model in models)
        return [model["name"] for model in models]

    assert {"text", "text:latest"} <= set(listed())
    named = listed(**{"user-agent": "ollama-python/0.6"})
    assert "text:latest" in named
    assert "text" not in named


# S2: text


@pytest.mark.parametrize("stream", [True, False])
def test_text_comes_through_exactly_in_one_request(
    servers: Pair, client: openai.OpenAI, stream: bool
) -> None:
    for tools in ([], [ADD]):
        response = answered(client, "text", stream=stream, tools=tools)
        assert response.output_text == "Paris is the capital."
        assert response.status == "completed"
        assert response.usage.output_tokens == 20
        assert response.usage.total_tokens == response.usage.input_tokens + 20
    assert len(servers.generations()) == 2


# S3 and S4: calls


@pytest.mark.parametrize("model", ["call", "native", "claims", "breaks", "slips", "thinks"])
@pytest.mark.parametrize("stream", [True, False])
def test_a_call_comes_as_an_item_of_its_own(
    client: openai.OpenAI, model: str, stream: bool
) -> None:
    response = answered(client, model, stream=stream)
    (call,) = [item for item in response.output if item.type == "function_call"]
    assert (call.name, json.loads(call.arguments)) == ("add", {"a": 1, "b": 2})
    assert call.status == "completed"
    assert call.call_id
    assert call.namespace is None


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("typed", [True, False])
def test_two_calls_are_answered_in_two_generations(
    servers: Pair, client: openai.OpenAI, stream: bool, typed: bool
) -> None:
    first = answered(client, "two", stream=stream)
    ids = [item.call_id for item in first.output]
    assert len(set(ids)) == 2
    asked = {**ASKED, "type": "message"} if typed else ASKED
    outputs = [
        {"type": "function_call_output", "call_id": id_, "output": f"result of {id_}"}
        for id_ in reversed(ids)
    ]
    history = [asked, *(item.to_dict() for item in first.output), *outputs]
    second = answered(client, "two", stream=stream, input=history)
    assert second.output_text == "3 and 7."
    told = prompt(servers)
    assert told.index(f"result of {ids[1]}") < told.index(f"result of {ids[0]}")
    assert len(servers.generations()) == 2


# S5, S6 and S7


def test_text_and_call_are_items_that_follow_one_another(servers: Pair) -> None:
    events = [e for e in events_of(servers, "prose") if e["type"] != "response.in_progress"]
    assert events[0]["type"] == "response.created"
    assert events[-1]["type"] == "response.completed"
    done: list[Any] = []
    text = ""
    for event in events[1:-1]:
        assert event["output_index"] == len(done)
        if event["type"] == "response.output_item.done":
            done.append(event["item"])
        elif event["type"] == "response.output_text.delta":
            text += event["delta"]
    assert text == "Let me add."
    assert [item["type"] for item in done] == ["message", "function_call"]
    assert done[0]["content"][0]["text"] == text
    assert json.loads(done[1]["arguments"]) == {"a": 1, "b": 2}
    assert events[-1]["response"]["output"] == done
    fragments = [e["delta"] for e in events if "arguments.delta" in e["type"]]
    assert fragments == [done[1]["arguments"]]


@pytest.mark.parametrize("stream", [True, False])
def test_reasoning_is_an_item_before_the_call(client: openai.OpenAI, stream: bool) -> None:
    response = answered(client, "thinks", stream=stream, reasoning={"effort": "low"})
    assert [item.type for item in response.output] == ["reasoning", "function_call"]
    assert response.output[0].summary[0].text == "sum"
    assert response.output_text == ""


def test_an_unknown_tool_is_never_passed_on(client: openai.OpenAI) -> None:
    response = answered(client, "unknown", stream=True)
    assert [item.type for item in response.output] == ["message"]


# S8: results of every kind


def test_results_of_every_kind_are_told(servers: Pair) -> None:
    call = {"type": "function_call", "name": "add", "arguments": '{"a": 1'}
    shell = {"type": "local_shell_call", "call_id": "c3", "action": {"command": ["ls"]}}
    image = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}
    listed = [{"stdout": "a.txt", "stderr": ""}]
    items = [
        {
            "role": "user",
            "content": [{"type": "input_file", "filename": "a.pdf", "file_data": "x"}],
        },
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Hm"}],
        },
        {**call, "call_id": "c1"},
        {"type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "secret thought"},
        {"type": "custom_tool_call", "call_id": "c2", "name": "patch", "input": "*** Begin"},
        shell,
        {"type": "function_call_output", "call_id": "c1", "output": [image]},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": "patched"},
        {"type": "local_shell_call_output", "call_id": "c3", "output": listed},
    ]
    reply = servers.post("/v1/responses", {"model": "text", "input": items, "tools": [ADD]})
    assert reply.status_code == 200, reply.text
    told = prompt(servers)
    for part in ("a.pdf", "no JSON object", "*** Begin", "patched", "a.txt", "local_shell"):
        assert part in told
    assert "an image, which this model cannot see" in told
    assert "secret thought" not in told


# S9: the choice


@pytest.mark.parametrize(
    "choice",
    [
        "required",
        {"type": "function", "name": "add"},
        {
            "type": "allowed_tools",
            "mode": "required",
            "tools": [{"type": "function", "name": "add"}],
        },
    ],
)
def test_a_demanded_call_is_made(client: openai.OpenAI, choice: Any) -> None:
    response = answered(client, "two", stream=True, tool_choice=choice, parallel_tool_calls=False)
    assert [item.type for item in response.output] == ["function_call"]


def test_a_demand_that_cannot_be_met_is_an_error(servers: Pair, client: openai.OpenAI) -> None:
    with pytest.raises(openai.UnprocessableEntityError, match="no usable tool call"):
        answered(client, "text", stream=False, tool_choice="required")
    with pytest.raises(openai.BadRequestError, match="not offered"):
        answered(client, "call", stream=False, tool_choice={"type": "function", "name": "x"})
    answered(client, "text", stream=False, tool_choice="none")
    assert "Add two numbers" not in prompt(servers)


# S12: what Codex offers


CODEX_TOOLS: Any = [
    ADD,
    {"type": "namespace", "name": "calc", "description": "Sums.", "tools": [ADD]},
    {"type": "namespace", "name": "more", "tools": [{**ADD, "name": "subtract"}]},
    {"type": "web_search", "external_web_access": False},
    {"type": "local_shell"},
    {
        "type": "custom",
        "name": "apply_patch",
        "description": "Edit files.",
        "format": {"type": "grammar", "syntax": "lark", "definition": "start: begin_patch"},
    },
]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("model", "name", "namespace"),
    [("call", "add", None), ("spaced", "add", "calc"), ("unknown", "subtract", "more")],
)
def test_a_call_bears_the_name_and_the_namespace_of_its_tool(
    client: openai.OpenAI, model: str, name: str, namespace: str | None, stream: bool
) -> None:
    response = answered(client, model, stream=stream, tools=CODEX_TOOLS)
    (call,) = response.output
    assert (call.type, call.name, call.namespace) == ("function_call", name, namespace)


@pytest.mark.parametrize("stream", [True, False])
def test_a_tool_that_takes_a_text_is_called_with_one(
    servers: Pair, client: openai.OpenAI, stream: bool
) -> None:
    response = answered(client, "patches", stream=stream, tools=CODEX_TOOLS)
    (call,) = response.output
    assert (call.type, call.name) == ("custom_tool_call", "apply_patch")
    assert call.input == "*** Begin Patch"
    assert "begin_patch" in prompt(servers)


def test_developers_are_heard_and_old_calls_keep_their_namespace(servers: Pair) -> None:
    rules = [{"type": "input_text", "text": "You are a coding agent."}]
    past = {"type": "function_call", "namespace": "calc", "name": "add", "call_id": "c1"}
    items = [
        {"type": "message", "role": "developer", "content": rules},
        ASKED,
        {**past, "arguments": "{}", "id": "fc_1", "status": "completed"},
        {"type": "function_call_output", "call_id": "c1", "output": "three"},
    ]
    body = {"model": "text", "input": items, "tools": CODEX_TOOLS, "instructions": "Be brief."}
    assert servers.post("/v1/responses", body).status_code == 200
    told = prompt(servers)
    assert told.index("Be brief.") < told.index("You are a coding agent.")
    assert "calc__add" in told.partition("What is 1 + 2?")[2]


def test_a_search_that_is_demanded_is_answered_in_words(
    servers: Pair, client: openai.OpenAI
) -> None:
    for choice in ("required", {"type": "web_search_preview"}):
        response = answered(
            client, "text", stream=True, tools=[{"type": "web_search"}], tool_choice=choice
        )
        assert response.output_text == "Paris is the capital."
        assert "make no results up" in prompt(servers)


# S13: tools are gone, the history still has them


def test_a_history_with_calls_is_answered_without_tools(servers: Pair) -> None:
    past = {"type": "function_call", "call_id": "c1", "name": "gone", "arguments": '{"x": 1}'}
    output = {"type": "function_call_output", "call_id": "c1", "output": "the result"}
    reply = servers.post("/v1/responses", {"model": "text", "input": [ASKED, past, output]})
    assert reply.json()["output"][0]["content"][0]["text"] == "Paris is the capital."
    assert "the result" in prompt(servers)


# Formats, counting, and what needs a memory


def test_a_text_format_becomes_the_server_s(servers: Pair) -> None:
    schema = {"type": "object", "properties": {"x": {"type": "string"}}}
    for form, wanted in (
        ({"type": "json_schema", "name": "n", "schema": schema}, schema),
        ({"type": "json_object"}, {"type": "object"}),
    ):
        body = {"model": "text", "input": QUESTION, "text": {"format": form, "verbosity": "low"}}
        assert servers.post("/v1/responses", body).status_code == 200
        assert servers.generations()[-1]["format"] == wanted


def test_a_prompt_is_counted_and_nothing_generated(servers: Pair) -> None:
    body = {"model": "text", "input": QUESTION, "tools": [ADD]}
    reply = servers.post("/v1/responses/input_tokens", body).json()
    assert reply["object"] == "response.input_tokens"
    assert reply["input_tokens"] > 50
    assert servers.generations() == []


@pytest.mark.parametrize("field", ["previous_response_id", "conversation"])
def test_what_refers_to_a_memory_is_refused_with_what_to_do(
    client: openai.OpenAI, field: str
) -> None:
    told: Any = {field: "resp_1"}
    with pytest.raises(openai.BadRequestError, match="send the whole input") as refused:
        answered(client, "text", stream=False, **told)
    assert refused.value.code == f"{field.removesuffix('_id')}_not_found"
    assert refused.value.param == field


# S15 to S18: trouble, nothing and too little


@pytest.mark.parametrize("model", ["dies", "errs", "broken"])
def test_a_failure_in_the_text_ends_the_stream_as_a_failed_response(
    servers: Pair, model: str
) -> None:
    events = events_of(servers, model)
    assert events[-1]["type"] == "response.failed"
    response = events[-1]["response"]
    assert response["status"] == "failed"
    assert response["error"]["code"] == "server_error"
    assert response["error"]["message"]


def test_half_a_call_is_never_run(servers: Pair) -> None:
    body = {"model": "half", "input": QUESTION, "tools": [ADD], "stream": True}
    reply = servers.post("/v1/responses", body)
    assert "error" in reply.text
    assert "function_call" not in reply.text


@pytest.mark.parametrize(
    ("model", "status", "code"),
    [
        ("dead", 502, None),
        ("busy", 503, None),
        ("long", 400, "context_length_exceeded"),
        ("nothing", 404, "model_not_found"),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_a_failure_before_the_text_is_a_status(
    client: openai.OpenAI, model: str, status: int, code: str | None, stream: bool
) -> None:
    with pytest.raises(openai.APIStatusError) as told:
        answered(client, model, stream=stream)
    assert (told.value.status_code, told.value.code) == (status, code)


def test_the_refusal_of_tools_is_never_seen(servers: Pair, client: openai.OpenAI) -> None:
    assert answered(client, "call", stream=True).output[0].type == "function_call"
    assert all("tools" not in body for body in servers.generations())


@pytest.mark.parametrize("stream", [True, False])
def test_nothing_and_too_little_end_cleanly(client: openai.OpenAI, stream: bool) -> None:
    assert answered(client, "empty", stream=stream).output_text
    cut = answered(client, "cut", stream=stream)
    assert (cut.output_text, cut.status) == ("Paris is the", "incomplete")
    assert cut.incomplete_details.reason == "max_output_tokens"


# S14 and S19: silence, and a client that leaves


def test_silence_is_bridged_by_events_until_the_client_leaves(servers: Pair) -> None:
    body = {"model": "silent", "input": QUESTION, "stream": True}
    with httpx.stream("POST", f"{servers.url}/v1/responses", json=body, trust_env=False) as reply:
        lines = (line for line in reply.iter_lines() if line.startswith("event: "))
        seen = [next(lines) for _ in range(4)]
        assert servers.seen()["open"] == 1
    assert seen == ["event: response.created", *["event: response.in_progress"] * 3]
    for _ in range(100):
        if not servers.seen()["open"]:
            break
    assert servers.seen()["open"] == 0


# S22: what nobody expects


def test_unknown_fields_items_parts_and_headers_change_nothing(servers: Pair) -> None:
    body = {
        "model": "text",
        "instructions": None,
        "input": [
            {"role": "narrator", "content": [{"type": "hologram", "text": "Hello"}, 3, None]},
            {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {}},
            {"type": "item_reference", "id": "msg_1"},
            {"type": "compaction", "encrypted_content": "x"},
            {"type": "function_call"},
            {"type": "function_call", "call_id": 7, "name": [], "arguments": 3},
            {"type": "function_call_output"},
            {"type": "function_call_output", "call_id": "c", "output": {"odd": 1}},
            7,
            "and a text",
            ASKED,
        ],
        "tools": [ADD, {"type": "mcp"}, 5, {"type": "namespace"}, {"type": "custom"}, {"name": 4}],
        "tool_choice": {"type": "mcp", "server_label": "x"},
        "store": True,
        "include": ["reasoning.encrypted_content"],
        "client_metadata": {"a": [1]},
        "text": {"verbosity": "low"},
        "reasoning": {"effort": "medium", "summary": "auto"},
        "truncation": "auto",
        "service_tier": 4,
    }
    reply = servers.post("/v1/responses", body, originator="codex", **{"x-codex-a": "b"})
    assert reply.status_code == 200, reply.text
    assert "and a text" in prompt(servers)
