"""The adapter without a server: real clients over the transports, with a scripted upstream."""

from __future__ import annotations

import _thread
import asyncio
import base64
import copy
import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

import anthropic
import httpx
import httpx2
import ollama
import openai
import pytest
from held_upstream import Held, held
from proxy_models import ADD, QUESTION, scripted_models
from proxy_servers import Pair, serving

import fallback
from fallback.proxy.settings import ModelSettings, Settings
from fallback.testing import scripted_server


@pytest.fixture(scope="module")
def upstream() -> Iterator[Pair]:
    with serving(scripted_server.create_app(scripted_models()), lifespan="off") as url:
        yield Pair(url, url)


@pytest.fixture(autouse=True)
def _forget(upstream: Pair) -> None:
    httpx.post(f"{upstream.url}/_reset", trust_env=False)


@pytest.fixture
def native(upstream: Pair) -> Iterator[ollama.Client]:
    with ollama.Client(host=upstream.url, transport=fallback.Transport()) as client:
        yield client


@pytest.fixture(params=[httpx, httpx2], ids=["httpx", "httpx2"])
def chat(upstream: Pair, request: pytest.FixtureRequest) -> Iterator[openai.OpenAI]:
    http = request.param.Client(transport=fallback.Transport())
    url = f"{upstream.url}/v1"
    with openai.OpenAI(base_url=url, api_key="sk-mine", max_retries=0, http_client=http) as client:
        yield client


@pytest.fixture
def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def turn(ask: Any) -> Any:
    """Run ``ask()`` in a loop of its own."""
    return asyncio.run(ask())


# Calls ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["call", "native", "slips", "thinks"])
def test_ollama_s_client_gets_calls_and_gives_results(native: ollama.Client, model: str) -> None:
    messages: list[Any] = [QUESTION]
    given = copy.deepcopy(messages)
    reply = native.chat(model, messages, tools=[ADD])
    (call,) = reply.message.tool_calls or ()
    assert (call.function.name, call.function.arguments) == ("add", {"a": 1, "b": 2})
    assert messages == given
    history = [QUESTION, reply.message, {"role": "tool", "tool_name": "add", "content": "3"}]
    assert native.chat("text", history, tools=[ADD]).message.content == "Paris is the capital."


@pytest.mark.parametrize("stream", [True, False])
def test_openai_s_client_gets_calls_and_gives_results(
    upstream: Pair, chat: openai.OpenAI, stream: bool
) -> None:
    messages: list[Any] = [QUESTION]
    given = copy.deepcopy(messages)
    if stream:
        chunks = list(
            chat.chat.completions.create(model="call", messages=messages, tools=[ADD], stream=True)
        )
        (delta,) = [c for chunk in chunks for c in chunk.choices[0].delta.tool_calls or ()]
        assert chunks[-1].choices[0].finish_reason == "tool_calls"
        name, arguments, number = delta.function.name, delta.function.arguments, delta.id
    else:
        whole = chat.chat.completions.create(model="call", messages=messages, tools=[ADD])
        (call,) = whole.choices[0].message.tool_calls or ()
        name, arguments, number = call.function.name, call.function.arguments, call.id
    assert (name, json.loads(arguments or "")) == ("add", {"a": 1, "b": 2})
    assert messages == given
    said = {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": number, "type": "function", "function": {"name": name, "arguments": arguments}}
        ],
    }
    result = {"role": "tool", "tool_call_id": number, "content": "three it is"}
    history: Any = [QUESTION, said, result]
    second = chat.chat.completions.create(model="call", messages=history, tools=[ADD])
    assert second.choices[0].message.content == "The sum is 3."
    assert "three it is" in upstream.generations()[-1]["prompt"]


def test_openai_s_responses_go_the_same_way(chat: openai.OpenAI) -> None:
    tool: Any = {"type": "function", **ADD["function"]}
    reply = chat.responses.create(model="call", input="What is 1 + 2?", tools=[tool])
    (call,) = [item for item in reply.output if item.type == "function_call"]
    assert (call.name, json.loads(call.arguments)) == ("add", {"a": 1, "b": 2})


def test_anthropic_s_client_gets_calls(upstream: Pair) -> None:
    http = httpx2.Client(transport=fallback.Transport())
    tool: Any = {"name": "add", "input_schema": ADD["function"]["parameters"]}
    with anthropic.Anthropic(base_url=upstream.url, api_key="k", http_client=http) as client:
        reply = client.messages.create(
            model="call", max_tokens=99, messages=[QUESTION], tools=[tool]
        )
    (block,) = [b for b in reply.content if b.type == "tool_use"]
    assert (block.name, block.input) == ("add", {"a": 1, "b": 2})


