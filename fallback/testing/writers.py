"""Calls as each dialect writes them: the form that the model was trained to continue.

One function per dialect, from names and arguments to text, without any liberty taken. They are
made for tests; what a prompt shows a model comes from :mod:`fallback.rendering`. Sources of the
forms: the chat templates of the model families named, see :mod:`fallback.dialects.markers`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from fallback.dialects.record import FENCED, HERMES, PYTHONIC
from fallback.messages import ToolCall
from fallback.rendering import call_text, literals
from fallback.testing import families
from fallback.testing.written import Calls, Written, as_json, as_object, gemma_value, raw_text

__all__ = ["WRITERS", "Calls", "Writer", "Written"]


def fenced(calls: Calls) -> str:
    """Our own default: a fence with the info word ``tool_call``."""
    return call_text([_call(call) for call in calls], FENCED)


def pythonic(calls: Calls) -> str:
    """Our own second form, which is also Gemma 3's: a fence with the info word ``tool_code``."""
    return call_text([_call(call) for call in calls], PYTHONIC)


def hermes(calls: Calls) -> str:
    """Hermes 2 Pro, Qwen 2.5, Qwen 3, Granite 4."""
    return call_text([_call(call) for call in calls], HERMES)


def qwen3_xml(calls: Calls) -> str:
    """Qwen3-Coder, Nemotron 3 Nano: tags, and values as they are."""
    return "\n".join(
        f"<tool_call>\n<function={call.name}>\n"
        + "".join(
            f"<parameter={key}>\n{raw_text(value)}\n</parameter>\n"
            for key, value in call.arguments.items()
        )
        + "</function>\n</tool_call>"
        for call in calls
    )


def mistral(calls: Calls) -> str:
    """Mistral 7B v0.3 to Large 2407: a list behind the token."""
    return f"[TOOL_CALLS][{', '.join(map(as_object, calls))}]"


def mistral_named(calls: Calls) -> str:
    """Mistral Small 3.2, Devstral, Magistral: the name outside the arguments."""
    return "".join(f"[TOOL_CALLS]{call.name}[ARGS]{as_json(call.arguments)}" for call in calls)


def llama3(calls: Calls) -> str:
    """Llama 3.1 to 3.3: bare JSON with ``parameters``; several are set apart by semicolons."""
    return "; ".join(as_object(call, arguments="parameters") for call in calls)


def python_list(calls: Calls) -> str:
    """Llama 4, ToolACE, the prompts of BFCL: a list of Python calls."""
    return f"[{', '.join(literals.call(call.name, call.arguments) for call in calls)}]"


def deepseek_v3(calls: Calls) -> str:
    """DeepSeek R1 and V3: the arguments in a fence of their own."""
    return (
        "<｜tool▁calls▁begin｜>"
        + "\n".join(
            f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{call.name}\n"
            f"```json\n{as_json(call.arguments)}\n```<｜tool▁call▁end｜>"
            for call in calls
        )
        + "<｜tool▁calls▁end｜>"
    )


def deepseek_v31(calls: Calls) -> str:
    """DeepSeek V3.1: the same tokens without the fence."""
    return (
        "<｜tool▁calls▁begin｜>"
        + "".join(
            f"<｜tool▁call▁begin｜>{call.name}<｜tool▁sep｜>{as_json(call.arguments)}<｜tool▁call▁end｜>"
            for call in calls
        )
        + "<｜tool▁calls▁end｜>"
    )


def dsml(calls: Calls) -> str:
    """DeepSeek V3.2: tags that say whether a value is text or JSON."""
    return families.dsml_tags(calls, "function_calls")


def functools(calls: Calls) -> str:
    """Phi-4-mini, Firefunction v2."""
    return f"functools[{', '.join(map(as_object, calls))}]"


def kimi(calls: Calls) -> str:
    """Kimi K2: the name within a numbered identity."""
    return (
        "<|tool_calls_section_begin|>"
        + "".join(
            f"<|tool_call_begin|>functions.{call.name}:{number}<|tool_call_argument_begin|>"
            f"{as_json(call.arguments)}<|tool_call_end|>"
            for number, call in enumerate(calls)
        )
        + "<|tool_calls_section_end|>"
    )


def glm(calls: Calls) -> str:
    """GLM 4.5 and 4.6: pairs of a key and a value."""
    return "\n".join(
        f"<tool_call>{call.name}\n"
        + "".join(
            f"<arg_key>{key}</arg_key>\n<arg_value>{raw_text(value)}</arg_value>\n"
            for key, value in call.arguments.items()
        )
        + "</tool_call>"
        for call in calls
    )


def harmony(calls: Calls) -> str:
    """The format of gpt-oss: a message with a recipient."""
    return "<|start|>assistant".join(
        f"<|channel|>commentary to=functions.{call.name} <|constrain|>json<|message|>"
        f"{as_json(call.arguments)}<|call|>"
        for call in calls
    )


def gemma4(calls: Calls) -> str:
    """Gemma 4: bare keys, strings between tokens of their own."""
    return "".join(
        f"<|tool_call>call:{call.name}{gemma_value(call.arguments)}<tool_call|>" for call in calls
    )


def react(calls: Calls) -> str:
    """Labelled lines, for any model that was shown them; they hold one call."""
    (call,) = calls
    return f"Action: {call.name}\nAction Input: {as_json(call.arguments)}"


def command_r(calls: Calls) -> str:
    """Command R7B and Command A."""
    objects = (
        f'    {{"tool_call_id": "{number}", "tool_name": {as_json(call.name)},'
        f' "parameters": {as_json(call.arguments)}}}'
        for number, call in enumerate(calls)
    )
    return "<|START_ACTION|>[\n" + ",\n".join(objects) + "\n]<|END_ACTION|>"


