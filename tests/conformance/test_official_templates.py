"""Our chat templates against the models' own, byte for byte."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest
from jinja2 import Template, UndefinedError
from jinja2.ext import Extension
from jinja2.sandbox import ImmutableSandboxedEnvironment

from fallback.families import FAMILIES, Family, recognise, render
from fallback.messages import Message, Role

pytestmark = pytest.mark.upstream

# What a template of each family expects as ``eos_token``; elsewhere it is ``</s>``.
EOS = {
    "chatml": "<|im_end|>",
    "deepseek": "<｜end▁of▁sentence｜>",
    "phi3": "<|endoftext|>",
    "alpaca": "<|endoftext|>",
}

SYSTEM = "You are S."
Conversation = list[tuple[Role, str]]
CONVERSATIONS: dict[str, Conversation] = {
    "one question": [("user", "u1")],
    "a history": [("user", "u1"), ("assistant", "a1"), ("user", "u2")],
    "a call and its result": [
        ("user", "Weather in Ålesund?"),
        ("assistant", '```tool_call\n{"name": "weather", "arguments": {"city": "Ålesund"}}\n```'),
        ("user", "```tool_result\n<b>& 'rain' {{ x }}\n```"),
        ("assistant", "It rains."),
        ("user", "Thanks\n\n!"),
    ],
    "white space": [
        ("user", " \nu1 \n"),
        ("assistant", " \na1 \n"),
        ("user", " \nu2 \n"),
    ],
    "reasoning": [
        ("user", "u1"),
        ("assistant", "<think>\nr\n</think>\n\na1"),
        ("user", "u2"),
        ("assistant", "<think>r</think>a2"),
        ("user", "u3"),
    ],
}


Where = Literal["always", "with system", "without system"]


class Deviation(NamedTuple):
    """Where a template is not followed, and why not."""

    where: Where
    why: str


TOOLS_ONLY = "made for tools alone: it renders a prompt about tools even where there are none"
DATED = "its default system prompt names today's date"
DROPS = "it drops the system message, which must not be lost"
DEVIATIONS = {
    "Bielik-11B-v3.0-Instruct": Deviation(
        "always", "it adds a page of Polish on how to think, and strips past replies on the left"
    ),
    "CohereForAI-c4ai-command-r-plus-tool_use": Deviation("always", TOOLS_ONLY),
    "HuggingFaceTB-SmolLM3-3B": Deviation("always", "it wraps the system text into metadata"),
    "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": Deviation(
        "always", "it puts an empty system turn and empty reasoning into the history"
    ),
    "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use": Deviation("always", TOOLS_ONLY),
    "NousResearch-Hermes-3-Llama-3.1-8B-tool_use": Deviation("always", TOOLS_ONLY),
    "fireworks-ai-llama-3-firefunction-v2": Deviation("always", TOOLS_ONLY),
    "meetkai-functionary-medium-v3.1": Deviation("always", TOOLS_ONLY),
    "Mistral-Small-3.2-24B-Instruct-2506": Deviation("without system", DATED),
    "ibm-granite-granite-3.3-2B-Instruct": Deviation("without system", DATED),
    "Phi-3-mini": Deviation("with system", DROPS),
    "Phi-3-medium": Deviation("with system", DROPS),
    "TheBloke/FusionNet_34Bx2_MoE-AWQ": Deviation(
        "without system", "it forgets the opener of the first instruction"
    ),
}


class Official(NamedTuple):
    name: str
    text: str
    eos: str


class Generation(Extension):
    """Marks what a model is trained on; Transformers knows the tag, plain Jinja2 does not."""

    tags = {"generation"}  # noqa: RUF012 -- the base class declares it this way

    def parse(self, parser: Any) -> Any:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def refuse(reason: str) -> None:
    raise ValueError(reason)


@cache
def environment() -> ImmutableSandboxedEnvironment:
    """As Transformers renders chat templates."""
    made = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", Generation]
    )
    made.filters["tojson"] = lambda value, **_: json.dumps(value, ensure_ascii=False)
    made.globals["raise_exception"] = refuse
    return made


@cache
def compiled(text: str) -> Template:
    return environment().from_string(text)


def in_files(folder: Path) -> Iterator[Official]:
    for path in sorted((folder / "templates").glob("*.jinja")):
        yield Official(path.stem, path.read_text("utf-8"), "")


def in_test_program(folder: Path) -> Iterator[Official]:
    """llama.cpp's own test of chat templates holds some more, as C++ strings."""
    source = (folder / "tests" / "test-chat-template.cpp").read_text("utf-8")
    case = re.compile(
        r'/\* \.name= \*/ "(?P<name>[^"]+)",\s*(?://[^\n]*\n\s*)*'
        r'/\* \.template_str=? \*/ (?:U8C\()?"(?P<text>(?:[^"\\]|\\.)*)"'
        r"(?P<rest>.*?)(?=\n        \},)",
        re.DOTALL,
    )
    for match in case.finditer(source):
        escaped = match["text"].replace("\\'", "'").replace("\n", "\\n")
        eos = re.search(r'eos_token= \*/ "([^"]*)"', match["rest"])
        name = match["name"].partition(" (")[0]
        known = {"Mistral-Nemo-Instruct-2407", "Mistral-Large-Instruct-2407"}
        name = match["name"] if name not in known else f"{name} in the test program"
        yield Official(name, json.loads(f'"{escaped}"'), eos[1] if eos else "")