def test_asynchronous_clients_get_calls_in_one_loop_after_another(upstream: Pair) -> None:
    transport = fallback.AsyncTransport()

    async def natively() -> Any:
        client = ollama.AsyncClient(host=upstream.url, transport=transport)
        reply = await client.chat("call", [QUESTION], tools=[ADD])
        pieces = [p async for p in await client.chat("text", [QUESTION], tools=[ADD], stream=True)]
        await transport._gateways().aclose()  # this loop's connections; the client is used again
        text = "".join(piece.message.content or "" for piece in pieces)
        return reply.message.tool_calls, text

    async def openly() -> Any:
        http = httpx2.AsyncClient(transport=transport)
        url = f"{upstream.url}/v1"
        async with openai.AsyncOpenAI(base_url=url, api_key="any", http_client=http) as client:
            stream = await client.chat.completions.create(
                model="call", messages=[QUESTION], tools=[ADD], stream=True
            )
            return [c async for chunk in stream for c in chunk.choices[0].delta.tool_calls or ()]

    calls, text = turn(natively)
    assert calls[0].function.arguments == {"a": 1, "b": 2}
    assert text == "Paris is the capital."
    httpx.post(f"{upstream.url}/_reset", trust_env=False)
    (delta,) = turn(openly)
    assert delta.function.name == "add"


def test_what_is_not_ours_to_answer_passes_through(native: ollama.Client, upstream: Pair) -> None:
    assert "text:latest" in [model.model for model in native.list().models]
    assert native.show("text").capabilities == ["completion", "tools"]
    with httpx.Client(base_url=upstream.url, transport=fallback.Transport()) as client:
        assert client.post("/api/embed", json={"input": "é"}).json() == {"input": "é"}
        pieces = iter([b'{"input"', b": 1}"])
        assert client.post("/api/embed", content=pieces).json() == {"input": 1}
        assert client.get("/_requests").json()["open"] == 0
        assert client.get("/elsewhere").status_code == 404


def test_settings_count(upstream: Pair) -> None:
    settings = Settings(default=ModelSettings(mode="prompt", num_ctx=2048))
    transport = fallback.Transport(settings=settings)
    with ollama.Client(host=upstream.url, transport=transport) as client:
        client.chat("claims", [QUESTION], tools=[ADD])
    (asked,) = upstream.generations()
    assert "tools" not in asked
    assert asked["options"]["num_ctx"] == 2048


# Whose keys go where ----------------------------------------------------------------------------


def authorizations(upstream: Pair) -> set[str]:
    return {r["headers"].get("authorization", "") for r in upstream.seen()["requests"]}


def test_a_key_goes_to_the_server_that_it_was_given_for(
    upstream: Pair, chat: openai.OpenAI
) -> None:
    chat.chat.completions.create(model="call", messages=[QUESTION], tools=[ADD])
    chat.embeddings.with_raw_response.create(model="text", input="a")
    assert authorizations(upstream) == {"Bearer sk-mine"}


def test_so_do_headers_that_only_that_server_knows(upstream: Pair) -> None:
    headers = {"X-Team": "blue", "Cookie": "c=1"}
    transport = fallback.Transport()
    with ollama.Client(host=upstream.url, headers=headers, transport=transport) as client:
        client.chat("call", [QUESTION], tools=[ADD])
        client.list()
        client._client.post("/api/embed", json={})
    for request in upstream.seen()["requests"]:
        told = request["headers"]
        assert (told["x-team"], told["cookie"]) == ("blue", "c=1"), request["path"]


def test_a_key_goes_to_no_other_server(upstream: Pair) -> None:
    transport = fallback.Transport(upstream=upstream.url)
    headers = {"x-secret": "s", "Cookie": "c=1"}
    http = httpx2.Client(transport=transport, headers=headers)
    with openai.OpenAI(api_key="sk-theirs", http_client=http) as client:
        client.chat.completions.create(model="call", messages=[QUESTION], tools=[ADD])
        client.embeddings.with_raw_response.create(model="text", input="a")
    seen = json.dumps(upstream.seen())
    assert authorizations(upstream) == {""}
    assert not any(secret in seen for secret in ("sk-theirs", "x-secret", "c=1"))


