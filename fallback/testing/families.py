"""The dialects of further model families, as their chat templates write them.

The table of all writers is in :mod:`fallback.testing.writers`.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from fallback.rendering import literals
from fallback.testing.written import Calls, as_json, as_object, gemma_value, raw_text


def _listed(calls: Calls) -> str:
    return f"[{', '.join(map(as_object, calls))}]"


def granite(calls: Calls) -> str:
    """Granite 3.0: a list behind a token that nothing closes."""
    return f"<|tool_call|>{_listed(calls)}"


def granite_plain(calls: Calls) -> str:
    """Granite 3.1 to 3.3: the same behind a plain tag."""
    return f"<tool_call>{_listed(calls)}"


def jamba(calls: Calls) -> str:
    """Jamba 1.5: a list with an object on each line."""
    objects = ",\n".join(f"  {as_object(call)}" for call in calls)
    return f"<tool_calls>[\n{objects}\n]</tool_calls>"


def hunyuan(calls: Calls) -> str:
    """Hunyuan A13B, Apriel: the list on one line."""
    return f"<tool_calls>{_listed(calls)}</tool_calls>"


def hunyuan_pairs(calls: Calls) -> str:
    """Hy3: keys and values between tags with a suffix."""
    written = (
        f"<tool_call:opensource>{call.name}<tool_sep:opensource>\n"
        + "".join(
            f"<arg_key:opensource>{key}</arg_key:opensource>\n"
            f"<arg_value:opensource>{raw_text(value)}</arg_value:opensource>\n"
            for key, value in call.arguments.items()
        )
        + "</tool_call:opensource>\n"
        for call in calls
    )
    return f"<tool_calls:opensource>\n{''.join(written)}</tool_calls:opensource>"


def nemotron(calls: Calls) -> str:
    """Nemotron Nano v2."""
    return f"<TOOLCALL>{_listed(calls)}</TOOLCALL>"


def internlm(calls: Calls) -> str:
    """InternLM 2.5, Intern-S1: an object between tokens, ``parameters`` in it."""
    return "\n".join(
        f"<|action_start|><|plugin|>\n{as_object(call, arguments='parameters')}<|action_end|>"
        for call in calls
    )


def minimax_lines(calls: Calls) -> str:
    """MiniMax M1: an object on each line, and no list."""
    objects = "".join(f"{as_object(call)}\n" for call in calls)
    return f"<tool_calls>\n{objects}</tool_calls>"


def minimax_m2(calls: Calls) -> str:
    """MiniMax M2: tags behind a tag of its own."""
    return f"<minimax:tool_call>\n{_invokes(calls)}</minimax:tool_call>"


def minimax_m3(calls: Calls) -> str:
    """MiniMax M3: elements in elements, each tag behind a token; what is ``null`` is left out."""
    sign = "]<]minimax[>["
    written = (
        f'{sign}<invoke name="{call.name}">{_elements(call.arguments, sign)}{sign}</invoke>\n'
        for call in calls
    )
    return f"{sign}<tool_call>\n{''.join(written)}{sign}</tool_call>"


def _elements(value: Any, sign: str) -> str:
    if isinstance(value, Mapping):
        pairs = [(key, item) for key, item in value.items() if item is not None]
    elif isinstance(value, list):
        pairs = [("item", item) for item in value]
    else:
        return raw_text(value)
    return "".join(f"{sign}<{key}>{_elements(item, sign)}{sign}</{key}>" for key, item in pairs)


def invoke(calls: Calls) -> str:
    """The newer Anthropic form: names are attributes."""
    return f"<function_calls>\n{_invokes(calls)}</function_calls>"


def _invokes(calls: Calls) -> str:
    return "".join(
        f'<invoke name="{call.name}">\n'
        + "".join(
            f'<parameter name="{key}">{raw_text(value)}</parameter>\n'
            for key, value in call.arguments.items()
        )
        + "</invoke>\n"
        for call in calls
    )


def seed_oss(calls: Calls) -> str:
    """Seed-OSS: values in the line of their tags, everything but text as Python has it."""
    return "\n".join(
        f"<seed:tool_call>\n<function={call.name}>\n"
        + "".join(
            f"<parameter={key}>{_python(value)}</parameter>\n"
            for key, value in call.arguments.items()
        )
        + "</function>\n</seed:tool_call>"
        for call in calls
    )


def minicpm(calls: Calls) -> str:
    """MiniCPM5: the same with attributes, and no tag around it."""
    return "".join(
        f'<function name="{call.name}">'
        + "".join(
            f'<param name="{key}">{_python(value)}</param>' for key, value in call.arguments.items()
        )
        + "</function>"
        for call in calls
    )


def _python(value: Any) -> str:
    return value if isinstance(value, str) else literals.literal(value)


def dsml_tags(calls: Calls, outer: str, *, bar: str = "｜DSML｜") -> str:
    """DeepSeek's tags, which say whether a value is text or JSON.

    Args:
        calls: what is called.
        outer: the word of the tag around all of them.
        bar: what stands in front of every word.
    """
    written = (
        f'<{bar}invoke name="{call.name}">\n'
        + "".join(
            f'<{bar}parameter name="{key}" string="{str(isinstance(value, str)).lower()}">'
            f"{raw_text(value)}</{bar}parameter>\n"
            for key, value in call.arguments.items()
        )
        + f"</{bar}invoke>\n"
        for call in calls
    )
    return f"<{bar}{outer}>\n{''.join(written)}</{bar}{outer}>"


def dsml_v4(calls: Calls) -> str:
    """DeepSeek V4: the outer tag has another word."""
    return dsml_tags(calls, "tool_calls")


def dsml_v41(calls: Calls) -> str:
    """DeepSeek V4.1: another word again, and a blank in front of every word."""
    return dsml_tags(calls, "calls", bar="｜DSML｜ ")


def kimi_k3(calls: Calls) -> str:
    """Kimi K3: elements between tokens; every argument says its type."""
    written = (
        f'<|open|>call tool="{escape(call.name)}" index="{number}"<|sep|>'
        + "".join(
            f'<|open|>argument key="{escape(key)}" type="{_json_type(value)}"<|sep|>'
            f"{raw_text(value)}<|close|>argument<|sep|>"
            for key, value in call.arguments.items()
        )
        + "<|close|>call<|sep|>"
        for number, call in enumerate(calls, 1)
    )
    return f"<|open|>tools<|sep|>{''.join(written)}<|close|>tools<|sep|>"


def _json_type(value: Any) -> str:
    names = {str: "string", bool: "boolean", int: "number", float: "number", list: "array"}
    return "null" if value is None else names.get(type(value), "object")


def function_gemma(calls: Calls) -> str:
    """FunctionGemma: Gemma's syntax with other tokens."""
    return "".join(
        f"<start_function_call>call:{call.name}{gemma_value(call.arguments, '<escape>')}"
        "<end_function_call>"
        for call in calls
    )


