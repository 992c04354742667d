"""What a generation does with its options, its window and its memory, in process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from fallback.engine.core import Engine
from fallback.engine.transport import EngineTransport
from fallback.schema.held import held_call

pytestmark = pytest.mark.engine

CODER, SMALL = "qwen2.5-coder:0.5b", "smollm2:135m"
WINDOW = {"temperature": 0, "num_ctx": 1024}
PROSE = "The quick brown fox jumps over the lazy dog, and then it rests beside the river. " * 12


@pytest.fixture
def client(engine: Engine) -> Iterator[httpx.Client]:
    transport = EngineTransport(engine)
    with httpx.Client(transport=transport, base_url="http://embedded", timeout=300) as client:
        yield client


def generate(client: httpx.Client, prompt: str, **fields: Any) -> dict[str, Any]:
    options = {**WINDOW, "num_predict": 4, **fields.pop("options", {})}
    body = {"model": SMALL, "prompt": prompt, "raw": True, "stream": False, "options": options}
    response = client.post("/api/generate", json={**body, **fields})
    response.raise_for_status()
    return response.json()


def nested_error(response: httpx.Response) -> dict[str, Any]:
    assert response.status_code == 400
    return json.loads(response.json()["error"])["error"]


def fingerprint(reply: dict[str, Any]) -> list[list[float]]:
    return [[other["logprob"] for other in one["top_logprobs"]] for one in reply["logprobs"]]


def test_a_prompt_gives_the_same_reply_to_the_last_bit_whatever_came_before(
    client: httpx.Client,
) -> None:
    ask = {"logprobs": True, "top_logprobs": 3}
    first = generate(client, PROSE, **ask)
    histories = [
        PROSE[:7],
        PROSE[:400],
        PROSE[: len(PROSE) - 3],
        PROSE + first["response"],
        "Something else entirely. " * 40,
    ]
    for history in histories:
        generate(client, history)
        assert fingerprint(generate(client, PROSE, **ask)) == fingerprint(first)
    assert fingerprint(generate(client, PROSE, **ask)) == fingerprint(first)


def test_the_number_of_threads_changes_no_bit_of_the_reply(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    for threads in ("1", "2"):
        monkeypatch.setenv("FALLBACK_THREADS", threads)
        with Engine() as other:
            transport = EngineTransport(other)
            client = httpx.Client(transport=transport, base_url="http://embedded", timeout=300)
            seen.append(fingerprint(generate(client, PROSE, logprobs=True, top_logprobs=3)))

    assert seen[0] == seen[1]


def test_of_a_prompt_that_grows_only_the_new_part_is_evaluated(client: httpx.Client) -> None:
    generate(client, "unrelated " * 20)
    first = generate(client, PROSE)
    second = generate(client, PROSE + first["response"] + " Then it")

    assert first["cached_tokens"] == 0
    assert second["prompt_eval_count"] > first["prompt_eval_count"]
    # Whole blocks of 64 tokens are reused; what is left over is less than one of them.
    assert 0 <= first["prompt_eval_count"] - second["cached_tokens"] < 64


def test_raw_text_reaches_the_model_byte_for_byte(client: httpx.Client) -> None:
    prompt = "<|im_start|>user\n{{ x }} ä<|im_end|>\n"
    reply = client.post(
        "/api/generate",
        json={"model": SMALL, "prompt": prompt, "raw": True, "_debug_render_only": True},
    ).json()

    assert reply["_debug_info"] == {"rendered_template": prompt}
    assert reply["done"] is False
    assert reply["response"] == ""


def test_the_models_own_template_renders_system_and_prompt(client: httpx.Client) -> None:
    reply = client.post(
        "/api/generate",
        json={
            "model": SMALL,
            "system": "Say {{ nothing }}.",
            "prompt": "Hi",
            "_debug_render_only": True,
        },
    ).json()

    assert reply["_debug_info"]["rendered_template"] == (
        "<|im_start|>system\nSay {{ nothing }}.<|im_end|>\n"
        "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )


def test_context_is_put_before_the_new_prompt(client: httpx.Client) -> None:
    first = generate(client, "Hi", raw=False)
    again = client.post(
        "/api/generate",
        json={
            "model": SMALL,
            "prompt": "And?",
            "context": first["context"],
            "_debug_render_only": True,
        },
    ).json()

    rendered = again["_debug_info"]["rendered_template"]
    assert first["response"] in rendered
    assert rendered.index("Hi") < rendered.index("And?")


def test_a_stop_string_ends_the_reply_and_is_not_part_of_it(client: httpx.Client) -> None:
    whole = generate(client, "1 2 3 4 5 6", options={"num_predict": 12})["response"]
    mark = whole[6:8]
    reply = generate(client, "1 2 3 4 5 6", options={"num_predict": 12, "stop": [mark]})

    assert reply["done_reason"] == "stop"
    assert reply["response"] == whole[: whole.index(mark)]


def test_the_seed_decides_what_chance_decides(client: httpx.Client) -> None:
    options = {"temperature": 2.0, "num_predict": 8, "seed": 7}
    one, same = (generate(client, "Once", options=options)["response"] for _ in range(2))
    other = generate(client, "Once", options={**options, "seed": 8})["response"]

    assert one == same != other


def test_a_schema_is_obeyed_in_the_order_it_was_written(client: httpx.Client) -> None:
    schema = {
        "type": "object",
        "properties": {"zebra": {"type": "integer"}, "apple": {"enum": ["a", "b"]}},
        "required": ["zebra", "apple"],
        "additionalProperties": False,
    }
    reply = generate(client, "Numbers:", format=schema, options={"num_predict": 60})
    value = json.loads(reply["response"])

    assert list(value) == ["zebra", "apple"]
    assert isinstance(value["zebra"], int)


def test_a_schema_lets_a_number_end_with_the_braces_and_their_line(client: httpx.Client) -> None:
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "p": {"type": "number"}},
        "required": ["city", "p"],
        "additionalProperties": False,
    }
    line = '{"city": "Oslo", "p": 0.3}\n'
    reply = generate(client, line * 4, format=schema, options={"num_predict": 60})
    assert reply["response"] == line
    assert reply["done_reason"] == "stop"


def test_a_call_is_held_to_what_the_schema_of_its_tool_refers_to(client: httpx.Client) -> None:
    node = {
        "type": "object",
        "properties": {"leaf": {"enum": ["oak", "elm"]}, "size": {"type": "integer"}},
        "required": ["leaf", "size"],
    }
    parameters = {
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/node"}},
        "required": ["tree"],
        "$defs": {"node": node},
    }
    schema = held_call({"plant": parameters})
    begun = '{"name": "plant", "arguments": {"tree": {"leaf": "elm", "size": 3}}}\n'
    reply = generate(client, begun * 2, format=schema, options={"num_predict": 60})
    call = json.loads(reply["response"])
    assert call["name"] == "plant"
    assert call["arguments"]["tree"]["leaf"] in ("oak", "elm")
    assert isinstance(call["arguments"]["tree"]["size"], int)
    # What the model would rather write is out of question, so it is the schema that was obeyed.
    other = generate(
        client, begun.replace("elm", "fir") * 3, format=schema, options={"num_predict": 60}
    )
    assert json.loads(other["response"])["arguments"]["tree"]["leaf"] in ("oak", "elm")


def test_chat_obeys_the_word_json(client: httpx.Client) -> None:
    body = {
        "model": SMALL,
        "messages": [{"role": "user", "content": "A city as JSON"}],
        "format": "json",
        "stream": False,
        "options": {**WINDOW, "num_predict": 30},
    }
    content = client.post("/api/chat", json=body).json()["message"]["content"]

    assert content.lstrip().startswith("{")


def test_logprobs_come_with_as_many_alternatives_as_asked(client: httpx.Client) -> None:
    bare = generate(client, "One two", logprobs=True)
    rich = generate(client, "One two", logprobs=True, top_logprobs=2)

    assert [entry["token"] for entry in bare["logprobs"]] == [
        entry["token"] for entry in rich["logprobs"]
    ]
    assert "".join(entry["token"] for entry in rich["logprobs"]) == rich["response"]
    assert "top_logprobs" not in bare["logprobs"][0]
    for entry in rich["logprobs"]:
        assert len(entry["top_logprobs"]) == 2
        assert bytes(entry["bytes"]).decode() == entry["token"]
        assert entry["logprob"] <= 0


def test_a_prompt_beyond_the_window_is_refused_with_the_numbers(client: httpx.Client) -> None:
    body = {
        "model": SMALL,
        "prompt": PROSE * 10,
        "raw": True,
        "truncate": False,
        "options": WINDOW,
    }
    chat = {
        "model": SMALL,
        "messages": [{"role": "user", "content": PROSE * 10}],
        "options": WINDOW,
    }
    for error in (
        nested_error(client.post("/api/generate", json=body)),
        nested_error(client.post("/api/chat", json={**chat, "truncate": False})),
        nested_error(client.post("/api/chat", json=chat)),  # nothing to drop but the question
    ):
        assert error["type"] == "exceed_context_size_error"
        assert error["n_ctx"] == 1024
        assert error["n_prompt_tokens"] > 2000


def test_with_truncate_the_middle_is_cut_as_ollama_cuts_it(client: httpx.Client) -> None:
    reply = generate(client, PROSE * 10)

    # keep = 4, and half of the rest of the window is left for writing: 1024 - 1020 // 2
    assert reply["prompt_eval_count"] == 514
    assert reply["done_reason"] == "length"


def test_without_shift_a_prompt_that_is_too_long_is_refused_in_words(client: httpx.Client) -> None:
    body = {"model": SMALL, "prompt": PROSE * 10, "raw": True, "shift": False, "options": WINDOW}
    response = client.post("/api/generate", json=body)

    assert response.status_code == 400
    assert response.json()["error"].startswith("the prompt is longer than the context length")


def test_without_shift_writing_ends_with_the_window(client: httpx.Client) -> None:
    reply = generate(
        client, "1 2 3 4 5 6 7 8", shift=False, options={"num_ctx": 32, "num_predict": -1}
    )

    assert reply["done_reason"] == "length"
    assert reply["prompt_eval_count"] + reply["eval_count"] == 32


def test_a_long_chat_loses_its_oldest_messages_but_not_its_system(client: httpx.Client) -> None:
    messages = [{"role": "system", "content": "Be kind."}]
    for number in range(20):
        messages.append({"role": "user", "content": f"Q{number} {PROSE[:200]}"})
        messages.append({"role": "assistant", "content": f"A{number}"})
    messages.append({"role": "user", "content": "The last question"})
    body = {"model": SMALL, "messages": messages, "options": {**WINDOW, "num_ctx": 256}}

    rendered = client.post("/api/chat", json={**body, "_debug_render_only": True}).json()
    text = rendered["_debug_info"]["rendered_template"]

    assert rendered["message"] == {"role": "", "content": ""}
    assert "Be kind." in text
    assert "The last question" in text
    assert "Q19" in text
    assert "Q0 " not in text


def test_a_conversation_with_calls_and_results_is_rendered_by_the_model(
    client: httpx.Client,
) -> None:
    messages = [
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"function": {"name": "get_weather", "arguments": {"city": "Oslo"}}}],
        },
        {"role": "tool", "tool_name": "get_weather", "content": '{"degrees": 3}'},
    ]
    tool = {
        "type": "function",
        "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {}}},
    }
    body = {"model": CODER, "messages": messages, "tools": [tool], "_debug_render_only": True}
    text = client.post("/api/chat", json=body).json()["_debug_info"]["rendered_template"]

    assert '{"name": "get_weather", "arguments": {"city": "Oslo"}}' in text
    assert '<tool_response>\n{"degrees": 3}\n</tool_response>' in text
    assert text.index("<tools>") < text.index("Weather?")


def test_a_call_in_the_models_own_form_is_read_by_llama_cpp(client: httpx.Client) -> None:
    tool = {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
            },
        },
    }
    system = (
        "Every call is written between <tool_call> and </tool_call>, like <tool_call>"
        '{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>.'
        " Never use a code fence."
    )
    body = {
        "model": CODER,
        "messages": [
            {"role": "system", "content": system},
            {"role": "user", "content": "What is the weather in Paris?"},
            # The model is too small to begin like this by itself; how it goes on is its own.
            {"role": "assistant", "content": "<tool_call>\n"},
        ],
        "tools": [tool],
        "options": {"temperature": 0, "num_predict": 60},
    }
    lines = [json.loads(line) for line in client.post("/api/chat", json=body).text.splitlines()]

    (call,) = lines[-1]["message"]["tool_calls"]
    assert call["function"] == {
        "index": 0,
        "name": "get_weather",
        "arguments": {"city": "Paris"},
    }
    assert call["id"]
    assert lines[-1]["done_reason"] == "stop"
    assert all("tool_calls" not in line["message"] for line in lines[:-1])


def test_one_model_is_kept_and_another_window_loads_it_anew(client: httpx.Client) -> None:
    def loaded() -> list[tuple[str, int]]:
        models = client.get("/api/ps").json()["models"]
        return [(model["name"], model["context_length"]) for model in models]

    assert client.post("/api/generate", json={"model": SMALL}).json()["done_reason"] == "load"
    assert loaded() == [(SMALL, 4096)]
    generate(client, "Hi", options={"num_ctx": 512})
    assert loaded() == [(SMALL, 512)]
    unloaded = client.post("/api/chat", json={"model": SMALL, "messages": [], "keep_alive": 0})
    assert unloaded.json()["done_reason"] == "unload"
    assert loaded() == []
    generate(client, "Hi", keep_alive=0)
    assert loaded() == []


def test_a_local_file_is_a_model_too(client: httpx.Client, engine: Engine) -> None:
    from fallback.engine.models import model_path

    path = str(model_path(SMALL))
    reply = generate(client, "Hi", model=path)

    assert reply["model"] == path
    assert reply["eval_count"] == 4
    (loaded,) = client.get("/api/ps").json()["models"]
    assert loaded["digest"] in path
