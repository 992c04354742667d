"""Where the server's settings come from, and which of them wins."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from fallback.errors import ConfigurationError
from fallback.proxy.config import load_settings, told
from fallback.proxy.settings import ModelSettings, Settings

FILE = """
[server]
upstream = "http://127.0.0.1:9"
port = 1234
api_keys = ["from-the-file"]
silence_seconds = 3

[default]
corrections = 2

[models."gemma3*"]
mode = "prompt"
num_ctx = 16384
template = "extra.j2"

[models."qwen3:8b"]
think = false
"""


def written(folder: Path, text: str = FILE) -> Path:
    (folder / "extra.j2").write_text("Speak Norwegian to {{ model }}.", encoding="utf-8")
    path = folder / "fallback.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_gives_the_server_and_each_model_its_settings(tmp_path: Path) -> None:
    settings = load_settings(written(tmp_path), {})
    assert (settings.upstream, settings.port) == ("http://127.0.0.1:9", 1234)
    assert settings.silence_seconds == 3.0
    gemma = settings.for_model("gemma3:4b")
    assert (gemma.mode, gemma.num_ctx, gemma.corrections) == ("prompt", 16384, 2)
    assert gemma.template.startswith("Speak Norwegian")
    assert settings.for_model("qwen3:8b").think is False
    assert settings.for_model("qwen3:4b").think is None
    assert settings.for_model("anything").corrections == 2


PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "serve.md"


def test_the_page_shows_settings_that_are_taken_and_names_every_one(tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    shown = page.partition("```toml\n")[2].partition("```")[0]
    assert load_settings(written(tmp_path, shown), {}).for_model("gemma3:4b").num_ctx == 16384
    named = {*fields(Settings), *fields(ModelSettings)}
    for setting in {field.name for field in named} - {"default", "models"}:
        assert f"`{setting}`" in page, setting


def test_variables_stand_over_the_file(tmp_path: Path) -> None:
    environ = {
        "FALLBACK_PORT": "99",
        "FALLBACK_MODE": "native",
        "FALLBACK_API_KEY": "one-long-key, another-key",
        "FALLBACK_ALLOWED_HOSTS": "a.example, b.example",
        "FALLBACK_INSECURE": "yes",
    }
    settings = load_settings(written(tmp_path), environ)
    assert settings.port == 99
    assert settings.for_model("gemma3").mode == settings.for_model("x").mode == "native"
    assert settings.api_keys == ("from-the-file", "one-long-key", "another-key")
    assert settings.allowed_hosts == ("a.example", "b.example")
    assert settings.insecure


def test_no_file_is_no_mistake_unless_it_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_settings(environ={}) == Settings()
    with pytest.raises(ConfigurationError, match="does not exist"):
        load_settings(tmp_path / "other.toml", {})
    with pytest.raises(ConfigurationError, match="does not exist"):
        load_settings(environ={"FALLBACK_CONFIG": str(tmp_path / "other.toml")})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[server]\nprot = 1", "no setting 'prot'"),
        ("[server]\nport = 'x'", r"port is 'x', but should be a whole number"),
        ("[server]\nport = -1", "cannot be negative"),
        ("[server]\nmodels = 1", "no setting 'models'"),
        ("[default]\nmode = 'both'", "'auto' or 'native' or 'prompt'"),
        ("[models.x]\nnum_ctx = true", "whole number"),
        ("[models.x]\ntemplate = 'missing.j2'", "cannot be read"),
        ("[models.x]\ntemplate = 'fallback.toml'", "template"),
        ("[sever]\nport = 1", r"no section \[sever\]"),
        ("server = 3", "has to be a section"),
        ("= 3", "fallback.toml"),
    ],
)
def test_a_mistake_in_the_file_is_one_line_that_names_the_place(
    tmp_path: Path, text: str, told: str
) -> None:
    if "'fallback.toml'" in text:
        text += "\n# {{ undefined_value }}"
    with pytest.raises(ConfigurationError, match=told) as error:
        load_settings(written(tmp_path, text), {})
    assert "\n" not in str(error.value)


def test_a_mistake_in_a_variable_names_the_variable() -> None:
    with pytest.raises(ConfigurationError, match="FALLBACK_PORT is 'x'"):
        load_settings(environ={"FALLBACK_PORT": "x"})
    with pytest.raises(ConfigurationError, match="FALLBACK_MODE"):
        load_settings(environ={"FALLBACK_MODE": "x"})


@pytest.mark.parametrize("host", ["::", "192.168.1.2", "example.org"])
def test_an_open_door_needs_a_key_or_a_word(host: str) -> None:
    with pytest.raises(ConfigurationError, match="--insecure"):
        Settings(host=host).refuse_exposure()
    Settings(host=host, insecure=True).refuse_exposure()
    Settings(host=host, api_keys=("a-long-key",)).refuse_exposure()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_this_machine_alone_needs_neither(host: str) -> None:
    Settings(host=host).refuse_exposure()


def test_no_secret_is_in_the_repr_of_the_settings() -> None:
    assert "hush" not in repr(Settings(api_keys=("hush-hush",), upstream_key="hush"))


def test_what_is_in_force_is_told_without_a_secret(tmp_path: Path) -> None:
    environ = {"FALLBACK_UPSTREAM": "http://me:hush@h:1"}
    environ |= {"FALLBACK_UPSTREAM_KEY": "hush", "FALLBACK_ALLOWED_HOSTS": "a.example"}
    said = told(load_settings(written(tmp_path), environ))
    assert said["port"] == "1234"
    assert said["upstream"] == "http://h:1"
    assert said["api_keys"] == "1"
    assert said["upstream_key"] == "set"
    assert said["allowed_hosts"] == "a.example"
    assert said["every model"] == "corrections 2"
    assert "num_ctx 16384" in said["models 'gemma3*'"]
    assert "hush" not in str(said)
    assert told(Settings()) == {}
