from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from fallback.backend import GenerationRequest, ModelInfo
from fallback.catalogue import Catalogue
from fallback.errors import CapabilityError, UsageError
from fallback.families import FAMILIES, Style
from fallback.limits import DEFAULT_LIMITS
from fallback.messages import Message, ToolCall, ToolResult
from fallback.ollama import plan
from fallback.ollama.exchange import Answer
from fallback.ollama.plan import GenerationPlan, Sending, Survival, Way, folded, survival
from fallback.ollama.profile import Profile
from fallback.tools import Tool

SENDING = Sending(4096, DEFAULT_LIMITS, "10m")
ROLL = Tool.from_dict({"name": "roll", "description": "Rolls.", "parameters": {"type": "object"}})


def profile(family: str | None = None, *capabilities: str, **more: Any) -> Profile:
    info = ModelInfo(name="m", capabilities=frozenset({"completion", *capabilities}))
    return Profile(info=info, family=FAMILIES[family] if family else None, **more)


def request(*texts: str, system: str | None = "S", **fields: Any) -> GenerationRequest:
    roles = ("user", "assistant")
    messages = [Message(role=roles[i % 2], content=t) for i, t in enumerate(texts or ("u",))]  # type: ignore[arg-type] # both are roles
    if system is not None:
        messages.insert(0, Message(role="system", content=system))
    given: dict[str, Any] = {"model": "m", "mode": "prompt", "messages": tuple(messages)}
    return GenerationRequest(**(given | fields))


def body(made: GenerationPlan) -> dict[str, Any]:
    return dict(made.exchange.body or {})


# Raw ----------------------------------------------------------------------------------------------


def test_a_known_family_is_asked_with_a_finished_prompt() -> None:
    made = plan.plan_raw(request("u", "a", "v"), profile("chatml", stop=("<stop>",)), SENDING)
    sent = body(made)
    assert (made.kind, made.path) == ("generate", "generate/raw/chatml")
    assert made.exchange.path == "/api/generate"
    assert sent["raw"] is True
    assert sent["prompt"].endswith("<|im_start|>user\nv<|im_end|>\n<|im_start|>assistant\n")
    assert sent["options"]["stop"] == ["<|im_end|>", "<|im_start|>", "<|endoftext|>", "<stop>"]
    assert sent["options"]["num_ctx"] == 4096
    assert sent["keep_alive"] == "10m"
    assert "think" not in sent
    assert made.prompt_chars == len(sent["prompt"])


def test_a_prefill_is_put_into_the_models_mouth() -> None:
    made = plan.plan_raw(request(prefill="```tool_call\n"), profile("chatml"), SENDING)
    assert body(made)["prompt"].endswith("<|im_start|>assistant\n```tool_call\n")


def test_what_a_raw_prompt_does_not_get_from_the_modelfile_is_put_in() -> None:
    history = (Message(role="user", content="h1"), Message(role="assistant", content="h2"))
    known = profile("chatml", system="From the Modelfile.", history=history)
    bare = body(plan.plan_raw(request("u", system=None), known, SENDING))["prompt"]
    assert bare.startswith(
        "<|im_start|>system\nFrom the Modelfile.<|im_end|>\n<|im_start|>user\nh1"
    )
    own = body(plan.plan_raw(request("u"), known, SENDING))["prompt"]
    assert "From the Modelfile." not in own
    assert own.startswith("<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nh1")


def test_a_history_of_the_modelfile_that_fits_no_template_is_left_out() -> None:
    odd = profile("chatml", history=(Message(role="assistant", content="h"),))
    assert "h<|im_end|>" not in body(plan.plan_raw(request("u"), odd, SENDING))["prompt"]


def thinking_chatml() -> Profile:
    style = Style(opening="<think>\n", closed="<think>\n\n</think>\n\n")
    return replace(profile("chatml", "thinking"), family=replace(FAMILIES["chatml"], style=style))


def test_reasoning_in_a_raw_reply_is_left_for_us_to_split() -> None:
    made = plan.plan_raw(request(), thinking_chatml(), SENDING)
    assert body(made)["think"] is False
    assert body(made)["prompt"].endswith("<think>\n")
    assert made.opened


def test_thinking_can_be_switched_off_in_a_raw_prompt() -> None:
    made = plan.plan_raw(request(think=False), thinking_chatml(), SENDING)
    assert body(made)["prompt"].endswith("<think>\n\n</think>\n\n")
    assert not made.opened


def test_bos_is_spelled_where_the_tokenizer_does_not_add_it() -> None:
    made = plan.plan_raw(request(), profile("llama3", bos=True), SENDING)
    assert body(made)["prompt"].startswith("<|begin_of_text|><|start_header_id|>")


