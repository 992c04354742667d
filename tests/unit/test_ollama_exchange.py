from __future__ import annotations

from typing import Any

import pytest

from fallback.backend import GenerationRequest
from fallback.errors import ConfigurationError
from fallback.limits import DEFAULT_LIMITS, Limits
from fallback.messages import Message
from fallback.ollama import exchange


def request(**fields: Any) -> GenerationRequest:
    given: dict[str, Any] = {"model": "m", "mode": "prompt"}
    given["messages"] = (Message(role="user", content="hi"),)
    return GenerationRequest(**(given | fields))


def options(asked: GenerationRequest, *stop: str) -> dict[str, Any]:
    return exchange.options_for(asked, num_ctx=4096, stop=stop, limits=DEFAULT_LIMITS)


def test_every_generation_names_its_window_and_forbids_silent_cuts() -> None:
    fields = exchange.common_fields("m", options(request()))
    assert fields["options"]["num_ctx"] == 4096
    assert fields["truncate"] is False
    assert fields["shift"] is False
    assert fields["stream"] is True


def test_the_users_options_are_kept() -> None:
    asked = request(options={"temperature": 0, "seed": 7, "top_k": 1})
    assert options(asked) == {
        "temperature": 0,
        "seed": 7,
        "top_k": 1,
        "num_ctx": 4096,
        "num_predict": DEFAULT_LIMITS.num_predict,
    }


@pytest.mark.parametrize(
    ("given", "sent"), [(50, 50), (-1, -1), (0, 1), (None, DEFAULT_LIMITS.num_predict)]
)
def test_num_predict_is_never_the_ambiguous_zero(given: int | None, sent: int) -> None:
    assert options(request(options={"num_predict": given}))["num_predict"] == sent


def test_stop_strings_are_added_to_the_models_own() -> None:
    asked = request(stop=("```tool_result", "<|im_end|>"), options={"stop": ["X", ""]})
    assert options(asked, "<|im_end|>", "</s>")["stop"] == [
        "<|im_end|>",
        "</s>",
        "X",
        "```tool_result",
    ]


def test_one_stop_string_may_be_given_bare() -> None:
    assert options(request(options={"stop": "END"}))["stop"] == ["END"]


def test_without_any_stop_string_the_models_own_list_is_left_alone() -> None:
    assert "stop" not in options(request())


def test_what_is_not_given_is_not_sent() -> None:
    assert not {"think", "format", "keep_alive"} & exchange.common_fields("m", {}).keys()
    fields = exchange.common_fields(
        "m", {}, think=False, response_format={"type": "object"}, keep_alive=0
    )
    assert fields["think"] is False
    assert fields["format"] == {"type": "object"}
    assert fields["keep_alive"] == 0


def test_a_raw_prompt_goes_without_system_and_template() -> None:
    made = exchange.generate_raw(exchange.common_fields("m", {}), "<|im_start|>")
    assert (made.method, made.path) == ("POST", "/api/generate")
    assert made.body is not None
    assert made.body["raw"] is True
    assert made.body["prompt"] == "<|im_start|>"
    # The server answers 400 to raw mode with any of these.
    assert not {"system", "template", "context"} & made.body.keys()


def test_a_system_text_and_a_prompt_are_rendered_by_the_server() -> None:
    body = exchange.generate_system({}, "S", "P").body
    assert body == {"system": "S", "prompt": "P"}
    assert exchange.generate_system({}, None, "P").body == {"prompt": "P"}


def test_a_chat_without_tools_does_not_speak_of_tools() -> None:
    messages = [{"role": "user", "content": "hi"}]
    assert exchange.chat({}, messages).body == {"messages": messages}
    tools = [{"type": "function"}]
    assert exchange.chat({}, messages, tools).body == {"messages": messages, "tools": tools}


def test_a_server_that_cannot_only_render_writes_one_token_at_most() -> None:
    asked = exchange.generate_system({"stream": True, "options": {"num_ctx": 9}}, "S", "P")
    probe = exchange.render_only(asked)
    assert probe.path == "/api/generate"
    assert probe.body is not None
    assert probe.body["_debug_render_only"] is True
    assert probe.body["stream"] is False
    assert probe.body["options"] == {"num_ctx": 9, "num_predict": 1}
    assert asked.body is not None
    assert "_debug_render_only" not in asked.body


def test_the_questions_about_models_have_no_side_effects() -> None:
    assert exchange.show("m") == exchange.Exchange("POST", "/api/show", {"model": "m"})
    gets = [exchange.tags(), exchange.ps(), exchange.version()]
    assert [(get.method, get.path) for get in gets] == [
        ("GET", "/api/tags"),
        ("GET", "/api/ps"),
        ("GET", "/api/version"),
    ]


def test_a_body_is_written_in_utf_8_and_half_characters_are_replaced() -> None:
    assert exchange.encoded({"a": "é<b>"}) == '{"a": "é<b>"}'.encode()
    file_name = b"caf\xe9".decode("utf-8", "surrogateescape")
    assert exchange.encoded({"a": file_name}) == '{"a": "caf\N{REPLACEMENT CHARACTER}"}'.encode()


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, object()])
def test_what_is_no_json_is_told_as_the_callers_mistake(value: Any) -> None:
    with pytest.raises(ConfigurationError, match="cannot be written as JSON"):
        exchange.encoded({"options": {"temperature": value}})


def test_the_callers_options_are_never_changed() -> None:
    mine: dict[str, Any] = {"stop": ["X"]}
    exchange.options_for(request(options=mine), num_ctx=1, stop=("Y",), limits=Limits())
    assert mine == {"stop": ["X"]}
