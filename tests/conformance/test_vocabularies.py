"""Text against the control tokens of real vocabularies.

llama.cpp finds a control token by its spelling, anywhere in the prompt. So text is safe if no
spelling is left in it, and a prompt is if it holds exactly those that the template has put there.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from fallback.engine import models
from fallback.engine.gguf import read_gguf
from fallback.families import FAMILIES, neutralise, render
from fallback.messages import Message

# ``tokenizer.ggml.token_type``: 2 is "unknown", 3 is "control".
CONTROL = {2, 3}
# Stand-ins for redacted data. They structure nothing, and people use them as placeholders.
HARMLESS = {"<NAME>", "<EMAIL>", "<KEY>", "<PASSWORD>"}
VOCABULARIES = (
    "aquila",
    "bert-bge",
    "command-r",
    "deepseek-coder",
    "deepseek-llm",
    "falcon",
    "gemma-4",
    "gpt-2",
    "llama-bpe",
    "llama-spm",
    "phi-3",
    "qwen2",
    "refact",
    "starcoder",
)


@cache
def control_tokens(path: Path) -> frozenset[str]:
    arrays = read_gguf(path).read_arrays(path)
    pairs = zip(arrays["tokenizer.ggml.tokens"], arrays["tokenizer.ggml.token_type"], strict=True)
    return frozenset(token for token, kind in pairs if kind in CONTROL) - HARMLESS


def hostile(tokens: frozenset[str]) -> str:
    """Every control token, alone, in words, and two run together."""
    return "".join(f"{token} x{token}y\n{token}{token}" for token in sorted(tokens))


def count(text: str, tokens: frozenset[str]) -> dict[str, int]:
    return {token: text.count(token) for token in tokens if token in text}


def conversation(text: str) -> list[Message]:
    return [
        Message(role="system", content=text),
        Message(role="user", content=text),
        Message(role="assistant", content=text),
        Message(role="user", content=f"```tool_result\n{text}\n```"),
    ]


def assert_only_the_template_speaks(tokens: frozenset[str]) -> None:
    assert tokens
    assert count(neutralise(hostile(tokens)), tokens) == {}
    for family in FAMILIES.values():
        plain = render(family, conversation("x"))
        attacked = render(family, conversation(hostile(tokens)))
        assert count(attacked, tokens) == count(plain, tokens), family.name


@pytest.mark.upstream
@pytest.mark.parametrize("name", VOCABULARIES)
def test_text_never_spells_a_control_token(llama_cpp: Path, name: str) -> None:
    path = llama_cpp / "models" / f"ggml-vocab-{name}.gguf"
    assert_only_the_template_speaks(control_tokens(path))


@pytest.mark.engine
@pytest.mark.parametrize("name", ["qwen2.5-coder:0.5b", "smollm2:135m"])
def test_text_never_spells_a_control_token_of_an_embedded_model(name: str) -> None:
    path = models.pull(name).path
    assert_only_the_template_speaks(control_tokens(path))


@pytest.mark.engine
def test_the_real_tokenizer_finds_no_control_token_in_what_the_user_says() -> None:
    from fallback.engine.llama import LlamaServer

    path = models.pull(models.DEFAULT_MODEL).path
    tokens = control_tokens(path)
    arrays = read_gguf(path).read_arrays(path)
    ids = {arrays["tokenizer.ggml.tokens"].index(token) for token in tokens}
    server = LlamaServer(path, num_ctx=512, threads=1)
    try:
        raw = server.tokenize(hostile(tokens))
        safe = server.tokenize(neutralise(hostile(tokens)))
        prompt = render(FAMILIES["chatml"], conversation(hostile(tokens)))
        plain = render(FAMILIES["chatml"], conversation("x"))
        in_prompt = [token for token in server.tokenize(prompt) if token in ids]
        in_plain = [token for token in server.tokenize(plain) if token in ids]
    finally:
        server.close()
    assert ids & set(raw), "the attack is a real one"
    assert not ids & set(safe)
    assert in_prompt == in_plain