def test_the_key_of_the_upstream_comes_before_that_of_the_client(upstream: Pair) -> None:
    settings = Settings(upstream=upstream.url, upstream_key="ours")
    http = httpx2.Client(transport=fallback.Transport(settings=settings))
    with openai.OpenAI(base_url=f"{upstream.url}/v1", api_key="mine", http_client=http) as client:
        client.chat.completions.create(model="call", messages=[QUESTION], tools=[ADD])
        client.embeddings.with_raw_response.create(model="text", input="a")
    assert authorizations(upstream) == {"Bearer ours"}


def test_a_password_in_the_address_of_the_upstream_comes_before_the_key_of_the_client(
    upstream: Pair,
) -> None:
    named = upstream.url.replace("://", "://ada:secret@")
    http = httpx2.Client(transport=fallback.Transport(upstream=named))
    with openai.OpenAI(base_url=f"{upstream.url}/v1", api_key="mine", http_client=http) as client:
        client.chat.completions.create(model="call", messages=[QUESTION], tools=[ADD])
        client.embeddings.with_raw_response.create(model="text", input="a")
    (sent,) = authorizations(upstream)
    assert sent == f"Basic {base64.b64encode(b'ada:secret').decode()}"


def test_each_of_many_threads_sends_its_own_key(upstream: Pair) -> None:
    with httpx.Client(base_url=upstream.url, transport=fallback.Transport()) as client:
        started = threading.Barrier(8)

        def ask(number: int) -> None:
            started.wait()
            body = {"model": "text", "messages": [QUESTION], "tools": [ADD], "user": str(number)}
            key = {"Authorization": f"Bearer {number}"}
            assert client.post("/api/chat", json=body, headers=key).status_code == 200

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    sent = [r for r in upstream.seen()["requests"] if r["path"] == "/api/generate"]
    keys = sorted(r["headers"]["authorization"] for r in sent)
    assert keys == [f"Bearer {number}" for number in range(8)]


# Errors -----------------------------------------------------------------------------------------


def test_errors_are_those_that_the_clients_know(upstream: Pair) -> None:
    with ollama.Client(host=upstream.url, transport=fallback.Transport()) as client:
        with pytest.raises(ollama.ResponseError, match="has no model") as missing:
            client.chat("nobody", [QUESTION], tools=[ADD])
        assert missing.value.status_code == 404
        with pytest.raises(ollama.ResponseError, match=r"ended|broke|closed|before"):
            list(client.chat("dies", [QUESTION], tools=[ADD], stream=True))


@pytest.mark.parametrize("library", [httpx, httpx2])
def test_a_server_that_is_not_there_is_what_it_is_without_us(
    library: Any, unused_port: int
) -> None:
    url = f"http://127.0.0.1:{unused_port}"
    with ollama.Client(host=url, transport=fallback.Transport()) as client:
        with pytest.raises(ConnectionError, match="Failed to connect"):
            client.chat("text", [QUESTION], tools=[ADD])
        with pytest.raises(ConnectionError, match="Failed to connect"):
            client.embed("text", "a")
    http = library.Client(transport=fallback.Transport())
    with (
        openai.OpenAI(base_url=f"{url}/v1", api_key="k", http_client=http, max_retries=0) as chat,
        pytest.raises(openai.APIConnectionError),
    ):
        chat.chat.completions.create(model="text", messages=[QUESTION], tools=[ADD], stream=True)

    async def ask() -> Any:
        async with library.AsyncClient(transport=fallback.AsyncTransport()) as client:
            with pytest.raises(library.ConnectError):
                await client.get(f"{url}/api/version")

    turn(ask)


@pytest.mark.parametrize("library", [httpx, httpx2])
def test_the_client_s_own_patience_counts(library: Any) -> None:
    with (
        held() as upstream,
        library.Client(transport=fallback.Transport(), timeout=0.05) as client,
        pytest.raises(library.ReadTimeout),
    ):
        client.post(f"{upstream.url}/api/chat", json=body_of(stream=False))

    async def ask() -> None:
        async with library.AsyncClient(transport=fallback.AsyncTransport(), timeout=0.05) as client:
            with held() as other, pytest.raises(library.ReadTimeout):
                await client.post(f"{other.url}/api/chat", json=body_of(stream=False))

    turn(ask)


# Streams ----------------------------------------------------------------------------------------


def body_of(*, stream: bool) -> dict[str, Any]:
    return {"model": "tiny", "messages": [QUESTION], "tools": [ADD], "stream": stream}


