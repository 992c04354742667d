"""A flow with the real embedded model: the second step needs what the first one found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.engine
pytest.importorskip("xllamacpp")

ROOT = Path(__file__).resolve().parents[2]


def test_a_small_model_completes_two_steps(engine: Any) -> None:
    import httpx

    from fallback import Session
    from fallback.engine.models import DEFAULT_MODEL
    from fallback.engine.transport import EngineTransport
    from fallback.flow.file import load_flow
    from fallback.ollama import OllamaBackend
    from fallback.toolfile import load_catalogue

    told = load_flow(ROOT / "examples" / "flow.toml")
    with httpx.Client(transport=EngineTransport(engine)) as client:
        backend = OllamaBackend("embedded", client=client)
        tools = load_catalogue(told.tools)
        with Session(DEFAULT_MODEL, tools, backend=backend, mode="prompt") as session:
            run = told.flow.run(session, inputs=told.inputs)
    assert [step.value for step in run.steps] == ["2032-01-03", "Saturday"]
    assert run.steps[1].question == "What day of the week is 2032-01-03?"
    assert run.done
