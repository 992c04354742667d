from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fallback.errors import UsageError
from fallback.families import FAMILIES, Style, opens_reasoning, recognise, render, turns_of
from fallback.messages import Message, Role
from fallback.resources import data_dir


def talk(*texts: str, system: str | None = None) -> list[Message]:
    """Texts in turn from the user and the assistant."""
    roles: tuple[Role, Role] = ("user", "assistant")
    head = [] if system is None else [Message(role="system", content=system)]
    turns = [Message(role=roles[i % 2], content=text) for i, text in enumerate(texts)]
    return head + turns


# One template per family, as short as its format allows, and what a history becomes.
PLAIN = {
    "phi4": (
        "{{ .Content }}<|im_start|><|im_sep|>",
        (
            "<|im_start|>system<|im_sep|>S<|im_end|><|im_start|>user<|im_sep|>a<|im_end|>"
            "<|im_start|>assistant<|im_sep|>b<|im_end|><|im_start|>user<|im_sep|>c<|im_end|>"
            "<|im_start|>assistant<|im_sep|>"
        ),
    ),
    "chatml": (
        "<|im_start|>{{ .Role }}",
        (
            "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\na<|im_end|>\n"
            "<|im_start|>assistant\nb<|im_end|>\n<|im_start|>user\nc<|im_end|>\n"
            "<|im_start|>assistant\n"
        ),
    ),
    "mistral-v7": (
        "{{ [SYSTEM_PROMPT] [INST] ",
        "[SYSTEM_PROMPT] S[/SYSTEM_PROMPT][INST] a[/INST]b</s>[INST] c[/INST]",
    ),
    "mistral-v3": ("[AVAILABLE_TOOLS] [INST] ", "[INST] a[/INST]b</s>[INST] S\n\nc[/INST]"),
    "llama2": (
        "[INST] <<SYS>>",
        "[INST] <<SYS>>\nS\n<</SYS>>\n\na [/INST] b</s><s>[INST] c [/INST]",
    ),
    "mistral-v1": (
        '[INST] {{ eq .Role "assistant" }} {{ .Content }}',
        "[INST] S\n\na[/INST] b</s>[INST] c[/INST]",
    ),
    "phi3": (
        "<|{{ .Role }}|>{{ .Content }}<|end|><|assistant|>",
        (
            "<|system|>\nS<|end|>\n<|user|>\na<|end|>\n<|assistant|>\nb<|end|>\n"
            "<|user|>\nc<|end|>\n<|assistant|>\n"
        ),
    ),
    "granite": (
        "<|start_of_role|>",
        (
            "<|start_of_role|>system<|end_of_role|>S<|end_of_text|>\n"
            "<|start_of_role|>user<|end_of_role|>a<|end_of_text|>\n"
            "<|start_of_role|>assistant<|end_of_role|>b<|end_of_text|>\n"
            "<|start_of_role|>user<|end_of_role|>c<|end_of_text|>\n"
            "<|start_of_role|>assistant<|end_of_role|>"
        ),
    ),
    "zephyr": (
        "<|{{ .Role }}|>{{ .Content }}</s><|assistant|>",
        (
            "<|system|>\nS</s>\n<|user|>\na</s>\n<|assistant|>\nb</s>\n<|user|>\nc</s>\n"
            "<|assistant|>\n"
        ),
    ),
    "gemma": (
        "<start_of_turn>",
        (
            "<start_of_turn>user\nS\n\na<end_of_turn>\n<start_of_turn>model\nb<end_of_turn>\n"
            "<start_of_turn>user\nc<end_of_turn>\n<start_of_turn>model\n"
        ),
    ),
    "llama3": (
        "<|start_header_id|>{{ .Role }}<|end_header_id|>",
        (
            "<|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\na<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\nb<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\nc<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n"
        ),
    ),
    "command-r": (
        "<|START_OF_TURN_TOKEN|><|USER_TOKEN|>",
        (
            "<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>S<|END_OF_TURN_TOKEN|>"
            "<|START_OF_TURN_TOKEN|><|USER_TOKEN|>a<|END_OF_TURN_TOKEN|>"
            "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>b<|END_OF_TURN_TOKEN|>"
            "<|START_OF_TURN_TOKEN|><|USER_TOKEN|>c<|END_OF_TURN_TOKEN|>"
            "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>"
        ),
    ),
    "deepseek": (
        "<｜User｜>{{ .Content }}<｜Assistant｜>",
        "S<｜User｜>a<｜Assistant｜>b<｜end▁of▁sentence｜><｜User｜>c<｜Assistant｜>",
    ),
    "deepseek-coder": (
        "### Instruction: ### Response: <|EOT|>",
        "S### Instruction:\na\n### Response:\nb\n<|EOT|>\n### Instruction:\nc\n### Response:\n",
    ),
    "openchat": (
        "GPT4 Correct User:",
        (
            "GPT4 Correct System: S<|end_of_turn|>GPT4 Correct User: a<|end_of_turn|>"
            "GPT4 Correct Assistant: b<|end_of_turn|>GPT4 Correct User: c<|end_of_turn|>"
            "GPT4 Correct Assistant:"
        ),
    ),
    "vicuna": (
        "USER: {{ .Prompt }} ASSISTANT:",
        "S\n\nUSER: a\nASSISTANT: b</s>\nUSER: c\nASSISTANT:",
    ),
    "alpaca": (
        "### Instruction:",
        "S\n\n### Instruction:\na\n\n### Response:\nb\n\n### Instruction:\nc\n\n### Response:\n",
    ),
    "solar": (
        "### User:",
        (
            "### System:\nS\n\n### User:\na\n\n### Assistant:\nb</s>\n\n### User:\nc\n\n"
            "### Assistant:\n"
        ),
    ),
}


