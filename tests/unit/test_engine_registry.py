from __future__ import annotations

import pytest

from fallback.engine.models import DEFAULT_MODEL
from fallback.engine.registry import builtin_registry, read_registry
from fallback.errors import ConfigurationError

ENTRY = """
[[models]]
name = "toy:{tag}"
default = {default}
licence = "MIT"
sha256 = "{sha}"
size = 3
parts = {{ distribution = "toy-{{n}}", version = "1", member = "*/{{n:02}}.bin", count = 2 }}
"""


def entry(tag: str, default: str = "false") -> str:
    return ENTRY.format(tag=tag, default=default, sha="0" * 64)


def test_parts_are_counted_out_of_one_line() -> None:
    record = read_registry(entry("1b")).find("toy:1b")

    assert record is not None
    assert [part.requirement for part in record.parts] == ["toy-1==1", "toy-2==1"]
    assert [part.member for part in record.parts] == ["*/01.bin", "*/02.bin"]


def test_a_name_without_a_tag_means_the_default_of_its_base() -> None:
    registry = read_registry(entry("1b", "true") + entry("2b"))

    assert registry.find("toy") is registry.find("toy:latest") is registry.find("toy:1b")
    assert registry.find("toy:2b") is not registry.find("toy")


def test_a_base_without_a_default_needs_its_tag() -> None:
    assert read_registry(entry("1b")).find("toy") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "models = 3",
        "[[models]]\nname = 'x'",
        entry("1b") + entry("1b"),
        entry("1b", "true") + entry("2b", "true"),
        entry("a b"),
        "not toml",
    ],
)
def test_a_broken_registry_is_one_clear_error(text: str) -> None:
    with pytest.raises(ConfigurationError):
        read_registry(text)


def test_the_registry_of_the_package_names_the_default_model() -> None:
    registry = builtin_registry()

    assert registry.find("qwen2.5-coder") is registry.find(DEFAULT_MODEL)
    assert set(registry.names) >= {"qwen2.5-coder:0.5b", "qwen2.5-coder:1.5b", "smollm2:135m"}
    for record in registry.records:
        assert len(record.sha256) == 64
        assert record.licence == "Apache-2.0"
        assert record.size > 50_000_000
