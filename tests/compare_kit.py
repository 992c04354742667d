"""For the tests of comparisons: suites, a model that answers by rule, and folders of results."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fallback.backend import GenerationRequest
from fallback.compare.cases import Case, ExpectedAnswer, read_case
from fallback.compare.hosts import Host
from fallback.compare.patterns import Alternatives, Contains, Exactly, Fields, Items, Pattern
from fallback.compare.running import Summary, missing, run_missing, units_of
from fallback.compare.store import RECORD_VERSION, Store
from fallback.compare.units import Sampling, Unit
from fallback.testing import ScriptedBackend
from fallback.ways import Way, ways_of

WEATHER = {
    "name": "get_weather",
    "description": "Weather in a city.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    },
}
MAIL = {
    "name": "send_email",
    "description": "Send an email.",
    "parameters": {
        "type": "object",
        "properties": {"to": {"type": "string"}, "body": {"type": "string"}},
        "required": ["to", "body"],
    },
}

Rule = Callable[[GenerationRequest], Any]


def plain_cases(count: int) -> list[dict[str, Any]]:
    """Lines of a suite, each of which wants the same call."""
    return [
        {
            "id": f"c{number}",
            "question": f"Question {number}?",
            "tools": [WEATHER],
            "calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}}],
        }
        for number in range(count)
    ]


def case_of(**given: Any) -> Case:
    """A case with the weather in it, unless something else is said."""
    value = {
        "id": "c1",
        "question": "What is the weather in Oslo?",
        "tools": [WEATHER],
        "calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}}],
    } | given
    return read_case("tests", value)


def record_of(key: str, **more: Any) -> dict[str, Any]:
    """A whole record of a turn without a step, unless something else is said."""
    return {
        "v": RECORD_VERSION,
        "key": key,
        "model": "m",
        "digest": "d1",
        "way": "prompt:fenced",
        "suite": "tests",
        "case": "c1",
        "case_digest": case_of().digest,
        "kind": "case",
        "repeat": 0,
        "version": "0",
        "at": "2030-01-01T00:00:00+00:00",
        "options": {"temperature": 0.0, "seed": 0, "num_predict": 1024},
        "prompt": [["user", "?"]],
        "answer": "",
        "stop": "answered",
        "error": None,
        "steps": [],
    } | more


def fenced(name: str, **arguments: Any) -> str:
    return f"```tool_call\n{json.dumps({'name': name, 'arguments': arguments})}\n```"


def model(rule: Rule, *, native: bool = True) -> ScriptedBackend:
    """A model that answers by rule, as often as it is asked."""
    return ScriptedBackend([rule] * 1000, capabilities=["tools"] if native else [])


def host_of(rule: Rule, *, url: str = "http://127.0.0.1:1", native: bool = True) -> Host:
    backend = model(rule, native=native)
    return Host(url, {"generate": backend, "chat": backend}, backend.close)


class Watch:
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.finished: list[str] = []
        self.left_out: list[str] = []
        self.lines: list[str] = []

    def done(self, unit: Unit, record: Mapping[str, Any]) -> None:
        self.finished.append(f"{unit.case.id} {unit.way.name}")

    def skipped(self, unit: Unit) -> None:
        self.left_out.append(f"{unit.case.id} {unit.way.name}")

    def said(self, line: str) -> None:
        self.lines.append(line)


def run(
    store: Store,
    cases: Sequence[Case],
    hosts: Sequence[Host],
    *,
    ways: Sequence[str] = ("native+read", "prompt:fenced"),
    models: Sequence[str] = ("m",),
    watch: Watch | None = None,
    repeats: int = 1,
) -> Summary:
    """What the command does, without its command line."""
    infos = {name: hosts[0].backends["generate"].describe(name) for name in models}
    chosen: tuple[Way, ...] = ways_of(ways)
    units = units_of(models, chosen, cases, repeats=repeats, sampling=Sampling())
    left = missing(units, infos, store)
    store.add_cases(cases)
    store.add_run({"at": "2030-01-01T00:00:00+00:00", "command": "fallback compare", "where": "x"})
    return run_missing(left, infos, hosts, store, watch or Watch())


def written(path: Path, *lines: Mapping[str, Any]) -> Path:
    """A suite as a file."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def concrete(pattern: Pattern) -> Any:
    """A value that the pattern stands for, as short as it can be."""
    match pattern:
        case Exactly(value):
            return value
        case Contains(words):
            return " ".join(words)
        case Alternatives(options):
            return concrete(options[0])
        case Items(items):
            return [concrete(item) for item in items]
        case Fields(fields, optional):
            return {name: concrete(f) for name, f in fields.items() if name not in optional}
    return "anything"


def oracle(case: Case, *, native: bool = False) -> ScriptedBackend:
    """A model that does what the case expects: the calls, one by one if that is so, the answer."""
    calls = [(call.name, concrete(call.arguments)) for call in case.calls]
    batches = [[call] for call in calls] if case.ordered else [calls] if calls else []
    said = case.answer or ExpectedAnswer()
    answer = " and ".join(texts[0] for texts in said.has) or "That is all."
    if native:
        written = [
            {"tool_calls": [{"name": n, "arguments": a} for n, a in batch]} for batch in batches
        ]
        return ScriptedBackend([*written, answer], capabilities=["tools"])
    blocks = ["```tool_call\n" + "\n".join(map(_line, batch)) + "\n```" for batch in batches]
    return ScriptedBackend([*blocks, answer])


def _line(call: tuple[str, Any]) -> str:
    from fallback.templating import to_json

    return to_json({"name": call[0], "arguments": call[1]})