def test_a_format_goes_along() -> None:
    made = plan.plan_raw(request(format={"type": "object"}), profile("chatml"), SENDING)
    assert body(made)["format"] == {"type": "object"}


def test_an_unknown_family_cannot_be_asked_raw() -> None:
    with pytest.raises(CapabilityError, match="not known"):
        plan.plan_raw(request(), profile(), SENDING)


# System and prompt --------------------------------------------------------------------------------


def test_an_unknown_family_gets_its_system_text_and_one_prompt() -> None:
    made = plan.plan_system(request("u"), profile(stop=("X",)), SENDING, Way("system"))
    sent = body(made)
    assert made.path == "generate/system"
    assert (sent["system"], sent["prompt"]) == ("S", "u")
    assert "raw" not in sent
    assert sent["options"]["stop"] == ["X"]


def test_a_conversation_is_told_in_the_prompt() -> None:
    made = plan.plan_system(request("u", "a", "v"), profile(), SENDING, Way("system"))
    assert body(made)["prompt"] == "User:\nu\n\nAssistant:\na\n\nUser:\nv"


def test_a_system_text_that_would_be_dropped_goes_into_the_prompt() -> None:
    made = plan.plan_system(request("u"), profile(), SENDING, Way("system", folded=True))
    assert "system" not in body(made)
    assert body(made)["prompt"] == "S\n\nu"


def test_the_rendered_prompt_tells_whether_it_opens_the_reasoning() -> None:
    way = Way("system", opened=True)
    assert plan.plan_system(request(), profile(), SENDING, way).opened


def test_a_single_question_is_not_headed() -> None:
    assert folded(plan.turns_of(request("only this").messages)) == "only this"


# Chat ---------------------------------------------------------------------------------------------


def test_a_chat_without_tools_keeps_to_the_roles_every_template_takes() -> None:
    asked = request("u", "a", "v", "b", "w")
    made = plan.plan_chat(asked, profile(), SENDING, Way("chat"))
    assert (made.kind, made.path) == ("chat", "chat")
    roles = [message["role"] for message in body(made)["messages"]]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user"]
    assert "tools" not in body(made)


def test_a_chat_may_carry_its_system_text_in_the_first_user_turn() -> None:
    made = plan.plan_chat(request("u", "a", "v"), profile(), SENDING, Way("chat", folded=True))
    assert body(made)["messages"][0] == {"role": "user", "content": "S\n\nu"}
    assert len(body(made)["messages"]) == 3


def test_an_image_goes_along_in_a_chat() -> None:
    asked = request("u", system=None)
    seen = replace(asked, messages=(Message(role="user", content="u", images=("aGk=",)),))
    made = plan.plan_chat(seen, profile(), SENDING, Way("chat"))
    assert body(made)["messages"] == [{"role": "user", "content": "u", "images": ["aGk="]}]


# Native -------------------------------------------------------------------------------------------


def test_native_mode_offers_the_tools_and_keeps_calls_and_results() -> None:
    call = ToolCall(id="c1", name="roll", arguments={"n": 2})
    result = ToolResult(call_id="c1", name="roll", content="7")
    messages = (
        Message(role="user", content="Roll!"),
        Message(role="assistant", tool_calls=(call,)),
        Message(role="tool", content="7", result=result),
    )
    asked = replace(request(), mode="native", messages=messages, catalogue=Catalogue([ROLL]))
    made = plan.plan_native(asked, profile("chatml", "tools"), SENDING)
    sent = body(made)
    assert (made.kind, made.path) == ("chat", "chat+tools")
    assert sent["tools"][0]["function"]["name"] == "roll"
    assert sent["messages"][1]["tool_calls"][0]["function"]["arguments"] == {"n": 2}
    assert sent["messages"][2]["tool_name"] == "roll"
    assert sent["options"]["stop"][0] == "<|im_end|>"
    assert made.prompt_chars > 0


@pytest.mark.parametrize("catalogue", [None, Catalogue([])])
def test_native_mode_without_tools_is_a_plain_chat(catalogue: Catalogue | None) -> None:
    asked = replace(request(), mode="native", catalogue=catalogue)
    made = plan.plan_native(asked, profile(), SENDING)
    assert made.path == "chat"
    assert "tools" not in body(made)


# Thinking, prefill, control tokens ----------------------------------------------------------------


@pytest.mark.parametrize("think", [True, False, "high"])
def test_think_is_sent_to_thinking_models_alone(think: bool | str) -> None:
    asked = request(think=think)
    for make in (plan.plan_system, plan.plan_chat):
        way = Way("system")
        assert body(make(asked, profile(None, "thinking"), SENDING, way))["think"] == think
        assert "think" not in body(make(asked, profile(), SENDING, way))
    assert body(plan.plan_native(asked, profile(None, "thinking"), SENDING))["think"] == think
    assert "think" not in body(plan.plan_native(asked, profile(), SENDING))


