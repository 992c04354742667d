"""A model server of Ollama's wire whose models say what is written down: a process of its own.

::

    python -m fallback.testing.scripted_server script.json --port 0

The script is a JSON object: the name of a model, and a list of its replies, or an object with the
fields of :class:`Model`. Each reply is text, or an object with fields of :class:`Reply`; after the
last, the list begins again.

Everything that comes in is kept, and given back by ``GET /_requests``; ``POST /_reset`` forgets it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fallback.testing.script import Fault, Model, Reply, read_script

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["Fault", "Model", "Reply", "create_app", "read_script"]

_STATUS: dict[str, tuple[int, str]] = {
    "no_tools": (400, "registry.ollama.ai/library/m:latest does not support tools"),
    "status_500": (500, "XML syntax error on line 5: unexpected EOF"),
    "busy": (503, "server busy, please try again.  maximum pending requests exceeded"),
    "too_long": (400, "request (9000 tokens) exceeds the available context size (8192 tokens)"),
}


class _Server:
    def __init__(self, models: Mapping[str, Model]) -> None:
        self.models = dict(models)
        self.requests: list[dict[str, Any]] = []
        self.open = 0
        self.broken_off = 0

    def model(self, body: Mapping[str, Any]) -> Model | None:
        name = str(body.get("model") or body.get("name") or "")
        return self.models.get(name) or self.models.get(name.removesuffix(":latest"))

    async def body(self, request: Request) -> dict[str, Any]:
        data = await request.body()
        body = json.loads(data) if data else {}
        kept = {"path": request.url.path, "headers": dict(request.headers), "body": body}
        self.requests.append(kept)
        return body if isinstance(body, dict) else {}

    async def answer(self, request: Request) -> Response:
        from starlette.responses import JSONResponse, StreamingResponse

        body = await self.body(request)
        model = self.model(body)
        if model is None:
            return _unknown(body)
        if not body.get("prompt") and not body.get("messages"):
            return JSONResponse({"model": body["model"], "done": True, "done_reason": "load"})
        if body.get("_debug_render_only"):
            return JSONResponse({"_debug_info": {"rendered_template": _rendered(body)}})
        if len(_said(body)) // 4 > model.context_length:
            return JSONResponse({"error": _STATUS["too_long"][1]}, 400)
        reply = model.next()
        refused = body.get("tools") and "tools" not in model.capabilities
        fault = "no_tools" if refused else reply.fault
        if fault in _STATUS and (fault != "no_tools" or body.get("tools")):
            status, text = _STATUS[fault]
            return JSONResponse({"error": text}, status)
        is_chat = request.url.path.endswith("chat")
        lines = self.lines(body, model, reply, chat=is_chat)
        if body.get("stream") is False:
            whole = await _while_there(request, _listed_lines(lines))
            return JSONResponse(_joined(whole, chat=is_chat) if whole else {})
        return StreamingResponse(lines, media_type="application/x-ndjson")

    async def lines(
        self, body: Mapping[str, Any], model: Model, reply: Reply, *, chat: bool
    ) -> AsyncIterator[bytes]:
        """The lines of one reply; whoever stops listening is counted."""
        self.open += 1
        whole = False
        try:
            if reply.fault == "cut_before":
                raise ConnectionAbortedError
            if reply.fault == "silent":
                await asyncio.Event().wait()
            if reply.wait:
                await asyncio.sleep(reply.wait)
            for index, piece in enumerate(_pieces(model, reply, chat=chat)):
                if index == 2:  # two pieces have gone out
                    async for line in _faulty(reply.fault):
                        yield line
                        return
                if model.pause:
                    await asyncio.sleep(model.pause)
                yield _line(body, piece)
            if reply.fault not in ("unfinished", "cut_in_text", "error_in_text", "malformed"):
                yield _line(body, _end(body, reply, chat=chat))
            whole = True
        finally:
            self.open -= 1
            self.broken_off += not whole

    async def completions(self, request: Request) -> Response:
        """The chat endpoint that other servers have, always streamed."""
        from starlette.responses import JSONResponse, StreamingResponse

        body = await self.body(request)
        model = self.model(body)
        if model is None:
            missing = {"message": f"The model {body.get('model')} does not exist", "code": 404}
            return JSONResponse({"error": missing}, 404)
        reply = model.next()
        if reply.fault in _STATUS:
            status, text = _STATUS[reply.fault]
            return JSONResponse({"error": {"message": text}}, status)
        return StreamingResponse(self.events(model, reply), media_type="text/event-stream")

    async def events(self, model: Model, reply: Reply) -> AsyncIterator[bytes]:
        """The events of one reply."""
        size = model.chunk
        for start in range(0, len(reply.thinking), size):
            yield _event({"reasoning_content": reply.thinking[start : start + size]})
        for start in range(0, len(reply.text), size):
            yield _event({"content": reply.text[start : start + size]})
        if reply.fault == "error_in_text":
            yield b'data: {"error": {"message": "out of memory"}}\n\n'
        elif reply.fault is None:
            yield _event({}, reply.reason)
            usage = {"prompt_tokens": 50, "completion_tokens": 20}
            yield f"data: {json.dumps({'choices': [], 'usage': usage})}\n\n".encode()
            yield b"data: [DONE]\n\n"

    async def models_list(self, request: Request) -> Response:
        from starlette.responses import JSONResponse

        listed = [{"id": name, "object": "model"} for name in self.models]
        return JSONResponse({"object": "list", "data": listed})

    async def show(self, request: Request) -> Response:
        from starlette.responses import JSONResponse

        body = await self.body(request)
        model = self.model(body)
        if model is None:
            return _unknown(body)
        info = {"general.architecture": "scripted", "scripted.context_length": model.context_length}
        return JSONResponse(
            {
                "modelfile": "FROM scripted",
                "template": model.template,
                "details": _DETAILS,
                "model_info": info,
                "capabilities": list(model.capabilities),
            }
        )

    async def tags(self, request: Request) -> Response:
        from starlette.responses import JSONResponse

        self.requests.append({"path": "/api/tags", "headers": dict(request.headers), "body": {}})
        return JSONResponse({"models": [_listed(n, m) for n, m in self.models.items()]})

    async def loaded(self, request: Request) -> Response:
        from starlette.responses import JSONResponse

        listed = [
            {
                **_listed(name, model),
                "expires_at": "2027-01-01T00:00:00Z",
                "size_vram": 1,
                "context_length": model.context_length,
            }
            for name, model in self.models.items()
            if model.asked
        ]
        return JSONResponse({"models": listed})

    async def seen(self, request: Request) -> Response:
        from starlette.responses import JSONResponse

        told = {"requests": self.requests, "open": self.open, "broken_off": self.broken_off}
        return JSONResponse(told)

    async def reset(self, request: Request) -> Response:
        from starlette.responses import JSONResponse

        self.requests.clear()
        for model in self.models.values():
            model.asked = 0
        return JSONResponse({})


_DETAILS = {
    "parent_model": "",
    "format": "gguf",
    "family": "scripted",
    "families": ["scripted"],
    "parameter_size": "1B",
    "quantization_level": "Q8_0",
}


def _listed(name: str, model: Model) -> dict[str, Any]:
    tagged = name if ":" in name else f"{name}:latest"
    return {
        "name": tagged,
        "model": tagged,
        "modified_at": "2026-01-01T00:00:00Z",
        "size": 1,
        "digest": f"sha256:{name}",
        "details": _DETAILS,
        "capabilities": list(model.capabilities),
    }


async def _listed_lines(lines: AsyncIterator[bytes]) -> list[Any]:
    return [json.loads(line) async for line in lines]


async def _while_there(request: Request, making: Coroutine[Any, Any, list[Any]]) -> list[Any]:
    """What is being made; it is given up, and is nothing, when whoever asked has gone."""
    made, gone = asyncio.create_task(making), asyncio.create_task(_gone(request))
    try:
        await asyncio.wait((made, gone), return_when=asyncio.FIRST_COMPLETED)
        return await made if made.done() else []
    finally:
        for task in (made, gone):
            task.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _unknown(body: Mapping[str, Any]) -> Response:
    from starlette.responses import JSONResponse

    name = body.get("model") or body.get("name")
    return JSONResponse({"error": f'model "{name}" not found, try pulling it first'}, 404)


def _pieces(model: Model, reply: Reply, *, chat: bool) -> list[dict[str, Any]]:
    size = model.chunk
    thoughts = [reply.thinking[i : i + size] for i in range(0, len(reply.thinking), size)]
    texts = [reply.text[i : i + size] for i in range(0, len(reply.text), size)]
    if not chat:
        told = [{"response": "", "thinking": thought} for thought in thoughts]
        return [*told, *({"response": text} for text in texts)]
    messages: list[dict[str, Any]] = [{"content": "", "thinking": t} for t in thoughts]
    messages += [{"content": text} for text in texts]
    messages += [{"content": "", "tool_calls": [dict(call)]} for call in reply.tool_calls]
    return [{"message": {"role": "assistant", **message}} for message in messages]


def _line(body: Mapping[str, Any], piece: Mapping[str, Any]) -> bytes:
    head = {"model": body.get("model"), "created_at": "2026-01-01T00:00:00Z", "done": False}
    return json.dumps({**head, **piece}).encode() + b"\n"


def _event(delta: Mapping[str, Any], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return f"data: {json.dumps({'choices': [choice]})}\n\n".encode()


def _said(body: Mapping[str, Any]) -> str:
    return json.dumps([body.get(key) for key in ("prompt", "system", "messages", "tools")])


def _rendered(body: Mapping[str, Any]) -> str:
    """The prompt of a request, as the template above would have it."""
    spoken = body.get("messages") or [{"role": "user", "content": body.get("prompt", "")}]
    turns = [{"role": "system", "content": body["system"]}] if body.get("system") else []
    return "".join(
        f"<|im_start|>{turn['role']}\n{turn['content']}<|im_end|>\n" for turn in [*turns, *spoken]
    )


def _end(body: Mapping[str, Any], reply: Reply, *, chat: bool) -> dict[str, Any]:
    last = {"message": {"role": "assistant", "content": ""}} if chat else {"response": ""}
    return {
        **last,
        "done": True,
        "done_reason": reply.reason,
        "total_duration": 2_000_000,
        "prompt_eval_count": len(_said(body)) // 4,
        "prompt_eval_duration": 1_000_000,
        "eval_count": 20,
        "eval_duration": 1_000_000,
    }


async def _faulty(fault: Fault | None) -> AsyncIterator[bytes]:
    if fault == "cut_in_text":
        raise ConnectionAbortedError
    if fault == "error_in_text":
        yield b'{"error":"an error was encountered while running the model"}\n'
    elif fault == "malformed":
        yield b'{"model": "m", "mess\n'


def _joined(lines: Sequence[Mapping[str, Any]], *, chat: bool) -> dict[str, Any]:
    last = dict(lines[-1])
    if not chat:
        last["response"] = "".join(str(line.get("response", "")) for line in lines)
        return last
    messages = [line["message"] for line in lines if "message" in line]
    text = "".join(m["content"] for m in messages)
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls := [call for m in messages for call in m.get("tool_calls", ())]:
        message["tool_calls"] = calls
    last["message"] = message
    return last


def create_app(models: Mapping[str, Model]) -> Starlette:
    """The server as an ASGI application."""
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    server = _Server(models)

    async def version(request: Request) -> Response:
        return JSONResponse({"version": "0.33.0"})

    async def echo(request: Request) -> Response:
        await server.body(request)
        return Response(await request.body(), media_type=request.headers.get("content-type"))

    return Starlette(
        routes=[
            Route("/api/version", version),
            Route("/api/tags", server.tags),
            Route("/api/ps", server.loaded),
            Route("/api/show", server.show, methods=["POST"]),
            Route("/api/chat", server.answer, methods=["POST"]),
            Route("/api/generate", server.answer, methods=["POST"]),
            Route("/v1/chat/completions", server.completions, methods=["POST"]),
            Route("/v1/models", server.models_list),
            Route("/api/embed", echo, methods=["POST"]),
            Route("/v1/embeddings", echo, methods=["POST"]),
            Route("/_requests", server.seen),
            Route("/_reset", server.reset, methods=["POST"]),
        ]
    )


def main(arguments: Sequence[str]) -> None:
    """Serve a script until interrupted; prints the address."""
    import argparse
    import socket

    import uvicorn

    reader = argparse.ArgumentParser(description="A model server with written replies.")
    reader.add_argument("script", type=Path)
    reader.add_argument("--port", type=int, default=0)
    given = reader.parse_args(arguments)
    app = create_app(read_script(json.loads(given.script.read_text(encoding="utf-8"))))
    with socket.create_server(("127.0.0.1", given.port)) as listener:
        print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)  # noqa: T201 -- scripts read it
        config = uvicorn.Config(app, log_level="critical", access_log=False, lifespan="off")
        uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main(sys.argv[1:])
