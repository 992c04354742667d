"""What ``/api/generate`` and ``/api/chat`` have in common: streaming, counting, failing."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fallback.engine.cancel import Cancellation, CancelledError
from fallback.engine.gguf import Gguf
from fallback.engine.llama import Endpoint, LlamaDiedError, LlamaError
from fallback.engine.options import Options
from fallback.engine.pump import Pump
from fallback.engine.reply import (
    NDJSON,
    Reply,
    WireError,
    encode,
    json_reply,
    timestamp,
    without_zeros,
)
from fallback.engine.runtime import Lease
from fallback.engine.show import capabilities
from fallback.engine.store import StoredModel
from fallback.engine.wire import Common, Think

Event = Mapping[str, Any]
Line = dict[str, Any]

_RUNNER_DIED = (
    "model runner has unexpectedly stopped, this may be due to resource limitations or an internal"
    " error"
)
_CANCELLED = 499


@dataclass(slots=True)
class Job:
    """One request on its way through the engine.

    ``started`` is in ``perf_counter`` nanoseconds; ``timeout`` are the seconds without a token
    after which the request is given up.
    """

    common: Common
    model: StoredModel
    header: Gguf
    cancellation: Cancellation
    timeout: float | None
    started: int

    def line(self, **fields: Any) -> Line:
        """One line of the reply, with the fields that all of them begin with."""
        return {"model": self.common.model, "created_at": timestamp(), **fields}

    @property
    def think(self) -> Think:
        """What the template is told about thinking; a model that can think does so by default."""
        if self.common.think is None and "thinking" in capabilities(self.header):
            return True
        return self.common.think

    @property
    def window(self) -> int:
        """The context window of this request, in tokens."""
        return self.common.options.window(self.header.context_length)


def llama_settings(job: Job, *, prompt_tokens: int) -> dict[str, Any]:
    """What llama.cpp is told beside the prompt: sampling, stop strings, limits, a schema."""
    options, common = job.common.options, job.common
    settings: dict[str, Any] = {
        **options.sampling,
        "n_keep": options.num_keep,
        "n_predict": _token_limit(options, job, prompt_tokens),
        "stop": list(options.stop or ()),
    }
    if common.format is not None:
        settings["json_schema"] = common.format
    return settings


def _token_limit(options: Options, job: Job, prompt_tokens: int) -> int:
    limit = options.limit(job.window)
    if job.common.shift:
        return limit
    # Without a shift the window is the end: Ollama stops there with `length`.
    return max(1, min(limit, job.window - prompt_tokens))


def window_exceeded(prompt_tokens: int, window: int) -> WireError:
    """The prompt does not fit: llama.cpp's error, nested as Ollama relays it."""
    return relayed(
        LlamaError(
            400,
            {
                "code": 400,
                "message": f"request ({prompt_tokens} tokens) exceeds the available context size"
                f" ({window} tokens), try increasing it",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": prompt_tokens,
                "n_ctx": window,
            },
        )
    )


def relayed(error: LlamaError) -> WireError:
    """An error of llama.cpp's, as Ollama passes it on: a JSON document inside the string."""
    status = error.status if error.status >= 400 else 500
    return WireError(status, json.dumps({"error": error.body}, separators=(",", ":")))


def statistics(job: Job, lease: Lease, timings: Mapping[str, Any]) -> dict[str, int]:
    """The counts and times of the last line; all times in nanoseconds.

    ``cached_tokens`` is ours, not Ollama's: how many of the prompt's tokens needed no evaluation,
    by llama.cpp's own count. It is always there, also when it is 0.
    """
    cached = int(timings.get("cache_n", 0))
    stats = without_zeros(
        {
            "total_duration": time.perf_counter_ns() - job.started,
            "load_duration": lease.load_ns,
            "prompt_eval_count": cached + int(timings.get("prompt_n", 0)),
            "prompt_eval_duration": round(timings.get("prompt_ms", 0) * 1e6),
            "eval_count": int(timings.get("predicted_n", 0)),
            "eval_duration": round(timings.get("predicted_ms", 0) * 1e6),
        }
    )
    return {**stats, "cached_tokens": cached}


def run(
    job: Job,
    lease: Lease,
    endpoint: Endpoint,
    body: Mapping[str, Any],
    ids: Sequence[int],
    lines: Callable[[Iterator[Event]], Iterator[Line]],
    joined: Callable[[list[Line]], Line],
) -> Reply:
    """Generate and answer: ``lines`` makes llama.cpp's events the lines of a stream, ``joined`` one
    of them.

    The lease is given back when the model is done, however slowly the reply is read. Errors before
    the first line become a status, later ones a last line with ``error``.
    """

    def on_end(error: BaseException | None) -> None:
        lease.release(broken=isinstance(error, LlamaDiedError))

    source = lease.server.stream(endpoint, body, ids, job.cancellation)
    events = Pump(source, job.cancellation, on_end=on_end, timeout=job.timeout)
    try:
        first = next(events)
        if not job.common.stream:
            return json_reply(joined(list(lines(_chain(first, events)))))
    except BaseException as error:
        job.cancellation.cancel()
        if isinstance(error, CancelledError | LlamaError | LlamaDiedError):
            raise wire_error(error) from error
        raise
    body_ = _encoded(lines(_chain(first, events)), job.cancellation)
    return Reply(200, {"content-type": NDJSON}, body_, job.cancellation)


def wire_error(error: CancelledError | LlamaError | LlamaDiedError) -> WireError:
    """How a failed generation is reported."""
    if isinstance(error, LlamaError):
        return relayed(error)
    if isinstance(error, CancelledError):
        return WireError(_CANCELLED, "request canceled")
    return WireError(500, _RUNNER_DIED)


def _chain(first: Event, rest: Iterator[Event]) -> Iterator[Event]:
    yield first
    yield from rest


def _encoded(lines: Iterator[Line], cancellation: Cancellation) -> Iterator[bytes]:
    try:
        for line in lines:
            yield encode(line) + b"\n"
    except WireError as error:
        yield encode({"error": error.text}) + b"\n"
    except LlamaError as error:
        yield encode({"error": str(error)}) + b"\n"
    except LlamaDiedError:
        yield encode({"error": _RUNNER_DIED}) + b"\n"
    except CancelledError:
        return  # whoever gave up does not read on
    finally:
        cancellation.cancel()
