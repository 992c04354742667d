"""The whole way, with the real embedded model at temperature 0: session and command line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fallback import Limits, Session, Turn
from fallback.backend import Backend
from fallback.engine.models import DEFAULT_MODEL
from fallback.engine.prefix import BLOCK

pytestmark = pytest.mark.engine
pytest.importorskip("xllamacpp")

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "examples" / "tools.py"
ASK_DAY = "What day of the week is 2031-12-24?"
TO_SHOW = {"temperature": 0}


@pytest.fixture(scope="module")
def backend(engine: Any) -> Iterator[Backend]:
    """The engine that all integration tests share, so that the model is loaded once."""
    import httpx

    from fallback.engine.transport import EngineTransport
    from fallback.ollama import OllamaBackend

    with httpx.Client(transport=EngineTransport(engine)) as client:
        yield OllamaBackend("embedded", client=client)


def ask(backend: Backend, question: str, **settings: Any) -> Turn:
    from fallback.toolfile import load_catalogue

    tools = load_catalogue([TOOLS])
    with Session(DEFAULT_MODEL, tools, backend=backend, options=TO_SHOW, **settings) as session:
        return session.run(question)


def test_a_plain_question_ends_without_a_call(backend: Backend) -> None:
    turn = ask(backend, "What is the capital of France?", mode="prompt")
    assert turn.stop_reason == "answered"
    assert turn.tools_used == ()
    assert len(turn.steps) == 1
    assert "Paris" in turn.answer


@pytest.fixture(scope="module")
def tool_turn(backend: Backend) -> Turn:
    return ask(backend, ASK_DAY, mode="prompt")


def test_a_tool_question_calls_the_right_tool_in_prompt_mode(tool_turn: Turn) -> None:
    first = tool_turn.steps[0]
    assert (first.mode, first.path, first.source) == ("prompt", "generate/raw/chatml", "text")
    assert [(c.name, c.arguments) for c in first.calls] == [("weekday", {"day": "2031-12-24"})]
    assert [r.content for r in first.results] == ["Wednesday"]
    assert tool_turn.stop_reason == "answered"
    assert "Wednesday" in tool_turn.answer


def test_a_second_step_evaluates_only_what_is_new(tool_turn: Turn) -> None:
    first, second = tool_turn.steps[:2]
    assert second.usage.cached_tokens is not None
    # The engine keeps whole blocks, so that a reply does not depend on what was asked before.
    assert second.usage.cached_tokens > first.usage.prompt_tokens - BLOCK
    assert second.usage.prompt_tokens > first.usage.prompt_tokens


def test_native_mode_yields_the_call_by_reading_the_text(backend: Backend) -> None:
    turn = ask(backend, ASK_DAY, mode="native", limits=Limits(max_steps=1))
    first = turn.steps[0]
    assert (first.mode, first.path) == ("native", "chat+tools")
    # The server reported no tool_calls: the model claims tools and writes the call as text.
    assert first.source == "text"
    assert [(c.name, c.arguments) for c in first.calls] == [("weekday", {"day": "2031-12-24"})]
    assert turn.tools_used[0] == "weekday"


def test_a_prompt_that_does_not_fit_is_an_error_with_the_numbers(backend: Backend) -> None:
    from fallback.errors import ContextWindowError

    with pytest.raises(ContextWindowError) as raised:
        ask(backend, "word " * 600, mode="prompt", num_ctx=512)
    assert raised.value.num_ctx == 512
    assert raised.value.prompt_tokens is not None
    assert raised.value.prompt_tokens > 512


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fallback", "run", *arguments, "--tools", str(TOOLS)],
        capture_output=True,
        text=True,
    )


def test_the_command_line_tells_the_whole_turn_as_json() -> None:
    done = command(
        ASK_DAY, "--host", "embedded", "--mode", "prompt", "--temperature", "0", "--json"
    )
    assert done.returncode == 0, done.stderr
    turn = json.loads(done.stdout)
    assert turn["tools_used"] == ["weekday"]
    assert "Wednesday" in turn["answer"]
    assert turn["steps"][0]["calls"][0]["arguments"] == {"day": "2031-12-24"}
    assert turn["steps"][0]["raw"]
    assert turn["usage"]["completion_tokens"] > 0


def test_the_demo_prints_what_the_readme_shows() -> None:
    """What a stranger sees: the lines of the demo's last command, times and tokens aside."""
    done = subprocess.run(
        [str(ROOT / "scripts" / "demo")], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    shown = (ROOT / "README.md").read_text(encoding="utf-8")
    facts = [line for line in done.stdout.splitlines() if " tokens " not in line]
    for line in facts:
        assert line.rstrip() in shown, line