def test_every_family_has_a_case() -> None:
    assert set(PLAIN) == set(FAMILIES)


@pytest.mark.parametrize("name", PLAIN)
def test_a_history_is_written_in_the_format_of_the_family(name: str) -> None:
    template, expected = PLAIN[name]
    family = recognise(template)
    assert family is not None
    assert family.name == name
    assert render(family, talk("a", "b", "c", system="S")) == expected


@pytest.mark.parametrize("name", PLAIN)
def test_without_a_system_text_only_the_turns_are_written(name: str) -> None:
    family = recognise(PLAIN[name][0])
    assert family is not None
    prompt = render(family, talk("a", "b", "c"))
    assert "S\n\n" not in prompt
    assert "system" not in prompt.lower()
    assert prompt.endswith(render(family, talk("c")).removeprefix(family.style.before)[-9:])


def test_each_chat_template_ends_with_one_line_break() -> None:
    files = sorted((data_dir("templates") / "chat").glob("*.jinja"))
    assert {file.name for file in files} == {family.template for family in FAMILIES.values()}
    for file in files:
        text = file.read_text("utf-8")
        assert text.endswith("\n")
        assert not text.endswith(("\n\n", "-%}\n")), file.name


@pytest.mark.parametrize(
    "template",
    [
        "{{ .Prompt }}",
        "",
        "<start_{{ .Role }}>{{ .Content }}<end_message>",
        "User: {{ .Content }} Falcon:",
        "<|start|>{{ .Role }}<|channel|>final<|assistant|></s>",
        "<|turn>user",
        "<|start_header_id|><|end_header_id|>>>>all",
        "<|START_OF_TURN_TOKEN|><|USER_TOKEN|><|START_RESPONSE|>",
        "<|assistant|><|end|>[BEGIN FINAL RESPONSE]",
    ],
)
def test_a_format_that_is_not_known_is_not_guessed(template: str) -> None:
    assert recognise(template) is None


@pytest.mark.parametrize(
    ("renderer", "name"),
    [("qwen3-coder", "chatml"), ("deepseek3.1", "deepseek"), ("lfm2", "chatml")],
)
def test_a_builtin_renderer_tells_what_a_stub_of_a_template_cannot(
    renderer: str, name: str
) -> None:
    family = recognise("{{ .Prompt }}", renderer=renderer)
    assert family is not None
    assert family.name == name


def test_an_unknown_builtin_renderer_outweighs_the_template() -> None:
    assert recognise("<|im_start|>", renderer="glimmer") is None


def test_neighbours_of_one_role_are_joined_with_an_empty_line() -> None:
    messages = [*talk("a"), *talk("b"), *talk("c")]
    assert turns_of(messages).turns == (("user", "a\n\nb\n\nc"),)
    systems = [*talk(system="S"), *talk("a", system="T")]
    assert turns_of(systems).system == "S\n\nT"


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        ([], "begin and end with"),
        (talk("a", "b"), "begin and end with"),
        ([Message(role="assistant", content="b"), *talk("a")], "begin and end with"),
        ([*talk("a"), Message(role="tool", content="t")], "found role 'tool' at message 2"),
        ([*talk("a"), *talk(system="late")], "found role 'system' at message 2"),
    ],
)
def test_what_is_no_conversation_is_refused(messages: list[Message], fault: str) -> None:
    with pytest.raises(UsageError, match=fault):
        render(FAMILIES["chatml"], messages)


def test_a_prefill_continues_after_the_gap_that_the_history_has_too() -> None:
    assert render(FAMILIES["chatml"], talk("a"), prefill="{").endswith("assistant\n{")
    assert render(FAMILIES["vicuna"], talk("a"), prefill="{").endswith("ASSISTANT: {")
    assert render(FAMILIES["llama2"], talk("a"), prefill="{").endswith("[/INST] {")


