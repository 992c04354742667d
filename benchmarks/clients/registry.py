"""The clients: where they come from, the program that uses them, and the tool they offer."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.clients.client import Client
from benchmarks.clients.offered import (
    ADD,
    BASH,
    LISTED,
    SHOWING,
    as_file,
    as_json,
    as_python,
    shell,
)
from benchmarks.clients.scenarios import Task
from benchmarks.clients.scripts import Tool

__all__ = ["CLIENTS"]


def _both(*wires: str) -> tuple[str, ...]:
    """Each wire whole and streamed."""
    return tuple(wire + how for wire in wires for how in ("", " stream"))


def _whole(*wires: str) -> dict[str, str]:
    """What says nothing about variants that do not stream."""
    return {f"{wire}/S14/*": _IN_ONE_PIECE for wire in wires}


def _pictures(reason: str) -> dict[str, str]:
    """Why a tool's picture says nothing about a client."""
    return dict.fromkeys(("sees", "blind"), reason)


_CHOICES: frozenset[Task] = frozenset({"required", "named", "none", "single"})
_IN_ONE_PIECE = (
    "an answer in one piece has no pieces that could announce it; a client waits for it as long as"
    " it says"
)
_AGENT = {
    "S9": "its requests leave the choice to the model",
    "S13": "it sends its tools with every request of a conversation",
}
_LAST_ALONE = (
    "of the calls of one reply it runs the first of the last line"
    " (server/utils/agents/aibitat/providers/ollama.js, lines 341 to 352)"
)
_TEXT_ALONE = "on OpenAI's chat wire it keeps the text alone of a tool's result"
_ASKS_AGAIN = "it takes a reply without a call for a slip, and asks again as often as it may"
_NOTHING_ELSE = "it reads a call where a reply is nothing else"
_PASSED_ON = (
    "what it sends to /api/generate is passed on as it is, with a prompt for tools of its own"
)
_AS_JSON = "these providers write a tool's picture into the message as the text of its JSON"
_NO_CHOICE = "Ollama's wire has no tool_choice, and its client sends none"