def test_a_reply_that_is_begun_does_not_think_first() -> None:
    thinking = Style(opening="<think>\n", closed="<think>\n\n</think>\n\n")
    family = replace(FAMILIES["chatml"], style=thinking)
    made = plan.plan_raw(request(prefill="{"), replace(profile("chatml"), family=family), SENDING)
    prompt = body(made)["prompt"]
    assert prompt.endswith("<think>\n\n</think>\n\n{")
    assert (made.opened, made.prefill) == (False, "{")


def test_a_prefill_that_would_be_lost_is_refused() -> None:
    asked = request(prefill="{")
    for make in (
        lambda: plan.plan_system(asked, profile(), SENDING, Way("system")),
        lambda: plan.plan_chat(asked, profile(), SENDING, Way("chat")),
        lambda: plan.plan_native(asked, profile(), SENDING),
    ):
        with pytest.raises(CapabilityError, match="cannot be begun") as caught:
            make()
        assert caught.value.missing == "prefill"


def test_no_way_lets_text_become_a_control_token() -> None:
    bad = "<|im_end|>"
    asked = request(bad, bad, bad, system=bad)
    plans = [
        plan.plan_system(asked, profile(), SENDING, Way("system")),
        plan.plan_chat(asked, profile(), SENDING, Way("chat")),
        plan.plan_chat(asked, profile(), SENDING, Way("chat", folded=True)),
        plan.plan_native(asked, profile(), SENDING),
    ]
    for made in plans:
        assert bad not in json.dumps(made.exchange.body, ensure_ascii=False)
    raw = body(plan.plan_raw(asked, profile("chatml"), SENDING))["prompt"]
    assert raw.count(bad) == 4, "one for each turn, and all of them the template's"


def test_messages_that_no_prompt_can_hold_are_the_callers_mistake() -> None:
    asked = replace(request(), messages=(Message(role="assistant", content="x"),))
    with pytest.raises(UsageError):
        plan.plan_raw(asked, profile("chatml"), SENDING)


# The probe ----------------------------------------------------------------------------------------


def rendered(text: str, status: int = 200) -> Survival | None:
    answer = json.dumps({"_debug_info": {"rendered_template": text}}).encode()
    return survival(Answer(status, answer))


def test_the_probes_ask_for_rendering_alone() -> None:
    for probe, path in (
        (plan.probe_system(request(), profile(), SENDING), "/api/generate"),
        (plan.probe_chat(request(), profile(), SENDING), "/api/chat"),
    ):
        assert probe.path == path
        assert probe.body is not None
        assert probe.body["_debug_render_only"] is True
        assert probe.body["options"]["num_ctx"] == 4096, "or the model would be loaded twice"


def test_a_rendered_prompt_shows_what_has_survived() -> None:
    system, user = plan._SYSTEM_MARK, plan._USER_MARK
    assert rendered(f"<s>{system}</s><u>{user}</u>") == Survival(system=True, opened=False)
    assert rendered(f"<u>{user}</u>") == Survival(system=False, opened=False)
    assert rendered(f"{system}{user}<think>\n") == Survival(system=True, opened=True)
    assert rendered(f"{system}{user}<think></think>") == Survival(system=True, opened=False)
    assert rendered(f"<think>{system}</think>{user}") == Survival(system=True, opened=False)


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"_debug_info": null}', b'{"response":"x"}'])
def test_a_server_that_does_not_show_its_prompts_tells_nothing(body: bytes) -> None:
    assert survival(Answer(200, body)) is None


def test_a_refused_probe_tells_nothing() -> None:
    assert rendered(plan._USER_MARK, status=500) is None
    assert rendered("something else") is None


@pytest.mark.parametrize("fold", [True, False])
def test_each_image_stays_with_its_own_turn_of_a_chat(fold: bool) -> None:
    asked = request("u", "a", "v")
    system, first, reply, last = asked.messages
    said = (
        system,
        replace(first, images=("Zmlyc3Q=",)),
        Message(role="user", content="more", images=("bW9yZQ==",)),
        reply,
        replace(last, images=("bGFzdA==",)),
    )
    made = plan.plan_chat(replace(asked, messages=said), profile(), SENDING, Way("chat", fold))
    told = [m for m in body(made)["messages"] if m["role"] != "system"]
    images = [m.get("images", []) for m in told]
    assert images == [["Zmlyc3Q=", "bW9yZQ=="], [], ["bGFzdA=="]]
