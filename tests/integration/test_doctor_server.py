"""What the doctor says of a server on this machine."""

from __future__ import annotations

from typing import Any

import pytest

from fallback.cli import main
from fallback.doctor import ModelReport, examine


def only_model(ollama: Any) -> ModelReport:
    report = examine(ollama.url)
    assert report.troubles == ()
    (model,) = report.models
    return model


def test_a_model_without_tools_is_asked_by_prompt(ollama: Any) -> None:
    ollama.has_model(model_info={"general.architecture": "x", "x.context_length": 4096})
    model = only_model(ollama)
    assert (model.name, model.family, model.mode) == ("m:latest", "chatml", "prompt")
    assert (model.window, model.trained, model.live) == (4096, 4096, None)
    assert model.note == ""


def test_the_live_window_is_told(ollama: Any) -> None:
    ollama.has_model()
    ollama.answers("/api/ps", {"models": [{"name": "m:latest", "context_length": 2048}]})
    assert only_model(ollama).live == 2048


def test_a_window_of_the_modelfile_is_the_one_asked_for(ollama: Any) -> None:
    ollama.has_model(parameters="num_ctx                        16384")
    assert only_model(ollama).window == 16384


def test_a_server_that_parses_calls_itself_is_warned_of(ollama: Any) -> None:
    ollama.has_model(capabilities=("completion", "tools"), modelfile="FROM x\nPARSER qwen3-coder\n")
    model = only_model(ollama)
    assert model.mode == "native"
    assert "qwen3-coder" in model.note


def test_an_unknown_chat_format_is_told(ollama: Any) -> None:
    ollama.has_model(template="<<{{ .Prompt }}>>")
    model = only_model(ollama)
    assert model.family is None
    assert "chat format not known" in model.note


def test_a_model_that_only_embeds_has_no_mode(ollama: Any) -> None:
    ollama.has_model(capabilities=("embedding",))
    model = only_model(ollama)
    assert model.mode is None
    assert "does not write text" in model.why


def test_a_model_that_cannot_be_described_does_not_hide_the_others(ollama: Any) -> None:
    ollama.has_model()
    listed = [{"name": "broken", "digest": "x"}, {"name": "m:latest", "digest": "d1"}]
    for path in ("/api/tags", "/api/show"):
        ollama.forget(path)
    ollama.answers("/api/tags", {"models": listed})
    ollama.answers("/api/show", {"error": "no such blob"}, status=500)
    ollama.answers("/api/show", {"template": "", "capabilities": ["completion"]})
    report = examine(ollama.url)
    assert [model.name for model in report.models] == ["m:latest"]
    assert [trouble.what for trouble in report.troubles] == ["model 'broken'"]


def test_the_command_prints_the_models(ollama: Any, capsys: pytest.CaptureFixture[str]) -> None:
    ollama.has_model()
    assert main(["doctor", "--host", ollama.url]) == 0
    shown = capsys.readouterr().out
    assert f"server    {ollama.url}, version 0.33.0 (named with --host)" in shown
    assert "model     m:latest" in shown
    assert "mode prompt: the server says nothing of tools" in shown
    assert "everything works" in shown
