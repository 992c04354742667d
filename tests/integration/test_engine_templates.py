"""What a model's own template does, with others put in place of the one in a real file."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from fallback.engine.core import Engine
from fallback.engine.gguf import read_gguf
from fallback.engine.models import model_path
from fallback.engine.transport import EngineTransport

pytestmark = pytest.mark.engine

SMALL = "smollm2:135m"
OPTIONS = {"temperature": 0, "num_predict": 6, "num_ctx": 512}
QUESTION = [{"role": "user", "content": "Say hi"}]

THINKING = """
{% for m in messages %}<|im_start|>{{m['role']}}
{% if m.reasoning_content %}<think>
{{m.reasoning_content}}
</think>
{% endif %}{{m['content']}}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% if enable_thinking is true %}<think>
{% else %}<think>

</think>

{% endif %}{% endif %}"""

STRICT = """
{% for m in messages %}{% if m['role'] == 'tool' %}{{ raise_exception('roles must alternate') }}
{% endif %}<|im_start|>{{m['role']}}
{{m['content']}}<|im_end|>
{% endfor %}<|im_start|>assistant
"""


@pytest.fixture
def with_template(engine: Engine, tmp_path: Path) -> Callable[[str], str]:
    """A copy of the small model that has another template of the same length."""

    def patch(template: str) -> str:
        source = model_path(SMALL)
        old = read_gguf(source).template.encode()
        new = textwrap.dedent(template).lstrip().encode()
        new += b"{#" + b"-" * (len(old) - len(new) - 4) + b"#}"
        assert len(new) == len(old)
        data = source.read_bytes()
        assert data.count(old) == 1
        path = tmp_path / "patched.gguf"
        path.write_bytes(data.replace(old, new))
        return str(path)

    return patch


@pytest.fixture
def client(engine: Engine) -> Iterator[httpx.Client]:
    transport = EngineTransport(engine)
    with httpx.Client(transport=transport, base_url="http://embedded", timeout=300) as client:
        yield client


def chat(client: httpx.Client, model: str, **fields: Any) -> dict[str, Any]:
    body = {"model": model, "messages": QUESTION, "stream": False, "options": OPTIONS, **fields}
    response = client.post("/api/chat", json=body)
    response.raise_for_status()
    return response.json()


def test_thinking_is_on_by_default_and_kept_apart_from_the_answer(
    client: httpx.Client, with_template: Callable[[str], str]
) -> None:
    model = with_template(THINKING)
    assert client.post("/api/show", json={"model": model}).json()["capabilities"] == [
        "completion",
        "thinking",
    ]

    thoughtful = chat(client, model)["message"]
    streamed = client.post(
        "/api/chat", json={"model": model, "messages": QUESTION, "options": OPTIONS}
    )
    pieces = [json.loads(line)["message"] for line in streamed.text.splitlines()]
    quick = chat(client, model, think=False)["message"]

    assert thoughtful["thinking"]
    assert thoughtful["content"] == ""
    assert "".join(piece.get("thinking", "") for piece in pieces) == thoughtful["thinking"]
    assert quick["content"]
    assert "thinking" not in quick


def test_generate_does_not_split_the_thinking_off(
    client: httpx.Client, with_template: Callable[[str], str]
) -> None:
    model = with_template(THINKING)
    body = {"model": model, "prompt": "Say hi", "stream": False, "options": OPTIONS}

    reply = client.post("/api/generate", json=body).json()
    quick = client.post(
        "/api/generate", json={**body, "think": False, "_debug_render_only": True}
    ).json()

    assert reply["response"]
    assert "thinking" not in reply
    assert quick["_debug_info"]["rendered_template"].endswith("</think>\n\n")


def test_a_template_that_refuses_the_roles_is_a_400_with_its_own_words(
    client: httpx.Client, with_template: Callable[[str], str]
) -> None:
    messages = [*QUESTION, {"role": "tool", "content": "3"}]
    response = client.post("/api/chat", json={"model": with_template(STRICT), "messages": messages})

    assert response.status_code == 400
    error = json.loads(response.json()["error"])["error"]
    assert "Jinja Exception: roles must alternate" in error["message"]


def test_a_model_without_a_template_gets_the_bare_prompt_or_chatml(
    client: httpx.Client, engine: Engine, tmp_path: Path
) -> None:
    data = model_path(SMALL).read_bytes()
    # Under another name the entry is not a template any more.
    path = tmp_path / "bare.gguf"
    path.write_bytes(data.replace(b"tokenizer.chat_template", b"tokenizer.chat_templatX"))
    model = str(path)

    def rendered(where: str, **fields: Any) -> str:
        body = {"model": model, "_debug_render_only": True, **fields}
        return client.post(where, json=body).json()["_debug_info"]["rendered_template"]

    assert client.post("/api/show", json={"model": model}).json()["template"] == "{{ .Prompt }}"
    assert rendered("/api/generate", prompt="Hi", system="Lost") == "Hi"
    assert rendered("/api/chat", messages=QUESTION) == (
        "<|im_start|>user\nSay hi<|im_end|>\n<|im_start|>assistant\n"
    )


def test_chat_and_a_raw_prompt_with_the_same_text_are_the_same_to_the_model(
    client: httpx.Client, engine: Engine
) -> None:
    messages = [{"role": "user", "content": "Count to ten. " * 30}]
    prompt = chat(client, SMALL, messages=messages, _debug_render_only=True)["_debug_info"]
    talk = chat(client, SMALL, messages=messages)
    raw = client.post(
        "/api/generate",
        json={
            "model": SMALL,
            "prompt": prompt["rendered_template"],
            "raw": True,
            "stream": False,
            "options": OPTIONS,
        },
    ).json()

    assert raw["prompt_eval_count"] == talk["prompt_eval_count"]
    assert raw["response"] == talk["message"]["content"]
    assert raw["cached_tokens"] == raw["prompt_eval_count"] // 64 * 64


def test_a_model_that_is_not_used_any_more_is_unloaded(client: httpx.Client) -> None:
    chat(client, SMALL, keep_alive="10ms")

    while client.get("/api/ps").json()["models"]:
        pass
    assert chat(client, SMALL)["eval_count"] == 6