def tag_per_tool(calls: Calls) -> str:
    """Cline, Roo: a tag named after the tool, and in it one for each parameter."""
    return "\n".join(
        f"<{call.name}>\n"
        + "".join(f"<{key}>{raw_text(value)}</{key}>\n" for key, value in call.arguments.items())
        + f"</{call.name}>"
        for call in calls
    )


def llama_function(calls: Calls) -> str:
    """Llama 3.1's form for custom tools, and Functionary 3.1's: JSON in a tag with the name."""
    return "".join(f"<function={call.name}>{as_json(call.arguments)}</function>" for call in calls)


def lfm2(calls: Calls) -> str:
    """LFM2: a list of Python calls between tokens."""
    written = ", ".join(literals.call(call.name, call.arguments) for call in calls)
    return f"<|tool_call_start|>[{written}]<|tool_call_end|>"


def apertus(calls: Calls) -> str:
    """Apertus: the name is the only key of an object."""
    written = ", ".join(as_json({call.name: call.arguments}) for call in calls)
    return f"<|tools_prefix|>[{written}]<|tools_suffix|>"


def qwen_agent(calls: Calls) -> str:
    """Qwen-Agent: labels between signs of its own; they hold one call."""
    (call,) = calls
    return f"✿FUNCTION✿: {call.name}\n✿ARGS✿: {as_json(call.arguments)}"
