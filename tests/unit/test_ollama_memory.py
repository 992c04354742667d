from __future__ import annotations

import json
from typing import Any

import pytest

from fallback.backend import GenerationRequest, ModelInfo
from fallback.errors import ConfigurationError
from fallback.limits import Limits
from fallback.messages import Message
from fallback.ollama.exchange import Answer
from fallback.ollama.memory import Memory
from fallback.ollama.plan import Way
from fallback.ollama.profile import Profile

LIMITS = Limits(num_ctx=8192)


def profile(digest: str = "d1", **info: Any) -> Profile:
    num_ctx = info.pop("num_ctx", None)
    given = {"name": "m", "capabilities": frozenset({"completion", "tools"})} | info
    return Profile(info=ModelInfo(digest=digest, **given), num_ctx=num_ctx)


def request(num_ctx: int | None = None, **options: Any) -> GenerationRequest:
    messages = (Message(role="user", content="u"),)
    return GenerationRequest(
        model="m", mode="prompt", messages=messages, num_ctx=num_ctx, options=options
    )


@pytest.mark.parametrize(
    ("asked", "known", "window"),
    [
        (request(), profile(context_length=32768), 8192),
        (request(), profile(context_length=2048), 2048),
        (request(), profile(), 8192),
        (request(1024), profile(context_length=2048), 1024),
        (request(num_ctx=None), profile(num_ctx=16384, context_length=32768), 16384),
        (request(512), profile(num_ctx=16384), 512),
    ],
)
def test_the_window_is_the_one_given_or_what_suits_the_model(
    asked: GenerationRequest, known: Profile, window: int
) -> None:
    assert Memory().window(asked, known, LIMITS) == window


def test_a_window_among_the_options_counts_as_given() -> None:
    asked = GenerationRequest(model="m", mode="prompt", messages=(), options={"num_ctx": 1234})
    assert Memory().window(asked, profile(), LIMITS) == 1234


@pytest.mark.parametrize("wrong", ["8k", -1, True, 4.5])
def test_a_window_that_is_no_number_of_tokens_is_refused(wrong: Any) -> None:
    asked = GenerationRequest(model="m", mode="prompt", messages=(), options={"num_ctx": wrong})
    with pytest.raises(ConfigurationError, match="num_ctx is a number of tokens, not"):
        Memory().window(asked, profile(), LIMITS)


def test_a_window_that_was_given_stays_so_that_the_model_is_not_loaded_again() -> None:
    memory = Memory()
    assert memory.window(request(1024), profile(), LIMITS) == 1024
    assert memory.window(request(), profile(), LIMITS) == 1024
    assert memory.window(request(), profile("d2"), LIMITS) == 8192, "another model of that name"


def test_a_refusal_of_tools_is_remembered_for_this_very_model() -> None:
    memory = Memory()
    memory.learn(profile("d1"))
    memory.refuse_tools("m")
    known = memory.profile("m")
    assert known is not None
    assert known.info.capabilities == {"completion"}
    again = memory.learn(profile("d1"))
    assert again.info.capabilities == {"completion"}
    updated = memory.learn(profile("d2"))
    assert updated.info.capabilities == {"completion", "tools"}


def test_a_refusal_by_a_server_without_capabilities_leaves_plain_completion() -> None:
    memory = Memory()
    memory.learn(profile(capabilities=None))
    memory.refuse_tools("m")
    known = memory.profile("m")
    assert known is not None
    assert known.info.capabilities == {"completion"}


def test_a_refusal_of_a_model_that_was_never_asked_about_is_nothing() -> None:
    memory = Memory()
    memory.refuse_tools("m")
    assert memory.profile("m") is None


def test_the_way_of_asking_is_kept_under_name_digest_and_circumstances() -> None:
    memory = Memory()
    way = Way("chat", folded=True)
    assert memory.way(profile(), ("auto", None)) is None
    assert memory.keep_way(profile(), ("auto", None), way) is way
    assert memory.way(profile(), ("auto", None)) is way
    assert memory.way(profile(), ("auto", True)) is None
    assert memory.way(profile("d2"), ("auto", None)) is None


@pytest.mark.parametrize(
    ("version", "cuts"),
    [
        ("0.12.5", True),
        ("0.1.48", True),
        ("0.12.6", False),
        ("0.12.6-rc1", False),
        ("0.33.0", False),
        ("1.0.0", False),
        ("0.0.0", False),
        ("dev", False),
        (None, False),
    ],
)
def test_only_a_version_older_than_truncate_is_mistrusted(version: Any, cuts: bool) -> None:
    memory = Memory()
    memory.hear_version(Answer(200, json.dumps({"version": version}).encode()))
    assert memory.cuts_silently is cuts


@pytest.mark.parametrize("answer", [Answer(404, b""), Answer(200, b"[]"), Answer(200, b"\xff")])
def test_a_server_without_a_version_counts_as_a_recent_one(answer: Answer) -> None:
    memory = Memory()
    memory.hear_version(answer)
    assert memory.version is not None
    assert not memory.cuts_silently
