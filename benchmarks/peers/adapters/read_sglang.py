"""SGLang's detectors, as ``llm-router-utils`` carries them without SGLang.

A detector reads one format and has to be named. With ``format`` it is the one for the model's
format, after the reasoning parser of that model, as the server would be started; a reply without a
known format is not read. With ``any`` every detector is tried, the usual ones first, and the first
that finds calls of declared tools is taken, after ``<think>`` is split off.
"""

from __future__ import annotations

import sys

from llm_router_utils.sglang.srt.entrypoints.openai.protocol import (  # type: ignore[import-not-found]  # own environment
    Tool,
)
from llm_router_utils.sglang.srt.function_call.function_call_parser import (  # type: ignore[import-not-found]  # own environment
    FunctionCallParser,
)
from llm_router_utils.sglang.srt.parser.reasoning_parser import (  # type: ignore[import-not-found]  # own environment
    ReasoningParser,
)
from protocol import Calls, Reply, functions, serve

# canitoolcall's name of the format: the detector, and the reasoning parser if the model thinks.
_PARSERS: dict[str, tuple[str, str | None]] = {
    "deepseek-v3": ("deepseekv3", None),
    "deepseek-v31": ("deepseekv31", "deepseek-v3"),
    "deepseek-v32": ("deepseekv32", "deepseek-v3"),
    "deepseek-v4": ("deepseekv4", "deepseek-v4"),
    "deepseek-v41": ("deepseekv41", "deepseek-v41"),
    "gemma4": ("gemma4", "gemma4"),
    "glm45-newline": ("glm45", "glm45"),
    "glm47-compact": ("glm47", "glm45"),
    "glm53-compact": ("glm47", "glm45"),
    "gpt-oss": ("gpt-oss", None),
    "kimi-k2-thinking": ("kimi_k2", "kimi_k2"),
    "kimi-k2-instruct": ("kimi_k2", None),
    "kimi-k3-xtml": ("kimi_k3", "kimi_k3"),
    "llama3-json": ("llama3", None),
    "llama4-pythonic": ("pythonic", None),
    "v13-think": ("mistral", "mistral"),
    "v13plus-think": ("mistral", "mistral"),
    "v11-think-text": ("mistral", "qwen3"),
    "v13": ("mistral", None),
    "v11": ("mistral", None),
    "v3": ("mistral", None),
    "devstral-2507": ("mistral", None),
    "qwen3-hybrid": ("hermes", "qwen3"),
    "qwen3-thinking-2507": ("hermes", "qwen3"),
    "qwen3-instruct-2507": ("hermes", None),
    "qwen3.5": ("qwen3_coder", "qwen3"),
    "qwen3.6": ("qwen3_coder", "qwen3"),
    "qwen3.8": ("qwen3_coder", "qwen3"),
    "qwen3-coder": ("qwen3_coder", None),
    "qwen3-coder-next": ("qwen3_coder", None),
}


def without_reasoning(reply: Reply, parser: str | None) -> str:
    if parser is None:
        return str(reply["text"])
    forced = bool(reply.get("reasoning_open"))
    splitter = ReasoningParser(parser, stream_reasoning=False, force_reasoning=forced)
    return splitter.parse_non_stream(reply["text"])[1] or ""


def with_stop_token(text: str, reply: Reply) -> str:
    """SGLang keeps Harmony's stop token in the text, and its detector wants to see it."""
    ended = reply.get("finish_reason") != "length" and "<|channel|>commentary" in text
    return f"{text}<|call|>" if ended and not text.endswith("<|call|>") else text


def detected(text: str, tools: list[Tool], detector: str) -> list[tuple[str, str]]:
    calls = FunctionCallParser(tools, detector).parse_non_stream(text)[1]
    return [(call.name, call.parameters) for call in calls]


def by_format(reply: Reply) -> Calls:
    if reply.get("format") not in _PARSERS:
        raise LookupError("no detector is named for this reply")
    detector, reasoning = _PARSERS[reply["format"]]
    tools = [Tool(**tool) for tool in reply["tools"]]
    text = without_reasoning(reply, reasoning)
    if detector == "gpt-oss":
        text = with_stop_token(text, reply)
    return detected(text, tools, detector)


def by_any(reply: Reply) -> Calls:
    tools = [Tool(**tool) for tool in reply["tools"]]
    declared = {function["name"] for function in functions(reply)}
    text = without_reasoning(reply, "qwen3")
    usual = [detector for detector, _ in _PARSERS.values()]
    for detector in dict.fromkeys([*usual, *FunctionCallParser.ToolCallParserEnum]):
        try:
            harmony = detector == "gpt-oss"
            calls = detected(with_stop_token(text, reply) if harmony else text, tools, detector)
        except Exception as error:  # noqa: BLE001 - one of forty detectors; the others still try
            print(detector, error, file=sys.stderr)
            continue
        if calls and all(name in declared for name, _ in calls):
            return calls
    return []


if __name__ == "__main__":
    serve(by_format if sys.argv[1:] == ["format"] else by_any)
