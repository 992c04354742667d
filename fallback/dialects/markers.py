"""The marker table: every literal that says "a call follows", "this is thinking", "this is a
result".

One row per literal. What follows a call marker is read by its shape, not by the marker, so a model
that writes Python between JSON tags, or a fence inside a tag, is understood without a row of its
own. Sources of the literals: the chat templates and server-side parsers of the model families
named.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Literal

MarkerRole = Literal[
    "call", "reasoning", "result", "close", "end", "channel", "element", "turn", "other_turn"
]


@dataclass(frozen=True, slots=True)
class Marker:
    """One literal and what it means.

    Attributes:
        text: the literal, exactly.
        role: ``call`` and ``reasoning`` open something; ``result`` opens a tool result, which only
        an
            application may write; ``close`` closes a call or a thought; ``end`` is an end-of-turn
            token; ``channel`` begins the header of a Harmony message, ``element`` a tag of Kimi K3,
            ``turn`` the header of a turn, ``other_turn`` one that is not the model's.
        dialect: the name that calls read behind it carry.
        closers: what ends it, if anything does.
        soft: text that merely contains it, with no call behind it, is not worth a correction.
        keeps: how many of its last characters belong to the body already.
    """

    text: str
    role: MarkerRole
    dialect: str = ""
    closers: tuple[str, ...] = ()
    soft: bool = False
    keeps: int = 0


def _calls(dialect: str, *rows: tuple[str, str], soft: bool = False) -> Iterable[Marker]:
    for opener, closer in rows:
        yield Marker(opener, "call", dialect, (closer,) if closer else (), soft)


MARKERS: tuple[Marker, ...] = (
    *_calls(
        "hermes",
        ("<tool_call>", "</tool_call>"),
        ("<tool_calls>", "</tool_calls>"),
        ("<function_call>", "</function_call>"),
        ("<function_calls>", "</function_calls>"),
        ("<functioncall>", "</functioncall>"),
        ("<function-call>", "</function-call>"),
        ("<tools>", "</tools>"),
        ("<tool_code>", "</tool_code>"),
        ("<TOOLCALL>", "</TOOLCALL>"),
        ("<longcat_tool_call>", "</longcat_tool_call>"),
        ("<tool_call:opensource>", "</tool_call:opensource>"),
        ("<tool_calls:opensource>", "</tool_calls:opensource>"),
        ("<ifm|tool_call>", "</ifm|tool_call>"),
        ("[TOOL_REQUEST]", "[END_TOOL_REQUEST]"),
    ),
    *_calls("granite", ("<|tool_call|>", "<|/tool_call|>")),
    *_calls("llama3", ("<|python_tag|>", "<|eom_id|>")),
    *_calls("pythonic", ("<|python_start|>", "<|python_end|>")),
    *_calls("lfm2", ("<|tool_call_start|>", "<|tool_call_end|>")),
    *_calls("mistral", ("[TOOL_CALLS]", ""), soft=True),
    Marker("functools[", "call", "phi4", soft=True, keeps=1),
    *_calls("command_r", ("<|START_ACTION|>", "<|END_ACTION|>")),
    *_calls(
        "xml",
        ("<minimax:tool_call>", "</minimax:tool_call>"),
        ("<seed:tool_call>", "</seed:tool_call>"),
        ("<dots_function_call>", "</dots_function_call>"),
        ("<function_calls>", "</function_calls>"),
        ("<atem:function_calls>", "</atem:function_calls>"),
    ),
    *_calls(
        "deepseek",
        ("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
        ("<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"),
        ("<｜tool_calls_begin｜>", "<｜tool_calls_end｜>"),
        ("<｜tool_call_begin｜>", "<｜tool_call_end｜>"),
    ),
    *_calls(
        "dsml",
        *(
            (f"<{bar}{kind}{bar}{word}>", f"</{bar}{kind}{bar}{word}>")
            for bar in ("｜", "｜｜", "|")
            for kind in ("DSML", "GCML")
            for word in ("function_calls", "tool_calls", "toolcalls", "tool", " calls")
        ),
    ),
    *_calls(
        "kimi",
        ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
        ("<|tool_call_section_begin|>", "<|tool_call_section_end|>"),
        ("<|tool_call_begin|>", "<|tool_call_end|>"),
    ),
    *_calls(
        "internlm",
        ("<|action_start|>", "<|action_end|>"),
        ("<|plugin|>", ""),
    ),
    *_calls("pangu", ("[unused11]", "[unused12]")),
    *_calls(
        "gemma",
        ("<|tool_call>", "<tool_call|>"),
        ("<start_function_call>", "<end_function_call>"),
    ),
    *_calls("gigachat", ("<|function_call|>", "")),
    *_calls(
        "solar",
        ("<|tool_calls|>", "<|calls|>"),
        ("<|tool_call:begin|>", "<|tool_call:end|>"),
    ),
    *_calls(
        "plamo",
        ("<|plamo:begin_tool_requests:plamo|>", "<|plamo:end_tool_requests:plamo|>"),
        ("<|plamo:begin_tool_request:plamo|>", "<|plamo:end_tool_request:plamo|>"),
        ("<|plamo:begin_tool_name:plamo|>", "<|plamo:end_tool_arguments:plamo|>"),
    ),
    # Behind a bracket that belongs to them.
    *_calls("minimax_m3", ("<]minimax[>[<tool_call>", "<]minimax[>[</tool_call>")),
    *_calls("inkling", ("<|content_invoke_tool_json|>", "<|end_message|>")),
    *_calls("gorilla", ("<<function>>", ""), soft=True),
    Marker("<|channel|>", "channel", "harmony"),
    Marker("<|start|>", "channel", "harmony"),
    Marker("<|open|>", "element", "kimi_k3"),
    Marker("<|close|>", "element", "kimi_k3"),
    *_calls("apertus", ("<|tools_prefix|>", "<|tools_suffix|>")),
    *_calls("narration", ("[Calling tool:", "]"), soft=True),
    Marker("<think>", "reasoning", closers=("</think>",)),
    Marker("<thinking>", "reasoning", closers=("</thinking>",)),
    Marker("<thought>", "reasoning", closers=("</thought>",)),
    Marker("<reasoning>", "reasoning", closers=("</reasoning>",)),
    Marker("[THINK]", "reasoning", closers=("[/THINK]",)),
    Marker("<|START_THINKING|>", "reasoning", closers=("<|END_THINKING|>",)),
    Marker("<seed:think>", "reasoning", closers=("</seed:think>",)),
    Marker("<|channel>thought", "reasoning", closers=("<channel|>",)),
    Marker("<|begin_of_thought|>", "reasoning", closers=("<|end_of_thought|>",)),
    *(
        Marker(text, "result", closers=(closer,))
        for text, closer in (
            ("<tool_response>", "</tool_response>"),
            ("<tool_responses>", "</tool_responses>"),
            ("<tool_result>", "</tool_result>"),
            ("<tool_results>", "</tool_results>"),
            ("<function_results>", "</function_results>"),
            ("<function_result>", "</function_result>"),
            ("<function_response>", "</function_response>"),
            ("<tool_output>", "</tool_output>"),
            ("[TOOL_RESULTS]", "[/TOOL_RESULTS]"),
            ("<|tool_response", "<tool_response|>"),
            ("<|start_of_role|>tool_response", "<|end_of_text|>"),
            ("<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>"),
            ("<|START_TOOL_RESULT|>", "<|END_TOOL_RESULT|>"),
        )
    ),
    *(
        Marker(text, "turn")
        for text in (
            "<|message_model|>", "<|im_start|>", "<|start_header_id|>", "<start_of_turn>",
            "<|start_of_role|>", "<|assistant|>", "<｜Assistant｜>",
        )
    ),
    *(
        Marker(text, "other_turn")
        for text in ("<|user|>", "<｜User｜>", "<|observation|>", "[INST]")
    ),
    *(
        Marker(text, "end")
        for text in (
            "</s>", "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|endoftext|>",
            "<end_of_turn>", "<|end|>", "<|call|>", "<eos>", "<｜end▁of▁sentence｜>",
            "<|END_OF_TURN_TOKEN|>", "<|return|>", "<turn|>",
        )
    ),
)  # fmt: skip

CALL_FENCES = frozenset(
    ("tool_call", "tool_calls", "tool_code", "function_call", "function_calls", "tool", "tool-call")
)
"""Info words of a fence that say "call"; compared without case."""

RESULT_FENCES = frozenset(
    ("tool_result", "tool_results", "tool_output", "tool_response", "tool_responses", "observation")
)
"""Info words of a fence that only an application may write."""


THINKING_TAG = re.compile(
    r"<(?P<closes>/?)(?P<word>seed:think|think|thinking|thoughts?|reasoning|reflection|scratchpad)"
    r"(?:\s[^<>\n]{0,40}|/)?>",
    re.IGNORECASE | re.ASCII,
)
"""A tag of thinking in any case and with attributes; models vary both."""

THINKING_TAG_BEGIN = re.compile(
    r"</?(?:[a-z:]{0,10}/?|[a-z:]{5,10}\s[^<>\n]{0,40})", re.IGNORECASE | re.ASCII
)
"""What may still become one."""

LINE_THINKING = frozenset(("thoughts", "reflection", "scratchpad"))
"""Of their words those that only count at the start of a line: prose and answers have them too."""


@cache
def table() -> dict[str, Marker]:
    """The rows by their literal, with a ``close`` row for every closer that has no row of its
    own."""
    rows: dict[str, Marker] = {}
    for marker in MARKERS:
        rows[marker.text] = marker
    for marker in MARKERS:
        for closer in marker.closers if marker.role != "result" else ():
            if closer != "]":
                rows.setdefault(closer, Marker(closer, "close"))
    return rows


@cache
def pattern() -> re.Pattern[str]:
    """Matches any literal of the table, the longest that fits."""
    return re.compile(_tree(table()))


def _tree(words: Iterable[str]) -> str:
    """An expression for the words that decides letter by letter, not word by word."""
    tails: dict[str, list[str]] = {}
    for word in words:
        if word:
            tails.setdefault(word[0], []).append(word[1:])
    branches = [re.escape(letter) + _tree(rest) for letter, rest in tails.items()]
    if not branches:
        return ""
    whole = "|".join(branches)
    if "" in words:
        return f"(?:{whole})?"
    return whole if len(branches) == 1 else f"(?:{whole})"


@cache
def prefixes() -> frozenset[str]:
    """Every proper prefix of a literal: what may still become one."""
    return frozenset(text[:size] for text in table() for size in range(1, len(text)))
