"""The adapter goes by what was measured of a model, unless its operator has said otherwise."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from profile_kit import measured, profile_of
from scripted_upstream import Scripted

from fallback.backend import GenerationRequest, ModelInfo
from fallback.errors import ConfigurationError
from fallback.profiles import WayEvidence, save
from fallback.profiles.places import file_name
from fallback.proxy.config import load_settings
from fallback.proxy.gateway import Gateway
from fallback.proxy.http import Incoming
from fallback.proxy.settings import ModelSettings, Settings

INFO = ModelInfo(name="m", digest="scripted")
TOOL = {
    "type": "function",
    "function": {"name": "ping", "description": "Pings.", "parameters": {"type": "object"}},
}
CALL = "```tool_code\nping()\n```"


def upstream_of(*replies: str) -> Scripted:
    return Scripted(*replies, capabilities=["tools"])


def asked(
    upstream: Scripted, default: ModelSettings | None = None
) -> tuple[list[str], list[GenerationRequest]]:
    """The calls that a client is told, and what the model was sent."""

    async def run() -> list[str]:
        served: Any = upstream
        gateway = Gateway(Settings(default=default or ModelSettings()), upstream=served)
        request = {"model": "m", "messages": [{"role": "user", "content": "Ping!"}]}

        async def pieces() -> AsyncIterator[bytes]:
            yield json.dumps({**request, "tools": [TOOL]}).encode()

        reply = await gateway.handle(Incoming("POST", "/v1/chat/completions", body=pieces()))
        assert isinstance(reply.body, bytes)
        message = json.loads(reply.body)["choices"][0]["message"]
        return [call["function"]["name"] for call in message.get("tool_calls") or ()]

    return anyio.run(run), upstream.model.requests


def test_a_profile_decides_how_the_model_is_asked(profile_folder: Path) -> None:
    measured(profile_folder, endpoint="chat", num_ctx=2048, think=False, example=False)
    upstream = upstream_of(CALL)
    calls, (request,) = asked(upstream)
    assert calls == ["ping"]
    assert upstream.endpoints == ["chat"]
    assert (request.mode, request.num_ctx, request.think) == ("prompt", 2048, False)
    assert "tool_code" in request.messages[0].content
    _, (with_example,) = asked(upstream_of(CALL), ModelSettings(example=True))
    assert with_example.messages[0].content != request.messages[0].content


@pytest.mark.parametrize(
    ("other", "mode", "endpoint", "told"),
    [
        ("native+read", "native", "auto", None),
        ("prompt:pythonic+chat+no-example", "prompt", "chat", "tool_code"),
        ("prompt:inline", "native", "auto", None),  # not here: as if there were no profile
    ],
)
def test_a_server_that_cannot_decide_is_asked_in_the_best_way_that_does_not(
    profile_folder: Path, other: str, mode: str, endpoint: str, told: str | None
) -> None:
    ways = {"decide:3.9": (8, 1.0), "decide": (16, 1.0), "prompt:hermes": (16, 0.4)}
    ways |= {"prompt:fenced": (8, 0.9), other: (16, 0.5)}
    seen = [WayEvidence(name=w, n=n, rate=r, low=0.1, high=1.0) for w, (n, r) in ways.items()]
    evidence = replace(profile_of().evidence, ways=tuple(seen))
    measured(profile_folder, way="decide:3.9", dialect="fenced", decide=3.9, evidence=evidence)
    upstream = upstream_of(CALL)
    calls, (request,) = asked(upstream)
    assert calls == ["ping"]
    assert (request.mode, upstream.endpoints) == (mode, ["generate", endpoint])
    assert told is None or told in request.messages[0].content


def test_a_native_profile_can_leave_text_unread(profile_folder: Path) -> None:
    measured(profile_folder, way="native", mode="native", dialect="", read_text=False)
    calls, (request,) = asked(upstream_of(CALL))
    assert (calls, request.mode) == ([], "native")
    calls, _ = asked(upstream_of(CALL), ModelSettings(read_text=True))
    assert calls == ["ping"]


def test_the_operators_own_settings_go_before_it(profile_folder: Path) -> None:
    measured(profile_folder, endpoint="chat", num_ctx=2048)
    own = ModelSettings(dialect="fenced", endpoint="generate", num_ctx=4096)
    upstream = upstream_of(CALL)
    _, (request,) = asked(upstream, own)
    assert upstream.endpoints == ["generate"]
    assert request.num_ctx == 4096
    assert "tool_code" not in request.messages[0].content
    for settings in (ModelSettings(mode="native"), ModelSettings(profile="off")):
        _, (request,) = asked(upstream_of(CALL), settings)
        assert request.mode == "native"


def test_a_stale_profile_is_logged_and_not_used(
    profile_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    save(replace(profile_of(INFO), digest="old"), profile_folder / file_name("m", "old"))
    _, (request,) = asked(upstream_of(CALL))
    assert request.mode == "native"
    (line,) = caplog.messages
    assert "fallback calibrate m" in line


def test_the_file_of_settings_can_name_a_profile_beside_it(profile_folder: Path) -> None:
    path = measured(profile_folder)
    config = profile_folder / "fallback.toml"
    config.write_text(f'[models."m"]\nprofile = "{path.name}"\n', encoding="utf-8")
    settings = load_settings(config, environ={})
    assert settings.for_model("m").profile == str(path)
    assert settings.for_model("other").profile == "auto"


def test_a_profile_that_cannot_be_read_keeps_the_server_from_starting(profile_folder: Path) -> None:
    server: Any = upstream_of()
    settings = Settings(default=ModelSettings(profile=str(profile_folder / "none.toml")))
    with pytest.raises(ConfigurationError, match="there is no such file"):
        Gateway(settings, upstream=server)

    gateway = Gateway(Settings(), upstream=server)
    with pytest.raises(ConfigurationError, match="there is no such file"):
        gateway.reload(settings)
    assert gateway.settings == Settings()
