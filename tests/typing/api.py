"""The public API as its users write it; never run, only type-checked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any, assert_type

import fallback
from fallback import (
    AsyncSession,
    Catalogue,
    Limits,
    Parser,
    Problem,
    Reading,
    Session,
    Tool,
    ToolCall,
    ToolResult,
    Turn,
    parse,
    tool,
)
from fallback.errors import BackendError, ContextWindowError, FallbackError
from fallback.flow import Flow, FlowRun, Step
from fallback.lint import Severity, lint
from fallback.results import mask_personal_data, ungrounded
from fallback.testing import ScriptedBackend
from fallback.tools import Injected, ToolOutput


@tool
def bare(city: str, days: int = 1) -> str:
    """Forecast.

    Args:
        city: name of the city.
        days: how many.
    """
    return city * days


@tool(name="named", description="Other words.", hidden=True)
def decorated(x: int) -> int:
    return x


@tool
async def awaited(x: int, user_id: Annotated[str, Injected]) -> str:
    """Look something up."""
    return user_id * x


@tool(risk="read_only", timeout=2.5, rate=(10, 60))
def paced(x: int) -> int:
    """Look it up, not too often."""
    return x


def plain(x: int) -> int:
    """Not decorated."""
    return x


def tools_are_tools() -> None:
    assert_type(Tool.from_function(plain), Tool)
    assert_type(Tool.from_dict({"name": "f", "parameters": {"type": "object"}}), Tool)
    catalogue = Catalogue([bare, decorated, awaited, plain, {"name": "f", "parameters": {}}])
    assert_type(catalogue.get("bare"), Tool | None)
    for entry in catalogue:
        assert_type(entry, Tool)
        assert_type(entry.name, str)


def reading_a_reply(text: str) -> None:
    reading = parse(text, [bare, plain], finish_reason="stop", tool_choice="auto")
    assert_type(reading, Reading)
    assert_type(reading.calls, tuple[ToolCall, ...])
    assert_type(reading.problems, tuple[Problem, ...])
    assert_type(reading.calls[0].arguments, dict[str, Any])
    assert_type(reading.calls[0].span.start, int)


def reading_a_stream(chunks: Iterator[str]) -> Reading:
    parser = Parser(Catalogue([bare]))
    for chunk in chunks:
        for event in parser.feed(chunk):
            if isinstance(event, fallback.parsing.events.CallReady):
                assert_type(event.call, ToolCall)
    parser.close("stop")
    return parser.reading


def asking() -> str:
    limits = Limits(max_steps=3)
    with Session("gemma3", tools=[bare, plain], host=None, mode="auto", limits=limits) as session:
        try:
            turn = session.run("Weather in Oslo?")
        except ContextWindowError as error:
            assert_type(error.prompt_tokens, int | None)
            raise
        except (BackendError, FallbackError):
            return ""
    assert_type(turn, Turn)
    assert_type(turn.tools_used, tuple[str, ...])
    assert_type(turn.steps[0].reading, Reading)
    assert_type(turn.steps[0].results, tuple[ToolResult, ...])
    return turn.answer


def asking_in_other_ways() -> None:
    session = Session(
        "gemma3",
        tools=[paced],
        tool_choice="required",
        parallel_tool_calls=False,
        eager=True,
        respond=True,
        limits=Limits(max_parallel=2, max_tool_errors=3),
    )
    assert_type(session.run("Hello"), Turn)


async def asking_without_blocking() -> AsyncIterator[str]:
    async with AsyncSession("gemma3", tools=[bare, awaited], context={"user_id": "u"}) as session:
        turn = await session.run("Weather in Oslo?")
        yield turn.answer
        async for event in session.stream("And tomorrow?"):
            if isinstance(event, fallback.parsing.events.TextDelta):
                yield event.text


def testing_without_a_model() -> None:
    backend = ScriptedBackend(["first reply", "second reply"])
    assert_type(Session("any", tools=[bare], backend=backend).run("Hello").answer, str)


def results_lint_and_flows(session: Session) -> None:
    result = session.run("?").steps[0].results[0]
    assert_type(result.envelope, dict[str, Any])
    assert_type(result.provenance[0].retrieved_at, str)
    output = ToolOutput({"a": 1}, provenance=["https://example.org"], untrusted=True)
    assert_type(output.untrusted, bool | None)
    Session("any", mask=[mask_personal_data, str.strip], grounding=ungrounded)
    report = lint(session.catalogue, off={"free_url": "our wiki alone"})
    assert_type(report.findings[0].severity, Severity)
    flow = Flow([Step(name="a", ask="?", tools=("x",), takes="all")], inputs=["y"])
    assert_type(flow.run(session, inputs={"y": 1}), FlowRun)
    assert_type(session.fork(tools=["x"]), Session)


def transports() -> None:
    """A transport fits the clients of httpx and of its fork; wrap keeps the class."""
    import httpx
    import httpx2
    import openai

    from fallback import AsyncTransport, Transport, wrap

    httpx.Client(transport=Transport())
    httpx2.Client(transport=Transport(upstream="http://127.0.0.1:11434"))
    httpx.AsyncClient(transport=AsyncTransport())
    httpx2.AsyncClient(transport=AsyncTransport())
    client: openai.OpenAI = wrap(openai.OpenAI())
    client.close()
