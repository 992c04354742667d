"""The families, and the signs by which a template shows which one it is.

The signs were tried on the templates that Ollama embeds, on those of its ``template/index.json``
and on the official Jinja templates that llama.cpp carries. Go templates often write
``<|{{ .Role }}|>``, so a sign is never a whole ``<|user|>``.
"""

from __future__ import annotations

from dataclasses import dataclass

from fallback.families.record import Family, Style
from fallback.messages import Role

__all__ = ["FAMILIES", "RENDERERS", "SIGNS", "Sign"]

_INSTRUCTION = ("[INST]", "[/INST]")
_ALL_TEXT: tuple[Role, ...] = ("system", "user", "assistant")

_RECORDS = (
    Family(
        name="phi4",
        template="phi4.jinja",
        stop=("<|im_end|>", "<|im_start|>", "<|endoftext|>"),
        trims=_ALL_TEXT,
    ),
    Family(
        name="chatml",
        template="chatml.jinja",
        stop=("<|im_end|>", "<|im_start|>", "<|endoftext|>"),
        trims=_ALL_TEXT,
    ),
    Family(
        name="mistral-v7",
        template="mistral.jinja",
        stop=("</s>", "[INST]"),
        special=(*_INSTRUCTION, "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"),
        bos="<s>",
        trims=("assistant",),
    ),
    Family(
        name="mistral-v3",
        template="mistral.jinja",
        stop=("</s>", "[INST]"),
        special=_INSTRUCTION,
        bos="<s>",
        trims=("assistant",),
        style=Style(system_place="last"),
    ),
    Family(
        name="llama2",
        template="llama2.jinja",
        stop=("</s>", "[INST]"),
        special=(*_INSTRUCTION, "<<SYS>>", "<</SYS>>"),
        bos="<s>",
        trims=("assistant",),
        gap=" ",
        style=Style(turn_bos="<s>"),
    ),
    Family(
        name="mistral-v1",
        template="mistral.jinja",
        stop=("</s>", "[INST]"),
        special=_INSTRUCTION,
        bos="<s>",
        trims=("assistant",),
        style=Style(system_place="first"),
    ),
    Family(
        name="phi3",
        template="phi3.jinja",
        stop=("<|end|>", "<|user|>", "<|endoftext|>"),
        bos="<s>",
    ),
    Family(
        name="granite",
        template="granite.jinja",
        stop=("<|end_of_text|>", "<|start_of_role|>"),
    ),
    Family(
        name="zephyr",
        template="zephyr.jinja",
        stop=("</s>", "<|user|>", "<|system|>"),
        bos="<s>",
    ),
    Family(
        name="gemma",
        template="gemma.jinja",
        stop=("<end_of_turn>", "<start_of_turn>"),
        bos="<bos>",
    ),
    Family(
        name="llama3",
        template="llama3.jinja",
        stop=("<|eot_id|>", "<|eom_id|>", "<|start_header_id|>", "<|end_of_text|>"),
        bos="<|begin_of_text|>",
        trims=_ALL_TEXT,
    ),
    Family(
        name="command-r",
        template="command_r.jinja",
        stop=("<|END_OF_TURN_TOKEN|>", "<|START_OF_TURN_TOKEN|>"),
        bos="<BOS_TOKEN>",
    ),
    Family(
        name="deepseek",
        template="deepseek.jinja",
        stop=("<｜end▁of▁sentence｜>", "<｜User｜>"),
        bos="<｜begin▁of▁sentence｜>",
    ),
    Family(
        name="deepseek-coder",
        template="deepseek_coder.jinja",
        stop=("<|EOT|>", "\n### Instruction:"),
        special=("### Instruction:", "### Response:"),
        bos="<｜begin▁of▁sentence｜>",
    ),
    Family(
        name="openchat",
        template="openchat.jinja",
        stop=("<|end_of_turn|>", "GPT4 Correct User:"),
        special=("GPT4 Correct User:", "GPT4 Correct Assistant:", "GPT4 Correct System:"),
        bos="<s>",
        gap=" ",
    ),
    Family(
        name="vicuna",
        template="vicuna.jinja",
        stop=("</s>", "\nUSER:"),
        special=("USER:", "ASSISTANT:"),
        bos="<s>",
        gap=" ",
    ),
    Family(
        name="alpaca",
        template="alpaca.jinja",
        stop=("</s>", "\n### Instruction", "<|endoftext|>"),
        special=("### Instruction", "### Response"),
        bos="<s>",
    ),
    Family(
        name="solar",
        template="solar.jinja",
        stop=("</s>", "\n### User:"),
        special=("### User:", "### Assistant:", "### System:"),
        bos="<s>",
    ),
)

