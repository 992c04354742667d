"""Figures for Prometheus. No label has more values than we have written down ourselves."""

from __future__ import annotations

import os
from typing import Any

from fallback.proxy.record import Record

__all__ = ["Metrics", "Uncounted"]

_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)


class Metrics:
    """The figures of one process; :meth:`text` adds those of other workers where there are some."""

    running: Any
    first: Any

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        self._registry = CollectorRegistry()
        own: dict[str, Any] = {"registry": self._registry}
        self.requests = Counter(
            "fallback_requests", "Answers that have ended.", ("wire", "mode", "outcome"), **own
        )
        self.running = Gauge(
            "fallback_running", "Answers under way.", multiprocess_mode="livesum", **own
        )
        self.calls = Counter("fallback_calls", "Tool calls that were given out.", ("wire",), **own)
        self.rounds = Counter(
            "fallback_corrections", "Replies that were asked for again, unseen.", **own
        )
        self.repairs = Counter("fallback_repairs", "Repairs on given calls.", ("repair",), **own)
        self.problems = Counter("fallback_problems", "Calls that were refused.", ("kind",), **own)
        self.suppressed = Counter("fallback_suppressed", "Calls that were not meant.", **own)
        self.tokens = Counter("fallback_tokens", "Tokens.", ("direction",), **own)
        self.first = Histogram(
            "fallback_first_token_seconds",
            "Time to the first piece of an answer.",
            ("wire",),
            buckets=_SECONDS,
            **own,
        )
        self.seconds = Histogram(
            "fallback_request_seconds", "Time of an answer.", ("wire",), buckets=_SECONDS, **own
        )
        self.errors = Counter("fallback_upstream_errors", "Upstream errors.", ("error",), **own)

    def ended(self, wire: str, outcome: str, record: Record, seconds: float) -> None:
        """An answer has ended."""
        self.requests.labels(wire, record.mode, outcome).inc()
        self.seconds.labels(wire).observe(seconds)
        self.calls.labels(wire).inc(record.calls)
        self.rounds.inc(max(record.rounds - 1, 0))
        self.suppressed.inc(record.suppressed)
        for repair in record.repairs:
            self.repairs.labels(repair.partition(" ")[0]).inc()
        for problem in record.problems:
            self.problems.labels(problem).inc()
        prompt = record.usage.prompt_tokens + record.deciding.prompt_tokens
        self.tokens.labels("prompt").inc(prompt)
        self.tokens.labels("completion").inc(
            record.usage.completion_tokens + record.deciding.completion_tokens
        )
        if record.upstream_error:
            self.errors.labels(record.upstream_error).inc()

    def text(self) -> tuple[bytes, str]:
        """The exposition, and its content type."""
        from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

        registry = self._registry
        if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
            from prometheus_client import multiprocess

            registry = CollectorRegistry()
            multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call] # untyped there
        return generate_latest(registry), CONTENT_TYPE_LATEST


class Uncounted(Metrics):
    """No figures: for a gateway inside the client's own process, where nobody collects them."""

    def __init__(self) -> None:
        self.running = self.first = _Nothing()

    def ended(self, wire: str, outcome: str, record: Record, seconds: float) -> None:
        """Nothing is kept."""

    def text(self) -> tuple[bytes, str]:
        """There is nothing to tell."""
        return b"", "text/plain"


class _Nothing:
    """Takes what a gauge and a histogram take."""

    def labels(self, *names: str) -> _Nothing:
        return self

    def inc(self, amount: float = 1) -> None:
        return None

    dec = observe = inc