CLIENTS: tuple[Client, ...] = (
    Client(
        name="plain",
        packages=("ollama", "openai", "anthropic"),
        program="use_plain.py",
        tool=SHOWING,
        tasks=_CHOICES | {"discover", "later", "impatient"},
        skips={**_whole("ollama", "chat", "responses", "messages"), "ollama*/S9/*": _NO_CHOICE},
        variants=_both("ollama", "chat", "responses", "messages"),
    ),
    Client(
        name="langchain",
        packages=("langchain-ollama", "langchain-openai", "langchain-anthropic"),
        program="use_langchain.py",
        tool=SHOWING,
        tasks=_CHOICES | {"later", "impatient"},
        skips={
            **_whole("ollama", "chat", "responses", "messages"),
            "ollama*/S9/*": "langchain-ollama accepts a tool_choice and leaves it out",
        },
        variants=_both("ollama", "chat", "responses", "messages"),
    ),
    Client(
        name="pydantic-ai",
        packages=("pydantic-ai-slim[openai,anthropic]",),
        program="use_pydantic_ai.py",
        tool=SHOWING,
        tasks=_CHOICES | {"later", "impatient"},
        skips=_whole("chat", "responses", "messages"),
        variants=_both("chat", "responses", "messages"),
    ),
    Client(
        name="openai-agents",
        packages=("openai-agents",),
        program="use_openai_agents.py",
        tool=SHOWING,
        tasks=_CHOICES | {"later", "impatient"},
        skips={
            **_whole("chat", "responses"),
            **dict.fromkeys(("chat*/S8/sees", "chat*/S8/blind"), _TEXT_ALONE),
        },
        variants=("chat", "chat stream", "responses", "responses stream"),
    ),
    Client(
        name="ai-sdk",
        kind="npm",
        packages=(
            "ai@6",
            "@ai-sdk/openai-compatible@2",
            "@ai-sdk/openai@3",
            "@ai-sdk/anthropic@3",
            "zod",
        ),
        program="use_ai_sdk.mjs",
        tool=SHOWING,
        tasks=_CHOICES | {"later", "impatient"},
        skips={
            **_whole("compatible", "chat", "responses", "messages"),
            **dict.fromkeys(("compatible*/S8/sees", "compatible*/S8/blind"), _AS_JSON),
            **dict.fromkeys(("chat*/S8/sees", "chat*/S8/blind"), _AS_JSON),
        },
        causes={
            "waits": "its compatible provider makes nothing of an empty delta, nor Anthropic's of a"
            " ping (transform in doStream), so that text alone resets its limit"
        },
        variants=_both("compatible", "chat", "responses", "messages"),
    ),
    Client(
        name="smolagents",
        packages=("smolagents[openai]",),
        program="use_smolagents.py",
        variants=("", "stream", "code", "code stream"),
        tool=replace(ADD, answers="final_answer"),
        tools={
            "code*": replace(
                ADD,
                answers="final_answer",
                writes=as_python,
                seam="\n</code>\n<code>\n",
                wrong={"no_such_argument": 1},
            )
        },
        tasks=frozenset({"required", "single", "impatient"}),
        skips={
            **{f"code*/{scenario}/*": "it sends no tools" for scenario in ("S9", "S13", "S16")},
            "code*/S6/*": "it sends no tools, and nothing is read from a text without them",
            "code*/S18/*": _ASKS_AGAIN,
            "cut": _ASKS_AGAIN,
            **dict.fromkeys(("named", "none"), "a choice would bind the answer, a call, too"),
            "S13": _AGENT["S13"],
            **_whole("", "code"),
            **_pictures("it keeps a tool's picture and tells the model its name"),
        },
    ),
    Client(
        name="litellm",
        packages=("litellm",),
        program="use_litellm.py",
        variants=_both("ollama", "chat", "generate"),
        tool=SHOWING,
        tools={"generate*": replace(ADD, writes=as_json)},
        tasks=_CHOICES | {"later", "impatient"},
        skips={
            **_whole("ollama", "chat"),
            "ollama*/S9/*": _NO_CHOICE,
            **{f"generate*/{s}/*": "it reads a reply as one call" for s in ("S4", "S10", "S21")},
            **{f"generate*/{s}/*": _NOTHING_ELSE for s in ("S5", "S6")},
            **{f"generate*/{s}/*": _PASSED_ON for s in ("S9", "S14", "S16", "S20")},
            "generate*/S7/slips": _PASSED_ON,
            **dict.fromkeys(
                ("generate*/S8/sees", "generate*/S8/blind"),
                "it writes results into the prompt as text",
            ),
        },
        causes=dict.fromkeys(
            ("two", "ten", "S21"),
            "it numbers the calls of one piece only (Delta in types/utils.py), so that the second"
            " of two streamed calls becomes a part of the first (BerriAI/litellm#33678)",
        ),
    ),
    Client(
        name="llama-index",
        packages=(
            "llama-index-llms-ollama",
            "llama-index-llms-openai-like",
            "llama-index-core",
        ),
        program="use_llama_index.py",
        tool=SHOWING,
        tasks=frozenset({"required", "named", "later", "impatient"}),
        skips={
            **dict.fromkeys(
                ("none", "single"), "its agent can name a tool to begin with, and no more"
            ),
            "ollama/S9/*": _NO_CHOICE,
            "chat/S8/sees": _TEXT_ALONE,
            "chat/S8/blind": _TEXT_ALONE,
        },
        variants=("ollama", "chat"),
    ),
    Client(
        name="autogen",
        packages=("autogen-ext[ollama,openai]", "autogen-agentchat"),
        program="use_autogen.py",
        tasks=frozenset({"later"}),
        skips={
            "S9": "its agent leaves the choice to the model",
            "S14": _IN_ONE_PIECE,
            **_pictures("the results of its tools are text"),
        },
        variants=("ollama", "chat"),
    ),
    Client(
        name="aider",
        packages=("aider-chat",),
        program="use_aider.py",
        remark="when the upstream fails it asks nine times in 80 seconds before it says so",
        tool=Tool(
            name="sums.txt", arguments=lambda a, b: {"a": a, "b": b}, wrong={}, writes=as_file
        ),
        tasks=frozenset({"impatient"}),
        skips={
            **dict.fromkeys(("S7", "S8", "S9", "S13", "S16"), "it has no tools"),
            **dict.fromkeys(
                ("S4", "S10", "S21"), "of a file that stands twice in a reply the last counts"
            ),
            "S6": "it has no tools, and nothing is read from a text without them",
        },
    ),
    Client(
        name="crewai",
        packages=("crewai",),
        program="use_crewai.py",
        tasks=frozenset({"impatient"}),
        variants=("", "stream"),
        skips={
            **_AGENT,
            **_pictures("its tools return text"),
            **_whole(""),
            "long": "it takes a window that it does not know for one of 8192 tokens, and sums up"
            " what is longer",
        },
        causes={"prose": "it leaves out the text beside calls"},
    ),
    Client(
        name="claude-code",
        kind="npm",
        packages=("@anthropic-ai/claude-code@latest",),
        program="use_claude_code.py",
        # With a schema the answer is a call, too.
        variants=("", "all tools", "schema", "terminal"),
        company=("opencode", "messages"),
        tools={"schema": replace(BASH, answers="StructuredOutput")},
        tool=BASH,
        tasks=frozenset({"impatient"}),
        skips={
            "all tools/S11/*": "without its search it tells all its tools at once",
            **_AGENT,
        },
    ),
    Client(
        name="codex",
        kind="npm",
        packages=("@openai/codex",),
        program="use_codex.py",
        variants=("responses", "oss"),
        tool=replace(
            shell("exec_command", "cmd"),
            picture=("view_image", {"path": "{work}/pixel.png"}),
            spaced=("close_agent", {"target": "nobody"}),
        ),
        tasks=frozenset({"impatient"}),
        skips={**_AGENT, "oss/S14/*": "its provider for --oss is built in, and so are its limits"},
    ),
    Client(
        name="opencode",
        kind="npm",
        packages=("opencode-ai",),
        program="use_opencode.py",
        skips=_AGENT,
        variants=("chat", "messages"),
        tool=replace(
            shell("bash", description="Add two numbers"),
            picture=("read", {"filePath": "{work}/pixel.png"}),
        ),
        tasks=frozenset({"impatient"}),
    ),
    Client(
        name="cline",
        kind="npm",
        packages=("cline",),
        program="use_cline.py",
        remark="when the upstream fails it asks again for 70 seconds before it says so",
        tool=replace(LISTED, picture=("read_files", {"files": [{"path": "{work}/pixel.png"}]})),
        tasks=frozenset({"impatient"}),
        skips=_AGENT,
    ),
    Client(
        name="continue",
        kind="npm",
        packages=("@continuedev/cli",),
        program="use_continue.py",
        tasks=frozenset({"impatient"}),
        remark="when the upstream fails it asks again for two minutes before it says so",
        tool=shell("Bash"),
        skips={
            **_AGENT,
            **_pictures("its tool for files reads a picture's bytes as text"),
        },
    ),
    Client(
        name="qwen-code",
        kind="npm",
        packages=("@qwen-code/qwen-code@latest", "node@22"),
        program="use_qwen_code.py",
        tasks=frozenset({"impatient"}),
        remark="when the upstream fails it asks again for 100 seconds before it says so",
        tool=replace(
            # What a command prints before it ends at once is lost on its way to the client.
            shell("run_shell_command", last="; sleep 0.5", is_background=False),
        ),
        skips={
            **_AGENT,
            **_pictures("it takes a model that it does not know for one that cannot see"),
            "cut": "it asks four times for the rest of a reply that is cut off",
            "S11": "a tool that it tells later is called through one that it always tells",
        },
    ),
    Client(
        name="langchain-js",
        kind="npm",
        packages=("@langchain/ollama", "@langchain/core", "zod"),
        program="use_langchain.mjs",
        tasks=frozenset({"later"}),
        skips={
            **_pictures("it takes no message of a tool but text"),
            "S9": _NO_CHOICE,
            "S14": "it has no limit of time",
        },
        variants=("", "stream"),
    ),
    Client(
        name="ai-sdk-native",
        kind="npm",
        packages=("ai@6", "ollama-ai-provider-v2@3", "ai-sdk-ollama@3", "zod"),
        program="use_ai_sdk.mjs",
        tool=SHOWING,
        tasks=_CHOICES | {"later", "impatient"},
        skips={
            **_whole("ollama-ai-provider-v2", "ai-sdk-ollama"),
            "single": "Ollama's wire has no word for one call at a time",
            **dict.fromkeys(("ai-sdk-ollama*/S9/required", "ai-sdk-ollama*/S9/named"), _NO_CHOICE),
            **dict.fromkeys(
                ("ollama-ai-provider-v2*/S8/sees", "ollama-ai-provider-v2*/S8/blind"), _AS_JSON
            ),
        },
        causes={
            "waits": "ai-sdk-ollama makes nothing of a line without text",
            "small": "ollama-ai-provider-v2 reads no reason in Ollama's form of an error, and shows"
            " the status",
        },
        variants=_both("ollama-ai-provider-v2", "ai-sdk-ollama"),
    ),
    Client(
        name="replayed",
        packages=(),
        program="use_replay.py",
        variants=(
            *("copilot", "ollama-vscode", "zed", "continue-ide", "roo", "open-webui"),
            *("librechat", "anythingllm", "home-assistant", "dify", "goose", "raycast"),
        ),
        tasks=frozenset({"later", "impatient"}),
        skips={
            "S9": _AGENT["S9"],
            **_pictures("the bodies by hand have none"),
            **{f"anythingllm/{scenario}/*": _LAST_ALONE for scenario in ("S4", "S10", "S21")},
        },
    ),
)
