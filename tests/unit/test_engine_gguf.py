from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallback.engine.gguf import read_gguf
from fallback.engine.show import capabilities, human_number, listed, show
from fallback.engine.store import local_model
from fallback.errors import EngineError

Writer = Callable[..., Path]


def test_the_header_says_what_the_file_is(write_gguf: Writer) -> None:
    path = write_gguf(
        general__file_type=15,
        tokenizer__chat_template="{{ x }}",
        tokenizer__ggml__tokens=["a", "b", "ä"],
        toy__scale=0.5,
        tensors={"a.weight": (4, 3), "b.weight": (10,)},
    )

    header = read_gguf(path)

    assert header.architecture == "toy"
    assert header.context_length == 512
    assert header.parameters == 22
    assert header.quantization == "Q4_K_M"
    assert header.template == "{{ x }}"
    assert header.metadata["toy.scale"] == 0.5
    assert header.arrays == {"tokenizer.ggml.tokens": 3}
    assert header.read_arrays(path) == {"tokenizer.ggml.tokens": ["a", "b", "ä"]}
    assert [tensor.type for tensor in header.tensors] == ["Q8_0", "Q8_0"]


def test_a_file_that_changed_is_read_again(write_gguf: Writer) -> None:
    before = read_gguf(write_gguf(toy__note="before"))
    after = read_gguf(write_gguf(toy__note="now a longer one"))

    assert (before.metadata["toy.note"], after.metadata["toy.note"]) == (
        "before",
        "now a longer one",
    )


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GGUF",
        b"PK\x03\x04" + b"\0" * 100,
        b"GGUF" + struct.pack("<IQQ", 1, 0, 0),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 2**63),
        b"GGUF" + struct.pack("<IQQ", 3, 2**60, 0),
        b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**62),
        b"GGUF" + struct.pack("<IQQQcI", 3, 0, 1, 1, b"k", 99),
        b"GGUF" + struct.pack("<IQQQcIIQ", 3, 0, 1, 1, b"k", 9, 8, 2**62),
        b"GGUF" + struct.pack("<IQQQcIIQ", 3, 0, 1, 1, b"k", 9, 9, 1),
        b"GGUF" + struct.pack("<IQQQcIIQQ", 3, 0, 1, 1, b"k", 9, 8, 2, 2**63),
        b"GGUF" + struct.pack("<IQQQcI", 3, 1, 0, 1, b"t", 2**31),
    ],
)
def test_a_broken_file_is_one_clear_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(data)

    with pytest.raises(EngineError, match=r"broken\.gguf is not a readable GGUF file"):
        read_gguf(path)


@given(st.data())
def test_no_damage_to_a_file_can_do_more_than_raise_that_error(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    entry = struct.pack("<Q3sIIQ", 3, b"key", 9, 8, 2) + struct.pack("<QcQc", 1, b"a", 1, b"b")
    tensor = struct.pack("<QcIQIQ", 1, b"t", 1, 7, 0, 0)
    whole = bytearray(b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + entry + tensor)
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "damaged.gguf"
    path.write_bytes(whole[: data.draw(st.integers(1, len(whole)))])

    try:
        header = read_gguf(path)
    except EngineError:
        return
    assert len(header.tensors) <= 1


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("", ("completion",)),
        ("{{ messages }}", ("completion",)),
        ("{% if tools %}", ("completion", "tools")),
        ("{{ message.tool_calls }}", ("completion", "tools")),
        ("{# mentions tools in a comment #}", ("completion", "tools")),
        ("<think></think>", ("completion", "thinking")),
        ("<think>", ("completion",)),
        ("tools <think> </think>", ("completion", "tools", "thinking")),
    ],
)
def test_capabilities_are_substrings_of_the_template(
    write_gguf: Writer, template: str, expected: tuple[str, ...]
) -> None:
    header = read_gguf(write_gguf(f"{abs(hash(template))}.gguf", tokenizer__chat_template=template))

    assert capabilities(header) == expected


def test_a_model_that_pools_is_for_embedding(write_gguf: Writer) -> None:
    assert capabilities(read_gguf(write_gguf(toy__pooling_type=1))) == ("embedding",)


def test_show_has_ollamas_shape(write_gguf: Writer) -> None:
    path = write_gguf(
        general__file_type=2,
        general__name="Secret Name",
        general__license="mit",
        tokenizer__chat_template="{% if tools %}",
        tokenizer__ggml__tokens=["a", "b"],
    )
    model = local_model(str(path))
    assert model is not None

    reply = show(model, verbose=False)

    assert reply["license"] == "mit"
    assert reply["template"] == "{% if tools %}"
    assert reply["capabilities"] == ["completion", "tools"]
    assert reply["details"] == {
        "parent_model": "",
        "format": "gguf",
        "family": "toy",
        "families": ["toy"],
        "parameter_size": "12",
        "quantization_level": "Q4_0",
    }
    assert reply["model_info"] == {
        "general.architecture": "toy",
        "general.file_type": 2,
        "general.license": "mit",
        "general.parameter_count": 12,
        "tokenizer.ggml.tokens": None,
        "toy.context_length": 512,
    }
    assert reply["tensors"] == [{"name": "a.weight", "type": "Q8_0", "shape": [4, 3]}]
    assert f"FROM {path}" in reply["modelfile"]
    assert reply["modified_at"].endswith("Z")


def test_verbose_shows_the_word_lists_too(write_gguf: Writer) -> None:
    model = local_model(str(write_gguf(tokenizer__ggml__tokens=["a", "b"])))
    assert model is not None

    assert show(model, verbose=True)["model_info"]["tokenizer.ggml.tokens"] == ["a", "b"]


def test_a_model_without_a_template_shows_ollamas_default(write_gguf: Writer) -> None:
    model = local_model(str(write_gguf()))
    assert model is not None

    assert show(model, verbose=False)["template"] == "{{ .Prompt }}"
    assert "license" not in show(model, verbose=False)


def test_the_digest_of_a_local_file_is_its_hash(write_gguf: Writer) -> None:
    import hashlib

    path = write_gguf()
    model = local_model(str(path))
    assert model is not None

    assert listed(model)["digest"] == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (999, "999"),
        (1_000, "1K"),
        (134_515_008, "134.52M"),
        (7_000_000_000, "7B"),
        (1_543_714_304, "1.5B"),
    ],
)
def test_parameters_are_counted_as_ollama_counts_them(count: int, text: str) -> None:
    assert human_number(count) == text
