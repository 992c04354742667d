"""What went wrong, in our words: statuses and error texts of Ollama, and the exceptions of httpx.

Ollama reports errors in five shapes: a status with ``{"error": text}``; the same with a JSON
document *inside* the text (relayed from llama-server); a line ``{"error": ...}`` in a stream of
status 200; a reply that is whole but says ``"done": false``; and a stream that just ends. The first
three are read here, the last two in :mod:`fallback.ollama.reply`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from fallback.errors import (
    BackendConnectionError,
    BackendError,
    BackendProtocolError,
    BackendStatusError,
    BackendTimeoutError,
    CapabilityError,
    ContextWindowError,
    ModelNotFoundError,
)

__all__ = ["Asked", "failure", "is_of_the_runner", "mapped", "read_error", "shown"]

_SHOWN_CHARS = 300
_TOO_LONG = re.compile(
    r"request \((?P<prompt>\d+) tokens\) exceeds the available context size"
    r" \((?P<window>\d+) tokens\)"
    r"|exceed_context_size|prompt is longer than the context length|input length exceeds"
)
# Several missing capabilities come in one text; without its tools the request may well do.
_LACKING_TOOLS = re.compile(r"does not support\b[\s\S]*\b(?P<what>tools)\b")
_LACKING = re.compile(
    r"does not support\b[\s\S]*?\b(?P<what>thinking|generate|chat|insert|vision)\b"
)
# How Ollama, llama-server and the engine begin when the runner of a model has died, is not to be
# reached or did not come up. Only the beginning counts: what a model wrote may follow in an error
# about it, behind `raw='`, and may say anything.
_RUNNER = re.compile(
    r"(?:llama|model) runner\b"
    r"|llama[.-](?:cpp|server) (?:cannot load|exited|process|has (?:exited|terminated))"
    r"|model requires more (?:system )?memory"
    r"|an error was encountered while running the model"
    r"|error reading llm response"
    r"|(?:POST predict|do \w+ request|health resp)\b"
    r"|timed out waiting for"
    r"|(?:the )?(?:model is |server is |still )?loading (?:the )?model\b"
    r"|server (?:busy|overloaded)"
    r"|compute error"
    r"|(?:error|failed|unable|cannot|could not) (?:to )?(?:load|start|allocat|creat|init)"
    r"|(?:cuda|hip|rocm|metal|vulkan|sycl|ggml)\w*[ :]+(?:error|failed)"
    r"|[\w .:()-]{0,120}?\b(?:out of memory|(?:insufficient|not enough) (?:\w+ )?memory)\b",
    re.IGNORECASE,
)
_OPTION = re.compile(r'option "(?P<name>[^"]+)" must be of (?:type |an )(?P<kind>.+)')
_KINDS = {"float32": "a number", "integer": "an integer", "boolean": "true or false"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was asked of whom: enough to say what to do about a failure.

    Attributes:
        where: the server, for people to read.
        embedded: whether that is the engine in this process.
        num_ctx: the window asked for, in tokens.
        trained: the largest window of the model, in tokens.
        models: what the server has, where that is known.
    """

    where: str
    model: str = ""
    path: str = ""
    embedded: bool = False
    num_ctx: int | None = None
    trained: int | None = None
    models: tuple[str, ...] | None = None


def shown(text: str) -> str:
    """A server's words on one line, cut, with nothing in them that a terminal would obey."""
    line = " ".join(text.split())
    line = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in line)
    return line if len(line) <= _SHOWN_CHARS else line[: _SHOWN_CHARS - 1] + "…"


