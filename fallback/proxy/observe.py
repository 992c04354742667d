"""What is told of each answer: one line in the log, figures, and a span. Never a body."""

from __future__ import annotations

import json
import logging
import re
import secrets
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

from fallback.proxy.ask import Ask
from fallback.proxy.events import Event, Failed, Finished
from fallback.proxy.http import Incoming
from fallback.proxy.metrics import Metrics
from fallback.proxy.record import Record

__all__ = ["JsonLines", "Observation", "Observer", "request_id"]

_log = logging.getLogger("fallback.proxy")
_ID = re.compile(r"[\w.:-]{1,64}\Z", re.ASCII)


def request_id(incoming: Incoming) -> str:
    """The client's own id for its request, or a new one."""
    given = incoming.header("x-request-id")
    return given if _ID.match(given) else secrets.token_hex(8)


class JsonLines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record with the fields that were given beside its message."""
        told: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            told["trace"] = self.formatException(record.exc_info)
        return json.dumps(told, ensure_ascii=False, default=str)


class Observer:
    """Observes answers.

    Args:
        traces: whether spans are made; where they go is OpenTelemetry's business.
        metrics: where figures are kept; new ones if not given.
    """

    def __init__(self, *, traces: bool = False, metrics: Metrics | None = None) -> None:
        self.metrics = metrics or Metrics()
        self._tracer: Any = None
        if traces:
            from opentelemetry import trace

            self._tracer = trace.get_tracer("fallback.proxy")

    def begin(self, ask: Ask, identity: str, client: str) -> Observation:
        """An answer begins."""
        span = None
        if self._tracer is not None:
            # Names: OpenTelemetry's semantic conventions for generative AI.
            attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": ask.model}
            span = self._tracer.start_span(f"chat {ask.model}", attributes=attributes)
        return Observation(ask, identity, client, self.metrics, span)


class Observation:
    """One answer, observed."""

    def __init__(self, ask: Ask, identity: str, client: str, metrics: Metrics, span: Any) -> None:
        self._ask, self._identity, self._client = ask, identity, client
        self._metrics, self._span = metrics, span
        self._record = Record()
        self._started = time.monotonic()
        self._first: float | None = None

    def told(self, record: Record) -> None:
        """The record that the answer is being written to."""
        self._record = record

    async def watch(self, batches: AsyncGenerator[list[Event]]) -> AsyncGenerator[list[Event]]:
        """The events, seen in passing; an answer that is not heard to its end is ``left``."""
        outcome = "left"
        self._metrics.running.inc()
        try:
            async with aclosing(batches):
                async for events in batches:
                    if self._first is None:
                        self._first = time.monotonic() - self._started
                        self._metrics.first.labels(self._ask.wire).observe(self._first)
                    last = events[-1]
                    if isinstance(last, Finished):
                        outcome = last.reason
                    elif isinstance(last, Failed):
                        outcome = last.failure.kind
                    yield events
        finally:
            self._metrics.running.dec()
            self._ended(outcome)

    def _ended(self, outcome: str) -> None:
        record, ask = self._record, self._ask
        seconds = time.monotonic() - self._started
        self._metrics.ended(ask.wire, outcome, record, seconds)
        if _log.isEnabledFor(logging.INFO):
            self._tell(outcome, seconds)
        if self._span is not None:
            self._close_span(outcome)

    def _tell(self, outcome: str, seconds: float) -> None:
        record, ask = self._record, self._ask
        fields = {
            "request": self._identity,
            "client": self._client,
            "wire": ask.wire,
            "model": ask.model,
            "outcome": outcome,
            "mode": record.mode,
            "path": record.path,
            "tools": len(ask.catalogue),
            "messages": len(ask.messages),
            "rounds": record.rounds,
            "calls": record.calls,
            "repairs": record.repairs,
            "problems": record.problems,
            "suppressed": record.suppressed,
            "decided": record.decided,
            "deciding_tokens": record.deciding.prompt_tokens or "",
            "prompt_tokens": record.usage.prompt_tokens,
            "completion_tokens": record.usage.completion_tokens,
            "first_seconds": None if self._first is None else round(self._first, 4),
            "seconds": round(seconds, 4),
            "upstream_error": record.upstream_error,
        }
        said = {name: value for name, value in fields.items() if value not in ("", ())}
        _log.info("answered", extra={"fields": said})
        if ask.ignored:
            ignored = {"request": self._identity, "ignored": ask.ignored}
            _log.debug("left out of account", extra={"fields": ignored})

    def _close_span(self, outcome: str) -> None:
        usage, span = self._record.usage, self._span
        span.set_attribute("gen_ai.response.finish_reasons", [outcome])
        span.set_attribute("gen_ai.usage.input_tokens", usage.prompt_tokens)
        span.set_attribute("gen_ai.usage.output_tokens", usage.completion_tokens)
        span.set_attribute("fallback.mode", self._record.mode)
        span.set_attribute("fallback.wire", self._ask.wire)
        span.set_attribute("fallback.rounds", self._record.rounds)
        span.set_attribute("fallback.calls", self._record.calls)
        if outcome not in ("stop", "length", "tool_calls"):
            span.set_attribute("error.type", outcome)
        span.end()