def test_bos_is_written_only_on_demand() -> None:
    prompt = render(FAMILIES["llama3"], talk("a"))
    assert "<|begin_of_text|>" not in prompt
    assert render(FAMILIES["llama3"], talk("a"), bos=True) == "<|begin_of_text|>" + prompt


def styled(**style: Any) -> Any:
    return replace(FAMILIES["chatml"], style=Style(**style))


def test_reasoning_that_the_template_opens_is_opened_and_said_so() -> None:
    family = styled(opening="<think>\n", closed="<think>\n\n</think>\n\n")
    assert render(family, talk("a")).endswith("assistant\n<think>\n")
    assert render(family, talk("a"), think=False).endswith("<think>\n\n</think>\n\n")
    assert opens_reasoning(family)
    assert opens_reasoning(family, prefill="Let me see")
    assert not opens_reasoning(family, think=False)
    assert not opens_reasoning(family, prefill="</think>{")
    assert not opens_reasoning(FAMILIES["chatml"], prefill="<b>")


@pytest.mark.parametrize(
    ("drop", "expected"),
    [
        ("keep", "<think>\nr</think>\n b \n"),
        ("cut", "\n b \n"),
        ("lines", " b \n"),
        ("space", "b"),
    ],
)
def test_past_reasoning_is_dropped_as_the_template_does(drop: str, expected: str) -> None:
    messages = talk("a", "<think>\nr</think>\n b \n", "c")
    assert f"<|im_start|>assistant\n{expected}<|im_end|>" in render(styled(drop=drop), messages)


def test_the_last_reply_may_keep_its_reasoning() -> None:
    family = styled(drop="space", keep_last=True)
    prompt = render(family, talk("a", "<think>1</think>b", "c", "<think>2</think>d", "e"))
    assert "<think>1" not in prompt
    assert "<think>2</think>d" in prompt


def test_a_default_system_text_stands_in_for_none() -> None:
    family = recognise("{%- if 0 %}{{- '<|im_start|>system\\nYou are Q.<|im_end|>\\n' }}")
    assert family is not None
    assert render(family, talk("a")).startswith("<|im_start|>system\nYou are Q.<|im_end|>\n")
    assert "You are Q." not in render(family, talk("a", system="S"))


def test_text_is_never_taken_for_a_template() -> None:
    prompt = render(
        FAMILIES["chatml"], talk("{{ 7 * 7 }} {% raw %} {# x #}", system="{{ system }}")
    )
    assert "{{ 7 * 7 }} {% raw %} {# x #}" in prompt
    assert "{{ system }}" in prompt
    assert "49" not in prompt


def test_nothing_is_escaped_for_html() -> None:
    assert "a<b & 'c' \"d\" é" in render(FAMILIES["gemma"], talk("a<b & 'c' \"d\" é"))


def test_the_template_of_llama_3_1_shows_its_header() -> None:
    jinja = "{% x %}<|start_header_id|><|end_header_id|>Cutting Knowledge Date: December 2023"
    family = recognise(jinja + " Today Date: ")
    assert family is not None
    assert render(family, talk("a")).startswith(
        "<|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December 2023\n"
        "Today Date: 26 Jul 2024\n\n<|eot_id|>"
    )
    go = recognise(jinja.removeprefix("{% x %}"))
    assert go is not None
    assert go.style.system_header == "Cutting Knowledge Date: December 2023\n\n"


def test_a_go_template_shows_how_thinking_is_switched_off() -> None:
    family = recognise(
        "<|im_start|>assistant\n{{ if and $.IsThinkSet (not $.Think) -}}\n<think>\n\n</think>\n\n"
        "{{ end -}}"
    )
    assert family is not None
    assert (family.style.opening, family.style.closed) == ("", "<think>\n\n</think>\n\n")


def test_a_template_is_searched_and_never_run() -> None:
    family = recognise("{% for x in range(10**9) %}{{ 'a' * 10**10 }}{% endfor %}<|im_start|>")
    assert family is not None
    assert family.name == "chatml"


def test_thousands_of_constants_cost_no_more_than_a_few() -> None:
    many = "".join("{% set a" + str(i) + " = 'x' %}" for i in range(20_000))
    assert recognise(many + "<|im_start|>") is not None


def test_searching_a_huge_template_takes_linear_work() -> None:
    huge = "{% set a = 'b' %}" + "'<|im_start|>" * 50_000 + "add_generation_prompt" + "'" * 50_000
    family = recognise(huge)
    assert family is not None
    assert family.name == "chatml"
