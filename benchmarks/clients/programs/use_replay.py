"""Apps that cannot be installed here: their bodies by hand, and readers as strict as theirs."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Any

from bodies import APPS, App, Call
from conversation import IMPATIENCE, ROUNDS, SCHEMA, URL, VARIANT, add, serve, task

_FUNCTION = {"name": "add", "description": "Add two numbers.", "parameters": SCHEMA}
_AGAIN = "What was it again?"
_TOOLS = [{"type": "function", "function": _FUNCTION}]
_DETAILS = ("format", "family", "parameter_size", "quantization_level")
_OLDEST = (0, 6, 4)
Reply = tuple[str, list[Call]]


def answer(model: str, prompt: str) -> str:
    app = APPS[VARIANT]
    _discover(app, model)
    read = _native if app.wire == "native" else _completions
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You are an assistant."}]
    messages.append({"role": "user", "content": prompt})
    said = []
    for turn in range(ROUNDS):
        if turn and app.every_turn:
            _discover(app, model)
        text, calls = read(app, model, messages)
        said.append(text)
        if not calls:
            if task() == "later":
                again = {"role": "user", "content": _AGAIN}
                messages += [{"role": "assistant", "content": text}, again]
                said.append(read(app, model, messages)[0])
            return "\n".join(said)
        kept = text if app.kept == "all" else ""
        told = [_written(app, call) for call in calls]
        messages.append({"role": "assistant", "content": kept, "tool_calls": told})
        messages += [app.result(call, _ran(call)) for call in calls]
    raise RuntimeError("too many rounds")


def _ran(call: Call) -> str:
    if call.name != "add":
        return f"there is no tool {call.name}"
    try:
        return add(call.arguments["a"], call.arguments["b"])
    except ValueError as refusal:
        return f"error: {refusal}"


def _written(app: App, call: Call) -> dict[str, Any]:
    arguments: Any = call.arguments if app.wire == "native" else json.dumps(call.arguments)
    told = {"function": {"name": call.name, "arguments": arguments}}
    return {"id": call.id, "type": "function", **told} if app.wire == "chat" else told


# Discovery ---------------------------------------------------------------------------------------


def _discover(app: App, model: str) -> None:
    """What the app asks to find the model; it raises where the app would not list it."""
    for asked in app.discovers:
        path, _, key = asked.partition(" ")
        if path == "/api/show":
            _shown(app, _json(path, {key or "model": f"{model}:latest" if not key else model}))
        elif path == "/api/tags":
            _listed(model, _json(path))
        elif path == "/api/version":
            found = tuple(int(n) for n in _json(path)["version"].split("."))
            _must(found >= _OLDEST, f"version {found}")
        else:
            _must(isinstance(_json(path)["models"], list), "no list of loaded models")


def _listed(model: str, told: Mapping[str, Any]) -> None:
    names = []
    for entry in told["models"]:
        names.append(entry["name"])
        strings = [entry[key] for key in ("name", "model", "modified_at", "digest")]
        strings += [entry["details"][key] for key in _DETAILS]
        _must(all(isinstance(value, str) for value in strings), f"no text: {entry}")
        _must(isinstance(entry["size"], int) and "tools" in entry["capabilities"], str(entry))
    _must(f"{model}:latest" in names, "the model is not listed")


def _shown(app: App, told: Mapping[str, Any]) -> None:
    _must(isinstance(told["details"]["family"], str), "no family")
    info = told["model_info"]
    window = info[f"{info['general.architecture']}.context_length"]
    _must(isinstance(window, int) and window > 0, f"a window of {window}")
    _must(not app.needs_tools or "tools" in told["capabilities"], "the model has no tools")


# Chats -------------------------------------------------------------------------------------------


def _body(app: App, model: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
    body = {"model": model, "messages": messages, "stream": True, **app.body}
    if app.tools_for_user and messages[-1]["role"] != "user":
        return body
    if messages[-1]["content"] == _AGAIN:  # in a mode of the app that has no tools
        return body
    return {**body, "tools": _TOOLS}


def _native(app: App, model: str, messages: list[dict[str, Any]]) -> Reply:
    lines: list[dict[int, Call]] = []
    text, done = "", False
    for raw in _lines(app, "/api/chat", _body(app, model, messages)):
        line = json.loads(raw)
        if "error" in line and not app.whole_lines:
            _must(isinstance(line["error"], str), "an error that is no text")
            if not app.silent_errors:
                raise RuntimeError(line["error"])
            continue
        _must(not done, "a line after the last")
        _must(isinstance(line["model"], str) and isinstance(line["created_at"], str), str(line))
        message, done = line["message"], line["done"]
        _must(message["role"] == "assistant" and isinstance(done, bool), str(line))
        _must(isinstance(message["content"], str), f"content {message['content']!r}")
        text += message["content"]
        if calls := message.get("tool_calls"):
            read = [_read(call) for call in calls[: 1 if app.first_of_line else None]]
            lines.append(dict(read))
    _must(done or app.silent_errors, "no last line")
    if app.last_line:
        return text, list(lines[-1].values())[:1] if lines else []
    # Open WebUI puts the calls of a stream together by their index.
    merged = {index: call for line in lines for index, call in line.items()}
    return text, _different(list(merged.values()))


def _read(told: Mapping[str, Any]) -> tuple[int, Call]:
    function = told["function"]
    _must(isinstance(function["arguments"], dict), "arguments that are no object")
    # ollama4j for one refuses a call with a field that it does not know.
    _must(set(told) <= {"id", "function"}, f"unknown fields: {sorted(told)}")
    return function.get("index", 0), Call(told["id"], function["name"], function["arguments"])


def _completions(app: App, model: str, messages: list[dict[str, Any]]) -> Reply:
    parts: dict[int, list[str]] = {}
    text, finish, ended = "", None, False
    for raw in _lines(app, "/v1/chat/completions", _body(app, model, messages)):
        data = raw.removeprefix("data: ")
        _must(data != raw and not ended, f"unexpected: {raw}")
        if data == "[DONE]":
            ended = True
            continue
        chunk = json.loads(data)
        if "error" in chunk:
            raise RuntimeError(chunk["error"]["message"])
        for choice in chunk["choices"]:
            delta, finish = choice["delta"], choice["finish_reason"] or finish
            text += delta.get("content") or ""
            for part in delta.get("tool_calls", ()):
                if part.get("id"):
                    parts[part["index"]] = [part["id"], part["function"]["name"], ""]
                parts[part["index"]][2] += part["function"]["arguments"]
    _must(ended and finish in ("tool_calls", "stop"), f"ended with {finish}")
    calls = [Call(given, name, json.loads(told)) for given, name, told in parts.values()]
    return text, _different(calls)


def _different(calls: list[Call]) -> list[Call]:
    _must(all(call.id for call in calls), "a call without an id")
    _must(len({call.id for call in calls}) == len(calls), "an id twice")
    return calls


# Wire --------------------------------------------------------------------------------------------


def _lines(app: App, path: str, body: Mapping[str, Any]) -> Iterator[str]:
    with _open(path, body, app.headers) as stream:
        for raw in stream:
            if line := raw.decode().rstrip("\n"):
                yield line


def _json(path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
    with _open(path, body, {}) as stream:
        told: dict[str, Any] = json.load(stream)
        return told


def _open(path: str, body: Mapping[str, Any] | None, headers: Mapping[str, str]) -> Any:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", **headers}
    try:
        request = urllib.request.Request(URL + path, data, headers)  # noqa: S310 -- the address is of the server under test
        patience = IMPATIENCE if task() == "impatient" else None  # for each piece, not for all
        return urllib.request.urlopen(request, timeout=patience)  # noqa: S310 -- the same
    except urllib.error.HTTPError as failure:
        told = json.load(failure)["error"]
        text = told["message"] if path.startswith("/v1") else told
        _must(isinstance(text, str), f"an error that is no text: {told}")
        raise RuntimeError(f"{failure.code}: {text}") from None


class UnreadableError(Exception):
    """The app could not have read what came."""


def _must(holds: bool, what: str) -> None:
    if not holds:
        raise UnreadableError(what)


if __name__ == "__main__":
    serve(answer)