def functionary(calls: Calls) -> str:
    """Functionary v3.2: a recipient, then the arguments; what is for the user goes to ``all``."""
    return "".join(f">>>{call.name}\n{as_json(call.arguments)}" for call in calls)


def solar(calls: Calls) -> str:
    """Solar Open: an identity, the name and the arguments, each behind a token."""
    written = (
        f"<|tool_call:begin|>call{number}<|tool_call:name|>{call.name}<|tool_call:args|>"
        f"{as_json(call.arguments)}<|tool_call:end|>"
        for number, call in enumerate(calls)
    )
    return f"<|tool_calls|>{''.join(written)}<|calls|>"


def plamo(calls: Calls) -> str:
    """PLaMo 3: every part between tokens of its own."""
    written = (
        f"<|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>{call.name}"
        "<|plamo:end_tool_name:plamo|><|plamo:begin_tool_arguments:plamo|>"
        f"<|plamo:constrain|>json<|plamo:msg|>{as_json(call.arguments)}"
        "<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|>"
        for call in calls
    )
    return f"<|plamo:begin_tool_requests:plamo|>{''.join(written)}<|plamo:end_tool_requests:plamo|>"


def invoke_elements(calls: Calls) -> str:
    """The older Anthropic form, which models imitate: name and parameters are elements."""
    written = (
        f"<invoke>\n<tool_name>{call.name}</tool_name>\n<parameters>\n"
        + "".join(f"<{key}>{raw_text(value)}</{key}>\n" for key, value in call.arguments.items())
        + "</parameters>\n</invoke>\n"
        for call in calls
    )
    return f"<function_calls>\n{''.join(written)}</function_calls>"


def nexus(calls: Calls) -> str:
    """NexusRaven: Python calls behind a label."""
    written = (f"{literals.call(call.name, call.arguments)};" for call in calls)
    return f"Call: {' '.join(written)}"


def bare_json(calls: Calls) -> str:
    """What any model writes when it forgets the markers, or a server strips them."""
    return "\n".join(map(as_object, calls))


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """One dialect and what it can carry.

    Attributes:
        write: from calls to text.
        strings: which strings it writes so that they can be read back: ``any``; ``tagged`` ones,
            which hold nothing that looks like a tag and begin and end inside a line, because
            nothing is escaped; ``tokens``, everything but the dialect's own tokens; or
            ``elements``, the same where a value that no schema describes holds text alone, and
            nothing that is empty.
        many: whether it can hold more than one call.
        exact: whether what it writes needs no coercion at all.
    """

    write: Callable[[Calls], str]
    strings: Literal["any", "tagged", "tokens", "elements"] = "any"
    many: bool = True
    exact: bool = True


WRITERS: Mapping[str, Writer] = {
    "fenced": Writer(write=fenced),
    "pythonic": Writer(write=pythonic),
    "hermes": Writer(write=hermes),
    "qwen3_xml": Writer(write=qwen3_xml, strings="tagged", exact=False),
    "mistral": Writer(write=mistral),
    "mistral_named": Writer(write=mistral_named),
    "llama3": Writer(write=llama3),
    "python_list": Writer(write=python_list),
    "deepseek_v3": Writer(write=deepseek_v3),
    "deepseek_v31": Writer(write=deepseek_v31),
    "dsml": Writer(write=dsml, strings="tagged", exact=False),
    "functools": Writer(write=functools),
    "kimi": Writer(write=kimi),
    "glm": Writer(write=glm, strings="tagged", exact=False),
    "harmony": Writer(write=harmony),
    "gemma4": Writer(write=gemma4, strings="tokens"),
    "react": Writer(write=react, many=False),
    "command_r": Writer(write=command_r),
    "functionary": Writer(write=functionary),
    "solar": Writer(write=solar),
    "plamo": Writer(write=plamo),
    "invoke_elements": Writer(write=invoke_elements, strings="tagged", exact=False),
    "nexus": Writer(write=nexus),
    "bare_json": Writer(write=bare_json),
    "granite": Writer(write=families.granite),
    "granite_plain": Writer(write=families.granite_plain),
    "jamba": Writer(write=families.jamba),
    "hunyuan": Writer(write=families.hunyuan),
    "hunyuan_pairs": Writer(write=families.hunyuan_pairs, strings="tagged", exact=False),
    "nemotron": Writer(write=families.nemotron),
    "internlm": Writer(write=families.internlm),
    "minimax_lines": Writer(write=families.minimax_lines),
    "minimax_m2": Writer(write=families.minimax_m2, strings="tagged", exact=False),
    "minimax_m3": Writer(write=families.minimax_m3, strings="elements", exact=False),
    "seed_oss": Writer(write=families.seed_oss, strings="tagged", exact=False),
    "invoke": Writer(write=families.invoke, strings="tagged", exact=False),
    "minicpm": Writer(write=families.minicpm, strings="tagged", exact=False),
    "dsml_v4": Writer(write=families.dsml_v4, strings="tagged", exact=False),
    "dsml_v41": Writer(write=families.dsml_v41, strings="tagged", exact=False),
    "kimi_k3": Writer(write=families.kimi_k3, strings="tagged", exact=False),
    "function_gemma": Writer(write=families.function_gemma, strings="tokens"),
    "tag_per_tool": Writer(write=families.tag_per_tool, strings="tagged", exact=False),
    "llama_function": Writer(write=families.llama_function),
    "lfm2": Writer(write=families.lfm2),
    "apertus": Writer(write=families.apertus),
    "qwen_agent": Writer(write=families.qwen_agent, many=False),
}
"""Every writer by the name of its dialect."""


def _call(call: Written) -> ToolCall:
    return ToolCall(id="", name=call.name, arguments=dict(call.arguments))
