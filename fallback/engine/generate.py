"""``POST /api/generate``: a prompt is continued.

With ``raw`` the prompt goes to the model as it is. Otherwise ``system`` and ``prompt`` become
messages, and the model's own Jinja template makes the prompt of them; a model without a template
gets the bare prompt, and loses ``system``, as with Ollama.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from fallback.engine.generation import (
    Event,
    Job,
    Line,
    llama_settings,
    run,
    statistics,
    window_exceeded,
)
from fallback.engine.llama import LlamaServer
from fallback.engine.reply import Reply, WireError, json_reply
from fallback.engine.runtime import Lease
from fallback.engine.wire import GenerateRequest

_TOO_LONG = (
    "the prompt is longer than the context length currently available to the model; shorten the"
    " prompt, adjust the context length in settings, or use a model with a longer context length"
)

# In the notation of llama.cpp's grammars, control characters are written by number.
_ESCAPES = {chr(code): f"\\x{code:02X}" for code in (*range(32), 127)} | {
    '"': '\\"',
    "\\": "\\\\",
}


def generate(request: GenerateRequest, job: Job, lease: Lease) -> Reply:
    """Answer the request. The lease is given back by the reply, or here if there is an error."""
    prompt = _prompt(request, job, lease.server)
    if request.common.render_only:
        lease.release()
        return json_reply(
            job.line(response="", done=False, _debug_info={"rendered_template": prompt})
        )
    ids = _fit(lease.server.tokenize(prompt), job, lease.server)
    body = {**llama_settings(job, prompt_tokens=len(ids)), "prompt": list(ids)}
    if request.common.logprobs is not None:
        body["n_probs"] = max(1, request.common.logprobs)
    schema = body.pop("json_schema", None)
    if request.forced_reply:
        body |= _forced(request.forced_reply)
    elif schema is not None:
        body["grammar"] = _held(schema)

    def lines(events: Iterator[Event]) -> Iterator[Line]:
        return _lines(request, job, lease, ids, events)

    return run(job, lease, "/completion", body, ids, lines, _joined)


def _held(schema: Mapping[str, Any]) -> str:
    """The grammar of a value of the schema, and of an end of line behind it, as Ollama's has it.

    A model writes the last braces and the end of their line as one token. Where that is out of
    question it goes on with a number that it had ended: ``0.3`` became ``0.3000000000000000400``.

    Source: LLGuidance, ``docs/syntax.md``; llama.cpp, ``common/json-schema-to-grammar.cpp``.
    """
    value = json.dumps(schema)
    return f'%llguidance {{}}\nstart: value | value END\nvalue: %json {value}\nEND: "\\n"\n'


def _forced(text: str) -> dict[str, Any]:
    """Settings that leave nothing else to write than one text.

    The grammar has no other sentence. Of the ways to cut the text into tokens the likeliest at each
    place is taken.
    """
    escaped = "".join(_ESCAPES.get(letter) or letter for letter in text)
    return {
        "grammar": f'root ::= "{escaped}"',
        "n_predict": len(text.encode("utf-8", "replace")) + 1,
        "temperature": 0.0,
        "stop": [],
    }


def _prompt(request: GenerateRequest, job: Job, server: LlamaServer) -> str:
    if request.raw:
        # As Ollama does: where the tokeniser adds it, a second one is worse than none.
        adds_bos = request.prompt.startswith("<bos>") and server.tokenize("")
        return request.prompt.removeprefix("<bos>") if adds_bos else request.prompt
    if job.header.template:
        messages = [{"role": "user", "content": request.prompt}]
        if request.system:
            messages.insert(0, {"role": "system", "content": request.system})
        body: dict[str, Any] = {"messages": messages}
        if job.think is not None:
            body["chat_template_kwargs"] = {"enable_thinking": bool(job.think)}
        prompt = server.apply_template(body)
    else:
        prompt = request.prompt
    return server.detokenize(request.context) + prompt if request.context else prompt


def _fit(tokens: tuple[int, ...], job: Job, server: LlamaServer) -> tuple[int, ...]:
    """Make the prompt fit the window, or refuse it.

    What does not fit is cut as Ollama cuts it, out of the middle: more than half of the window is
    given away so that there is room to write. Only a request that says ``truncate: false`` is safe
    from that.
    """
    window = job.window
    if len(tokens) < window:
        return tokens
    if not job.common.truncate:
        raise window_exceeded(len(tokens), window)
    if not job.common.shift:
        raise WireError(400, _TOO_LONG)
    begin = len(server.tokenize(""))  # BOS, if the model wants one
    keep = max(0, min(job.common.options.num_keep + begin, window - 2))
    limit = window - max((window - keep) // 2, 1)
    return (*tokens[:keep], *tokens[len(tokens) - (limit - keep) :])


def _lines(
    request: GenerateRequest,
    job: Job,
    lease: Lease,
    ids: tuple[int, ...],
    events: Iterator[Event],
) -> Iterator[Line]:
    written: list[int] = []
    for event in events:
        written.extend(event.get("tokens", ()))
        if not event.get("stop"):
            yield job.line(response=event["content"], done=False, **_logprobs(request, event))
            continue
        if event["content"]:
            yield job.line(response=event["content"], done=False)
        reason = "length" if event.get("stop_type") == "limit" else "stop"
        last = job.line(response="", done=True, done_reason=reason)
        if not request.raw:
            last["context"] = [*ids, *written]
        yield {**last, **statistics(job, lease, event.get("timings", {}))}


def _logprobs(request: GenerateRequest, event: Event) -> dict[str, Any]:
    if request.common.logprobs is None:
        return {}
    entries = [
        token_logprob(entry, request.common.logprobs)
        for entry in event.get("completion_probabilities", ())
    ]
    return {"logprobs": entries} if entries else {}


def token_logprob(entry: Event, alternatives: int) -> dict[str, Any]:
    """One token's probability in Ollama's form, of llama.cpp's."""
    shown = {name: entry[name] for name in ("token", "logprob", "bytes") if name in entry}
    if alternatives:
        shown["top_logprobs"] = [
            {name: other[name] for name in ("token", "logprob", "bytes") if name in other}
            for other in entry.get("top_logprobs", ())[:alternatives]
        ]
    return shown


def _joined(lines: list[Line]) -> Line:
    whole = dict(lines[-1])
    whole["response"] = "".join(line["response"] for line in lines)
    if logprobs := [entry for line in lines for entry in line.get("logprobs", ())]:
        whole["logprobs"] = logprobs
    return whole