@pytest.fixture(scope="session")
def officials(llama_cpp: Path) -> list[Official]:
    return [*in_files(llama_cpp), *in_test_program(llama_cpp)]


def rendered(official: Official, family: Family, messages: Conversation, **values: Any) -> str:
    """What the model's own template makes of it, without the BOS that the tokenizer adds."""
    # A template that can do without a clock gets none; the date would be another one every day.
    if "strftime_now is defined" not in official.text:
        values["strftime_now"] = lambda _: "1 January 2026"
    text = compiled(official.text).render(
        messages=[{"role": role, "content": content} for role, content in messages],
        bos_token="<BOS>" if family.name != "llama2" else "<s>",
        eos_token=official.eos or EOS.get(family.name, "</s>"),
        add_generation_prompt=True,
        **values,
    )
    for bos in ("<BOS>", family.bos):
        if bos and text.startswith(bos):
            return text.removeprefix(bos)
    return text


def merged(messages: Conversation) -> Conversation:
    """For a template that has no system role: what we promise to make of it."""
    (role, text), *rest = messages
    return [(role, f"{SYSTEM}\n\n{text}"), *rest]


def differences(official: Official, family: Family) -> set[Where]:
    """Where ours and the model's own differ; ``always`` is where its own does not render at all."""
    switches = {"enable_thinking", "thinking"} & set(re.findall(r"\w+", official.text))
    found: set[Where] = set()
    for system, name in itertools.product((SYSTEM, None), CONVERSATIONS):
        head: Conversation = [("system", system)] if system else []
        messages = head + CONVERSATIONS[name]
        ours = [Message(role=role, content=text) for role, text in messages]
        for think in (True, False) if switches else (None,):
            values = {} if think is None else dict.fromkeys(switches, think)
            try:
                theirs = rendered(official, family, messages, **values)
            except UndefinedError:
                return {"always"}
            except ValueError:  # it refuses a system message
                if name == "white space":
                    continue  # where it is trimmed depends on what the system text is merged with
                theirs = rendered(official, family, merged(CONVERSATIONS[name]), **values)
            if render(family, ours, think=think) != theirs:
                found.add("with system" if system else "without system")
    return {"always"} if len(found) == 2 else found


def test_every_recognised_template_is_followed_byte_for_byte(officials: list[Official]) -> None:
    found = {
        official.name: differences(official, family)
        for official in officials
        if (family := recognise(official.text))
    }
    differing = {name: where for name, where in found.items() if where}
    assert differing == {name: {deviation.where} for name, deviation in DEVIATIONS.items()}
    assert len(found) - len(differing) >= 40


def test_families_that_share_a_format_are_told_from_those_that_do_not(
    officials: list[Official],
) -> None:
    found = {official.name: recognise(official.text) for official in officials}
    names = {name: family.name for name, family in found.items() if family}
    assert set(names.values()) >= set(FAMILIES) - {"zephyr", "alpaca", "solar"}
    unknown = {name for name, family in found.items() if family is None}
    assert unknown >= {
        "CohereForAI-c4ai-command-r7b-12-2024-tool_use",
        "GLM-4.6",
        "google-gemma-4-31B-it",
        "meetkai-functionary-medium-v3.2",
        "openai-gpt-oss-120b",
        "unsloth-Apriel-1.5",
    }
    assert names["deepseek-ai-DeepSeek-R1-Distill-Llama-8B"] == "deepseek"
    assert names["Qwen-Qwen2.5-7B-Instruct"] == "chatml"
    assert names["mistralai-Mistral-Nemo-Instruct-2407"] == "mistral-v3"


def test_a_template_that_opens_the_reasoning_is_noticed(officials: list[Official]) -> None:
    opening = {
        official.name
        for official in officials
        if (family := recognise(official.text)) and "<think>" in family.style.opening
    }
    assert {
        "Qwen-QwQ-32B",
        "Qwen3.5-4B",
        "StepFun3.5-Flash",
        "deepseek-ai-DeepSeek-R1-Distill-Llama-8B",
        "deepseek-ai-DeepSeek-V3.1",
    } <= opening
    assert "Qwen-Qwen3-0.6B" not in opening
    assert "Qwen-Qwen2.5-7B-Instruct" not in opening