FAMILIES = {family.name: family for family in _RECORDS}
"""Every family that can be rendered, by name."""


@dataclass(frozen=True, slots=True)
class Sign:
    """A row of the signature table.

    Attributes:
        family: name in :data:`FAMILIES`, or ``None`` for a format that only Ollama's own renderers
            write rightly (gpt-oss, Gemma 4), so that it is not taken for one further down.
        all_of: strings that must all be in the template.
        any_of: strings of which one must be in it, unless there are none.
        none_of: strings that show a relative with a format of its own.
    """

    family: str | None
    all_of: tuple[str, ...]
    any_of: tuple[str, ...] = ()
    none_of: tuple[str, ...] = ()

    def fits(self, template: str) -> bool:
        """Whether a template, its U+FF5C bars replaced by ``|``, shows this sign."""
        return (
            all(part in template for part in self.all_of)
            and (not self.any_of or any(part in template for part in self.any_of))
            and not any(part in template for part in self.none_of)
        )


# First match wins, in this order.
SIGNS = (
    Sign("phi4", ("<|im_start|>", "<|im_sep|>")),
    Sign("chatml", ("<|im_start|>",)),
    Sign("mistral-v7", ("[INST]", "[SYSTEM_PROMPT]")),
    Sign("mistral-v3", ("[INST]", "[AVAILABLE_TOOLS]")),
    Sign("llama2", ("[INST]", "<<SYS>>")),
    Sign("mistral-v1", ("[INST]",)),
    Sign(None, ("<|start|>", "<|channel|>")),
    # Apriel has Phi-3's tokens and other line breaks around them.
    Sign("phi3", ("<|assistant|>", "<|end|>"), none_of=("[BEGIN FINAL RESPONSE]",)),
    Sign("granite", ("<|start_of_role|>",)),
    Sign("zephyr", ("<|assistant|>",), any_of=("</s>", "eos_token"), none_of=("<|end|>",)),
    Sign(None, ("<|turn>",)),
    Sign("gemma", ("<start_of_turn>",)),
    # Functionary begins every reply with ``>>>`` and a recipient.
    Sign("llama3", ("<|start_header_id|>", "<|end_header_id|>"), none_of=(">>>all",)),
    # Command R7B and Command A put further tokens around every text, and a preamble before all.
    Sign(
        "command-r",
        ("<|START_OF_TURN_TOKEN|>", "<|USER_TOKEN|>"),
        none_of=("<|START_RESPONSE|>", "<|START_TEXT|>"),
    ),
    Sign("deepseek", ("<|User|>", "<|Assistant|>")),
    Sign("deepseek-coder", ("### Instruction:", "<|EOT|>")),
    Sign("openchat", ("GPT4 Correct",)),
    Sign("vicuna", ("USER:", "ASSISTANT:")),
    Sign("alpaca", ("### Instruction",)),
    Sign("solar", ("### User:",)),
)

RENDERERS: dict[str, tuple[str, Style]] = {
    "qwen3-coder": ("chatml", Style()),
    "qwen3-vl-instruct": ("chatml", Style()),
    "qwen3-vl-thinking": ("chatml", Style(opening="<think>\n")),
    "qwen3.5": (
        "chatml",
        Style(trim=True, drop="lines", opening="<think>\n", closed="<think>\n\n</think>\n\n"),
    ),
    "lfm2": ("chatml", Style(drop="space")),
    "lfm2-thinking": ("chatml", Style(drop="space")),
    "deepseek3.1": (
        "deepseek",
        Style(drop="cut", opening="<think>", closed="</think>", past="</think>"),
    ),
}
"""Ollama's builtin renderers (``RENDERER`` in the Modelfile) that write a plain conversation in a
family's form. The template of such a model is a stub, so it shows nothing.

Source: ``model/renderers`` of Ollama 0.33.
"""
