"""The three sets of replies: conformance cases, canitoolcall's fixtures, the bench replies."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import fallback.testing
from benchmarks.peers.bench_replies import bench_replies
from benchmarks.peers.environments import CANITOOLCALL, prepared, python_of
from benchmarks.peers.judging import Case

_OPENERS = ("<think>", "[THINK]", "<|channel>thought", "<|open|>think<|sep|>")


def every_set(cache: Path) -> dict[str, list[Case]]:
    """The sets by name, in the order of the table."""
    return {
        "conformance": conformance(),
        "canitoolcall": canitoolcall(cache),
        "bench": bench_replies(),
    }


def conformance() -> list[Case]:
    """The product's own cases, judged by their calls alone."""
    cases = []
    for raw in fallback.testing.cases():
        others = [other for other in raw.get("also_ok") or [] if "expect_calls" in other]
        cases.append(
            Case(
                id=raw["id"],
                text=raw["output"],
                tools=wrapped(raw["tools"]),
                accepted=tuple(outcome["expect_calls"] for outcome in (raw, *others)),
                group=raw["category"],
                context=_known(raw, "finish_reason", "tool_choice", "reasoning_open"),
            )
        )
    return cases


def canitoolcall(cache: Path) -> list[Case]:
    """Fixtures with tools and one expected parse, from the installed package."""
    python = python_of(prepared(CANITOOLCALL, cache))
    code = "import canitoolcall.fixtures as f; print(f.default_fixtures_dir())"
    said = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout
    return fixtures(Path(said.strip()))


def fixtures(root: Path) -> list[Case]:
    """The same from a folder in the package's format."""
    cases = []
    for folder in sorted(path.parent for path in root.glob("*/family.json")):
        models = json.loads((folder / "family.json").read_text("utf-8"))["reference_models"]
        known = {model["repo"]: model for model in models}
        for path in sorted(folder.glob("*.jsonl")):
            raws = (raw for raw in _lines(path) if raw.get("expected") and raw["tools"])
            cases += [_fixture(raw, known.get(raw["models"][0], {})) for raw in raws]
    return cases


def _fixture(raw: dict[str, Any], model: dict[str, Any]) -> Case:
    prompt = raw.get("generation_prompt")
    prompt = model.get("default_generation_prompt") if prompt is None else prompt
    calls = [
        {"name": call["name"], "arguments": call["arguments"]}
        for call in raw["expected"]["tool_calls"]
    ]
    return Case(
        id=raw["id"],
        text=raw["raw_output"],
        tools=wrapped(raw["tools"]),
        accepted=(calls,),
        group=raw["family"],
        context={
            "finish_reason": "length" if "truncated" in raw["tags"] else "stop",
            "reasoning_open": (prompt or "").rstrip().endswith(_OPENERS),
            "format": model.get("variant"),
        },
    )


def wrapped(tools: list[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Tools in OpenAI's form, whether they came so or bare."""
    return tuple(
        tool if "function" in tool else {"type": "function", "function": tool} for tool in tools
    )


def _known(raw: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: raw[name] for name in names if raw.get(name) is not None}


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    return map(json.loads, filter(str.strip, path.read_text("utf-8").split("\n")))