@pytest.fixture
def slow() -> Iterator[Held]:
    with held() as upstream:
        yield upstream


def test_a_piece_comes_while_the_model_still_writes(slow: Held) -> None:
    with ollama.Client(host=slow.url, transport=fallback.Transport()) as client:
        pieces = client.chat("tiny", [QUESTION], tools=[ADD], stream=True)
        first = next(pieces).message.content
        assert not slow.go_on.is_set()
        slow.go_on.set()
        rest = [piece.message.content or "" for piece in pieces]
    assert (first, "".join(rest)) == ("Once", " upon a time.")


def test_a_piece_comes_while_the_model_still_writes_in_async_code_too(slow: Held) -> None:
    async def ask() -> list[str]:
        async with fallback.AsyncTransport() as transport:
            http = httpx2.AsyncClient(transport=transport)
            url = f"{slow.url}/v1"
            client = openai.AsyncOpenAI(base_url=url, api_key="any", http_client=http)
            stream = await client.chat.completions.create(
                model="tiny", messages=[QUESTION], tools=[ADD], stream=True
            )
            texts = []
            async for chunk in stream:
                texts += [choice.delta.content for choice in chunk.choices if choice.delta.content]
                if texts == ["Once"]:
                    assert not slow.go_on.is_set()
                    slow.go_on.set()
            return texts

    assert "".join(turn(ask)) == "Once upon a time."


def test_what_passes_through_streams_as_well(slow: Held) -> None:
    with (
        httpx.Client(transport=fallback.Transport()) as client,
        client.stream("POST", f"{slow.url}/api/pull", json={}) as response,
    ):
        pieces = response.iter_lines()
        assert "Once" in next(pieces)
        slow.go_on.set()
        assert "upon" in next(pieces)


def test_closing_a_response_ends_the_generation(slow: Held) -> None:
    with httpx.Client(transport=fallback.Transport()) as client:
        url = f"{slow.url}/api/chat"
        with client.stream("POST", url, json=body_of(stream=True)) as response:
            assert "Once" in next(response.iter_lines())
        assert slow.gone.wait(10)
        assert not slow.go_on.is_set()


def test_cancelling_a_task_ends_the_generation(slow: Held) -> None:
    async def ask() -> None:
        async with httpx.AsyncClient(transport=fallback.AsyncTransport()) as client:
            url = f"{slow.url}/api/chat"
            asking = asyncio.create_task(client.post(url, json=body_of(stream=False)))
            await asyncio.to_thread(slow.asked.wait, 10)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            assert await asyncio.to_thread(slow.gone.wait, 10)

    turn(ask)


def test_an_interrupted_program_ends_the_generation(slow: Held) -> None:
    def interrupt() -> None:
        slow.asked.wait(10)
        _thread.interrupt_main()

    interrupting = threading.Thread(target=interrupt)
    with httpx.Client(transport=fallback.Transport()) as client:
        interrupting.start()
        with pytest.raises(KeyboardInterrupt):
            client.post(f"{slow.url}/api/chat", json=body_of(stream=False))
        assert slow.gone.wait(10)
    interrupting.join()


def test_closing_the_transport_ends_what_other_threads_wait_for(slow: Held) -> None:
    transport = fallback.Transport()
    ended: list[BaseException] = []

    def ask() -> None:
        request = httpx.Request("POST", f"{slow.url}/api/chat", json=body_of(stream=False))
        try:
            transport.handle_request(request)
        except httpx.ReadError as error:
            ended.append(error)

    waiting = threading.Thread(target=ask)
    waiting.start()
    assert slow.asked.wait(10)
    transport.close()
    waiting.join()
    assert "closed" in str(ended[0])
    assert slow.gone.wait(10)
    with pytest.raises(RuntimeError, match="make a new one"):
        transport.handle_request(httpx.Request("GET", slow.url))
    transport.close()


def test_a_transport_that_nobody_has_any_more_leaves_no_thread(slow: Held) -> None:
    before = set(threading.enumerate())
    transport = fallback.Transport()
    request = httpx.Request("POST", f"{slow.url}/api/chat", json=body_of(stream=True))
    response = transport.handle_request(request)
    (thread,) = [t for t in set(threading.enumerate()) - before if "fallback" in t.name]
    del transport
    lines = response.iter_lines()
    assert "Once" in next(lines)  # the response still needs it
    slow.go_on.set()
    assert "true" in list(lines)[-1]
    del response, lines, request
    thread.join(10)
    assert not thread.is_alive()
