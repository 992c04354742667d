"""The clients: where they come from, the program that uses them, and the tool they offer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from benchmarks.clients.environments import Kind
from benchmarks.clients.scenarios import Tool

__all__ = ["CLIENTS", "Client"]

_ADD = Tool(name="add", arguments=lambda a, b: {"a": a, "b": b}, wrong={"a": "one", "b": 2})


def _command(a: int, b: int) -> str:
    """Leaves the sum in the folder where the program looks for it."""
    return f"echo {a} {b} >> sums.txt; echo $(({a}))+{b}=$(({a}+{b}))"


def _shell(name: str, argument: str = "command", **more: str | bool) -> Tool:
    return Tool(
        name=name,
        arguments=lambda a, b: {argument: _command(a, b), **more},
        wrong={"no_such_argument": 1},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One client.

    Attributes:
        name: of its environment, and on the command line.
        packages: what is installed into it.
        program: file in ``programs``; an npm package's is run by node, or by Python when it is a
            command.
        variants: each a way of using it, and a row of the table.
        skips: scenarios, or models of them, that say nothing about it, with the reason.
        causes: of failures that are its own, by the model of the scenario.
    """

    name: str
    kind: Kind = "python"
    packages: tuple[str, ...]
    program: str
    variants: tuple[str, ...] = ("",)
    tool: Tool = _ADD
    skips: Mapping[str, str] = field(default_factory=dict)
    causes: Mapping[str, str] = field(default_factory=dict)


def _both(*wires: str) -> tuple[str, ...]:
    """Each wire whole and streamed."""
    return tuple(wire + how for wire in wires for how in ("", " stream"))


CLIENTS: tuple[Client, ...] = (
    Client(
        name="plain",
        packages=("ollama", "openai", "anthropic"),
        program="use_plain.py",
        variants=_both("ollama", "chat", "responses", "messages"),
    ),
    Client(
        name="langchain",
        packages=("langchain-ollama", "langchain-openai", "langchain-anthropic"),
        program="use_langchain.py",
        variants=_both("ollama", "chat", "responses", "messages"),
    ),
    Client(
        name="pydantic-ai",
        packages=("pydantic-ai-slim[openai,anthropic]",),
        program="use_pydantic_ai.py",
        variants=_both("chat", "responses", "messages"),
    ),
    Client(
        name="openai-agents",
        packages=("openai-agents",),
        program="use_openai_agents.py",
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
        variants=_both("compatible", "chat", "responses", "messages"),
    ),
    Client(
        name="smolagents",
        packages=("smolagents[openai]",),
        program="use_smolagents.py",
        tool=replace(_ADD, answers="final_answer"),
    ),
    Client(
        name="litellm",
        packages=("litellm",),
        program="use_litellm.py",
        causes={"two": "it gives every streamed call the index 0 (BerriAI/litellm#37792)"},
        variants=("ollama", "ollama stream", "chat", "chat stream"),
    ),
    Client(
        name="llama-index",
        packages=(
            "llama-index-llms-ollama",
            "llama-index-llms-openai-like",
            "llama-index-core",
        ),
        program="use_llama_index.py",
        variants=("ollama", "chat"),
    ),
    Client(
        name="autogen",
        packages=("autogen-ext[ollama,openai]", "autogen-agentchat"),
        program="use_autogen.py",
        variants=("ollama", "chat"),
    ),
    Client(
        name="claude-code",
        kind="npm",
        packages=("@anthropic-ai/claude-code",),
        program="use_claude_code.py",
        tool=_shell("Bash", description="Add two numbers"),
    ),
    Client(
        name="codex",
        kind="npm",
        packages=("@openai/codex",),
        program="use_codex.py",
        variants=("responses", "oss"),
        tool=_shell("exec_command", "cmd"),
    ),
    Client(
        name="opencode",
        kind="npm",
        packages=("opencode-ai",),
        program="use_opencode.py",
        skips={"S15": "it repeats a request that has failed, with growing delays, without end"},
        variants=("chat", "messages"),
        tool=_shell("bash", description="Add two numbers"),
    ),
    Client(
        name="qwen-code",
        kind="npm",
        packages=("@qwen-code/qwen-code",),
        program="use_qwen_code.py",
        tool=_shell("run_shell_command", is_background=False),
    ),
)