def read_error(body: bytes | str | Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The text of an error and the fields that stand beside it, however deep they are nested.

    Returns:
        The innermost message, and the innermost error object, empty if there is none.
    """
    fields: Mapping[str, Any] = {}
    value: Any = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
    text = value if isinstance(value, str) else ""
    for _ in range(4):  # real ones nest twice
        if isinstance(value, str):
            text = value
            value = _decoded(value)
        if not isinstance(value, Mapping):
            break
        fields = value
        value = value.get("error") or value.get("message") or ""
    return text.strip(), fields


def _decoded(text: str) -> Any:
    if not text.lstrip().startswith("{"):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def failure(status: int, body: bytes | str | Mapping[str, Any], asked: Asked) -> BackendError:
    """The error for an answer that is not a reply."""
    text, fields = read_error(body)
    detail = shown(text)
    if (too_long := _TOO_LONG.search(text)) or fields.get("type") == "exceed_context_size_error":
        return _window(status, too_long, fields, detail, asked)
    lacking = _LACKING_TOOLS.search(text) or _LACKING.search(text)
    if status == 400 and lacking:
        return _incapable(status, lacking["what"], detail, asked)
    if status == 404 and "model" in text and "not found" in text:
        return ModelNotFoundError(_unknown_model(asked), status=status, detail=detail)
    if 300 <= status < 400:
        return BackendProtocolError(
            f"{asked.where} answers with a redirect ({status}): give the address it leads to"
        )
    if status < 400:
        return BackendProtocolError(
            f"{asked.where} failed while it was replying: {detail}", detail=detail
        )
    return BackendStatusError(_status_text(status, text, asked), status=status, detail=detail)


def is_of_the_runner(error: BackendError) -> bool:
    """Whether a server says that its model's runner died or did not start, as for want of memory.

    That is an error of the machine's: another time, or elsewhere, the same request may do.
    """
    return _RUNNER.match(getattr(error, "detail", "")) is not None


def _status_text(status: int, text: str, asked: Asked) -> str:
    where, detail = asked.where, shown(text)
    if option := _OPTION.search(text):
        kind = _KINDS.get(option["kind"], option["kind"])
        return f"the option {option['name']!r} is of the wrong type: it must be {kind}"
    if status == 401:
        return f"{where} asks for a sign-in: set OLLAMA_API_KEY"
    if status == 403 and not text:
        return (
            f"{where} refuses the request (403): a proxy on the way must rewrite the Host header,"
            " or the server's OLLAMA_ORIGINS must allow the caller"
        )
    if status in (404, 405):
        return f"{where} does not know {asked.path} ({status}): is it an Ollama server, and recent?"
    if status == 503:
        return f"{where} is busy (503): wait for its other requests to end; it says: {detail}"
    if "runner has unexpectedly stopped" in text or "runner process has terminated" in text:
        return (
            f"the model runner of {asked.model!r} stopped, perhaps for want of memory: see the log"
            f" of the server, or try a smaller model or num_ctx; it says: {detail}"
        )
    return f"{where} answered {status}: {detail or 'nothing more'}"


def _window(
    status: int,
    found: re.Match[str] | None,
    fields: Mapping[str, Any],
    detail: str,
    asked: Asked,
) -> ContextWindowError:
    numbers = found.groupdict() if found else {}
    prompt = _number(fields.get("n_prompt_tokens")) or _number(numbers.get("prompt"))
    window = _number(fields.get("n_ctx")) or _number(numbers.get("window")) or asked.num_ctx
    size = "is longer than" if prompt is None else f"has {prompt:,} tokens and does not fit"
    limit = "its window" if window is None else f"the window of {window:,} tokens"
    room = asked.trained
    larger = room is not None and window is not None and room > window
    advice = f"raise num_ctx (the model can take up to {room:,}), " if larger else ""
    return ContextWindowError(
        f"the prompt for {asked.model!r} {size} {limit}: {advice}offer fewer tools, or shorten the"
        " conversation",
        status=status,
        prompt_tokens=prompt,
        num_ctx=window,
        detail=detail,
    )


def _number(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    return int(value) if str(value).isdecimal() and len(str(value)) < 16 else None


def _incapable(status: int, what: str, detail: str, asked: Asked) -> CapabilityError:
    model = repr(asked.model)
    sentences = {
        "tools": f"the template of {model} has no place for tools: use mode prompt or auto",
        "thinking": f"{model} has no thinking that could be switched on: leave think out",
        "vision": f"{model} cannot look at images: leave them out, or choose a vision model",
        "insert": f"{model} cannot fill in the middle of a text",
    }
    missing = "completion" if what in ("generate", "chat") else what
    sentence = sentences.get(what, f"{model} does not write text; choose a model for chat")
    return CapabilityError(sentence, status=status, missing=missing, detail=detail)


def _unknown_model(asked: Asked) -> str:
    get = f"fallback models pull {asked.model}" if asked.embedded else f"ollama pull {asked.model}"
    has = ""
    if asked.models is not None:
        few = ", ".join(asked.models[:10]) + (", …" if len(asked.models) > 10 else "")
        has = f"; it has {few}" if few else "; it has none"
    return f"{asked.where} has no model {asked.model!r}: get it with `{get}`{has}"


def _http_errors() -> tuple[type[BaseException], ...]:
    """The roots of all exceptions of httpx, and of httpx2 where somebody uses that client."""
    found: list[type[BaseException]] = []
    for module in (httpx, sys.modules.get("httpx2")):
        for name in ("HTTPError", "InvalidURL", "CookieConflict", "StreamError"):
            kind = getattr(module, name, None)
            if isinstance(kind, type) and issubclass(kind, BaseException):
                found.append(kind)
    return tuple(found)


@contextmanager
def mapped(where: str) -> Iterator[None]:
    """Turn every exception of the HTTP client into one of ours; the only place that does."""
    try:
        yield
    except _http_errors() as error:
        raise _translated(error, where) from error


# By name, so that httpx and its fork httpx2 are read alike. First match wins; a class stands before
# its parents.
_CLIENT_ERRORS: tuple[tuple[str, type[BackendError], str], ...] = (
    ("ConnectTimeout", BackendConnectionError, "nobody"),
    ("ConnectError", BackendConnectionError, "nobody"),
    ("PoolTimeout", BackendTimeoutError, "all connections to {where} are in use"),
    ("TimeoutException", BackendTimeoutError, "slow"),
    ("UnsupportedProtocol", BackendConnectionError, "address"),
    ("InvalidURL", BackendConnectionError, "address"),
    ("ProxyError", BackendConnectionError, "the proxy on the way to {where} refused: {detail}"),
    ("NetworkError", BackendConnectionError, "the connection to {where} broke off: {detail}"),
    ("RemoteProtocolError", BackendProtocolError, "broken"),
    ("TooManyRedirects", BackendProtocolError, "{where} redirects in a circle"),
    (
        "DecodingError",
        BackendProtocolError,
        "{where} sent a body that cannot be unpacked: {detail}",
    ),
    ("", BackendProtocolError, "the exchange with {where} failed: {detail}"),
)
_SENTENCES = {
    "nobody": (
        "nothing answers at {where}: start Ollama there (`ollama serve`), or name another server"
        " with --host or OLLAMA_HOST"
    ),
    "slow": (
        "{where} took too long: a large model may still be loading; try again, or raise the limit"
        " read_seconds"
    ),
    "address": "{where} is no usable address: give host, host:port, or an http or https URL",
    "broken": (
        "{where} broke off in the middle of an answer: its model may have crashed; see the log of"
        " the server ({detail})"
    ),
}


def _translated(error: BaseException, where: str) -> BackendError:
    names = {kind.__name__ for kind in type(error).__mro__}
    _, kind, sentence = next(row for row in _CLIENT_ERRORS if not row[0] or row[0] in names)
    detail = shown(str(error)) or type(error).__name__
    return kind(_SENTENCES.get(sentence, sentence).format(where=where, detail=detail))
