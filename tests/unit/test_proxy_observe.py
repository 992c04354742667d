"""What is told of an answer: figures, one line, a span; never what was said."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from fallback.messages import Message, Usage
from fallback.proxy.ask import Ask
from fallback.proxy.events import Event, Failed, Failure, Finished, TextDelta
from fallback.proxy.http import Incoming
from fallback.proxy.observe import JsonLines, Observer, request_id
from fallback.proxy.record import Record

ASK = Ask(wire="chat", model="m", messages=(Message(role="user", content="hush"),))
RECORD = Record(
    mode="prompt",
    rounds=2,
    calls=1,
    repairs=("null_left_out $.x",),
    problems=("invalid_json",),
    usage=Usage(prompt_tokens=70, completion_tokens=5),
)


def watched(observer: Observer, *events: Event, heard: int = 99) -> None:
    async def source() -> AsyncGenerator[list[Event]]:
        for event in events:
            yield [event]

    async def run() -> None:
        observation = observer.begin(ASK, "id-1", "alice")
        observation.told(RECORD)
        stream = observation.watch(source())
        count = 0
        async for _ in stream:
            count += 1
            if count == heard:
                break
        await stream.aclose()

    asyncio.run(run())


def figures(observer: Observer) -> str:
    return observer.metrics.text()[0].decode()


def test_an_answer_becomes_figures_without_a_label_that_a_client_could_choose() -> None:
    observer = Observer()
    watched(observer, TextDelta("hush"), Finished("stop", RECORD.usage))
    text = figures(observer)
    for line in (
        'fallback_requests_total{mode="prompt",outcome="stop",wire="chat"} 1.0',
        'fallback_repairs_total{repair="null_left_out"} 1.0',
        'fallback_problems_total{kind="invalid_json"} 1.0',
        'fallback_tokens_total{direction="prompt"} 70.0',
        'fallback_calls_total{wire="chat"} 1.0',
        "fallback_corrections_total 1.0",
        "fallback_running 0.0",
        'fallback_first_token_seconds_count{wire="chat"} 1.0',
    ):
        assert line in text
    assert '"m"' not in text
    assert "hush" not in text


def test_a_failure_and_a_client_that_left_are_outcomes_of_their_own() -> None:
    observer = Observer()
    watched(observer, Failed(Failure(kind="upstream", message="x", status=502)))
    watched(observer, TextDelta("a"), Finished("stop", Usage()), heard=1)
    text = figures(observer)
    assert 'outcome="upstream"' in text
    assert 'outcome="left"' in text
    assert "fallback_running 0.0" in text


def test_a_line_of_the_log_is_json_with_the_request_s_id(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO, "fallback.proxy"):
        watched(Observer(), TextDelta("hush"), Finished("stop", Usage()))
    (record,) = caplog.records
    told: dict[str, Any] = json.loads(JsonLines().format(record))
    assert told["event"] == "answered"
    assert (told["request"], told["client"], told["mode"]) == ("id-1", "alice", "prompt")
    assert told["prompt_tokens"] == 70
    assert "hush" not in json.dumps(told)


@pytest.mark.parametrize("given", ["", "a" * 65, "a b", "a\nb", "é"])
def test_only_a_harmless_id_of_a_client_is_taken(given: str) -> None:
    assert request_id(Incoming("GET", "/", (("x-request-id", given),))) != given
    assert request_id(Incoming("GET", "/", (("x-request-id", "a-1.b:c_2"),))) == "a-1.b:c_2"


def test_a_span_carries_the_names_of_the_conventions(monkeypatch: pytest.MonkeyPatch) -> None:
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    monkeypatch.setattr("opentelemetry.trace.get_tracer", provider.get_tracer)
    observer = Observer(traces=True)
    watched(observer, TextDelta("hush"), Finished("tool_calls", RECORD.usage))
    watched(observer, Failed(Failure(kind="upstream", message="x", status=502)))
    good, bad = spans.get_finished_spans()
    assert good.name == "chat m"
    told = dict(good.attributes or {})
    assert told["gen_ai.operation.name"] == "chat"
    assert told["gen_ai.request.model"] == "m"
    assert told["gen_ai.usage.input_tokens"] == 70
    assert told["gen_ai.response.finish_reasons"] == ("tool_calls",)
    assert (bad.attributes or {})["error.type"] == "upstream"
    assert "hush" not in good.to_json()
