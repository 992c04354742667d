from __future__ import annotations

import pytest

from fallback.engine.names import parse_name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("gemma3", "gemma3:latest"),
        ("gemma3:4b", "gemma3:4b"),
        ("Gemma3:4B", "gemma3:4b"),
        ("library/gemma3", "gemma3:latest"),
        ("registry.ollama.ai/library/gemma3:4b", "gemma3:4b"),
        ("hf.co/someone/model:Q4_K_M", "hf.co/someone/model:q4_k_m"),
        ("localhost:5000/me/model", None),
    ],
)
def test_a_name_is_read_as_ollama_reads_it(text: str, name: str | None) -> None:
    parsed = parse_name(text)

    assert (None if parsed is None else str(parsed)) == name


@pytest.mark.parametrize("text", ["", ":", "a:", ":b", "a b", "a/../b", "../x", "a" * 81, "ä"])
def test_what_is_not_a_name_is_none(text: str) -> None:
    assert parse_name(text) is None


def test_the_full_name_is_what_ollama_prints_in_its_errors() -> None:
    parsed = parse_name("smollm2:135m")

    assert parsed is not None
    assert parsed.full == "registry.ollama.ai/library/smollm2:135m"
