"""What apps that cannot be installed here send, and what they need of an answer.

Each entry is taken from the app's source or, for Raycast, from its documentation and issues, as
`docs/clients.md` says. Standard library only.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["APPS", "App", "Call"]

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """A call as the app has read it."""

    id: str | None
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """One app.

    Attributes:
        wire: ``native`` is Ollama's chat, ``chat`` is OpenAI's; both are streamed by all of them.
        discovers: what it asks before a chat, and again before every turn if ``every_turn``.
        needs_tools: it hides a model whose capabilities do not have ``tools``.
        body: fields beside model, messages, tools and stream.
        headers: of the request for a chat.
        result: the message for the result of a call.
        kept: the text that it keeps beside its calls in the history; all, or none of it.
        first_of_line: it reads one call of each line.
        whole_lines: each line must have all that Ollama's lines have, so an error is unreadable.
        last_line: only the first call of the last line with calls is run.
        silent_errors: an error within the stream is an empty piece to it.
        tools_for_user: it sends tools only when the last message is the user's.
    """

    wire: Literal["native", "chat"]
    discovers: tuple[str, ...] = ("/api/tags",)
    every_turn: bool = False
    needs_tools: bool = False
    body: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    result: Callable[[Call, str], Message]
    kept: Literal["all", "none"] = "all"
    first_of_line: bool = False
    whole_lines: bool = False
    last_line: bool = False
    silent_errors: bool = False
    tools_for_user: bool = False


def _by_id(call: Call, told: str) -> Message:
    return {"role": "tool", "tool_call_id": call.id, "content": told}


def _by_name(call: Call, told: str) -> Message:
    return {"role": "tool", "tool_name": call.name, "content": told}


def _bare(call: Call, told: str) -> Message:
    return {"role": "tool", "content": told}


def _wrapped(call: Call, told: str) -> Message:
    return {"role": "tool", "content": json.dumps({"data": told, "error": None})}


def _id_as_name(call: Call, told: str) -> Message:
    return {"role": "tool", "tool_name": call.id, "tool_call_id": call.id, "content": told}


def _as_user(call: Call, told: str) -> Message:
    return {"role": "user", "content": f"[{call.name}] Result:\n{told}"}


_USAGE = {"stream_options": {"include_usage": True}}
APPS: Mapping[str, App] = {
    "copilot": App(
        wire="chat",
        discovers=("/api/version", "/api/tags", "/api/show"),
        needs_tools=True,
        body=_USAGE,
        headers={
            "X-Request-Id": "9f2c",
            "OpenAI-Intent": "conversation-agent",
            "X-GitHub-Api-Version": "2025-05-01",
            "X-Interaction-Type": "conversation-agent",
        },
        result=_by_id,
    ),
    "ollama-vscode": App(
        wire="native",
        discovers=("/api/tags", "/api/show", "/api/ps"),
        needs_tools=True,
        result=_by_id,
    ),
    "zed": App(
        wire="native",
        discovers=("/api/tags", "/api/show"),
        needs_tools=True,
        body={"keep_alive": -1, "options": {"num_ctx": 16384, "stop": []}, "think": None},
        result=_by_name,
        first_of_line=True,
        whole_lines=True,
    ),
    "continue-ide": App(
        wire="native",
        discovers=("/api/show name",),
        body={"keep_alive": 1800, "options": {"num_ctx": 8192, "stop": ["<|im_end|>"]}},
        result=_bare,
        tools_for_user=True,
    ),
    "roo": App(
        wire="native",
        discovers=("/api/tags", "/api/show"),
        every_turn=True,
        needs_tools=True,
        body={"options": {"temperature": 0}},
        result=_as_user,
    ),
    "open-webui": App(
        wire="native",
        discovers=("/api/tags", "/api/ps", "/api/version"),
        body={"metadata": {"chat_id": "1"}, "options": {}},
        result=_by_id,
        kept="none",
        silent_errors=True,
    ),
    "librechat": App(wire="chat", body={"user": "9f2c"}, result=_by_id),
    "anythingllm": App(
        wire="native",
        discovers=("/api/show",),
        needs_tools=True,
        body={"options": {"num_ctx": 32768, "temperature": 0.7}},
        result=_bare,
        kept="none",
        last_line=True,
    ),
    "home-assistant": App(
        wire="native",
        body={"options": {"num_ctx": 8192}, "keep_alive": -1, "think": None},
        result=_wrapped,
    ),
    "dify": App(
        wire="native",
        discovers=(),
        body={"options": {"num_ctx": 32768, "num_predict": 4096}, "images": []},
        result=_id_as_name,
    ),
    "goose": App(
        wire="chat",
        body={**_USAGE, "options": {"num_ctx": 32768}},
        result=_by_id,
    ),
    "raycast": App(
        wire="native",
        discovers=("/api/tags", "/api/show"),
        needs_tools=True,
        result=_by_name,
    ),
}
