from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from datetime import date
from typing import Annotated, Any

import pytest

from fallback.errors import ConfigurationError, PauseTurn, ToolFailed, ToolRetry
from fallback.execution import Wake, aexecute, check_context, execute
from fallback.execution.masking import safe_error
from fallback.limits import Limits
from fallback.loop import Job
from fallback.messages import ToolCall, ToolResult
from fallback.tools import Injected, Tool

LIMITS = Limits(max_result_chars=500)


def job(function: Callable[..., Any], seconds: float | None = 30.0, **arguments: Any) -> Job:
    tool = Tool.from_function(function)
    return Job(
        call=ToolCall(id="c1", name=tool.name, arguments=arguments), tool=tool, seconds=seconds
    )


def blocking(work: Job, context: dict[str, Any] | None = None) -> ToolResult:
    return execute(work, context or {}, LIMITS, Wake())


def awaiting(work: Job, context: dict[str, Any] | None = None) -> ToolResult:
    return asyncio.run(aexecute(work, context or {}, LIMITS, Wake()))


RUNNERS = pytest.mark.parametrize("run", [blocking, awaiting])
Run = Callable[..., ToolResult]


def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


async def aadd(a: int, b: int = 1) -> int:
    """Add two numbers, later."""
    await asyncio.sleep(0)
    return a + b


@RUNNERS
@pytest.mark.parametrize("function", [add, aadd])
@pytest.mark.parametrize("seconds", [30.0, None])
def test_a_value_comes_back_with_its_text(
    run: Run, function: Callable[..., Any], seconds: float | None
) -> None:
    result = run(job(function, seconds, a=2))
    assert (result.status, result.value, result.content) == ("ok", 3, "3")
    assert (result.call_id, result.name) == ("c1", function.__name__)
    assert result.seconds >= 0


@RUNNERS
def test_injected_values_come_from_the_context(run: Run) -> None:
    def posts(query: str, user_id: Annotated[str, Injected]) -> str:
        """Find posts."""
        return f"{query} of {user_id}"

    work = job(posts, query="cats")
    assert run(work, {"user_id": "ada", "other": 1}).content == "cats of ada"


def test_a_context_that_lacks_an_injected_value_is_found_before_anything_runs() -> None:
    def posts(query: str, user_id: Annotated[str, Injected]) -> str:
        """Find posts."""
        return query

    def optional(user_id: Annotated[str, Injected] = "nobody") -> str:
        """Find posts."""
        return user_id

    with pytest.raises(ConfigurationError, match=r"'posts'.*'user_id'.*context="):
        check_context(Tool.from_function(posts), {})
    check_context(Tool.from_function(posts), {"user_id": "ada"})
    check_context(Tool.from_function(optional), {})
    assert blocking(job(optional)).content == "nobody"


@RUNNERS
def test_a_tool_cannot_change_the_record_of_its_call(run: Run) -> None:
    def eat(items: list[str]) -> int:
        """Eat all items."""
        items.clear()
        return 0

    work = job(eat, items=["a"])
    run(work)
    assert work.call.arguments == {"items": ["a"]}


@RUNNERS
def test_an_exception_becomes_one_masked_line(run: Run) -> None:
    def fail(key: Annotated[str, Injected]) -> None:
        """Fail."""
        raise ValueError(f"bad key {key} in /srv/app/config.toml\nand a second line")

    result = run(job(fail), {"key": "sesame-77"})
    assert result.status == "error"
    assert result.content == "Error: ValueError: bad key *** in (path)"
    assert result.value is None


@RUNNERS
@pytest.mark.parametrize(
    ("signal", "status", "said"),
    [
        (ToolFailed("the printer is on fire"), "error", "Calling again will not help."),
        (ToolRetry("days must be below 10"), "retry", "Correct the arguments and call again."),
        (PauseTurn("a manager has to agree"), "paused", "a manager has to agree"),
    ],
)
def test_a_tool_says_what_to_make_of_its_failure(
    run: Run, signal: BaseException, status: str, said: str
) -> None:
    def act() -> None:
        """Act."""
        raise signal

    result = run(job(act))
    assert result.status == status
    assert said in result.content
    assert str(signal) in result.content


@RUNNERS
@pytest.mark.parametrize(
    "error",
    [
        SystemExit(3),
        RuntimeError("user bob@example.org exists already in tenant acme"),
        KeyError("bob"),
        OSError(2, "no home of bob"),
    ],
)
def test_the_words_of_an_error_nobody_meant_for_the_model_go_to_the_log(
    run: Run, error: BaseException
) -> None:
    def act() -> None:
        """Act."""
        raise error

    result = run(job(act))
    assert (result.kind, result.content) == ("internal", f"Error: {type(error).__name__}")
    assert result.detail == safe_error(error)


@RUNNERS
def test_what_is_wrong_with_a_value_is_told_as_it_stands(run: Run) -> None:
    def act() -> None:
        """Act."""
        raise ValueError("a day has 24 hours")

    result = run(job(act))
    assert (result.kind, result.content) == ("internal", "Error: ValueError: a day has 24 hours")


@RUNNERS
def test_a_tool_that_takes_too_long_is_left_alone(run: Run) -> None:
    released = threading.Event()

    def wait() -> None:
        """Wait."""
        released.wait(20)

    result = run(job(wait, 0.01))
    released.set()
    assert (result.status, result.content) == ("timeout", "Error: no result within 0.01 seconds.")


@RUNNERS
def test_a_coroutine_that_takes_too_long_is_cancelled(run: Run) -> None:
    ended = threading.Event()

    async def wait() -> None:
        """Wait."""
        try:
            await asyncio.sleep(1 if run is blocking else 3600)
        finally:
            ended.set()

    assert run(job(wait, 0.01)).status == "timeout"
    assert ended.wait(20)


@RUNNERS
def test_a_cancelled_wait_ends_at_once(run: Run) -> None:
    wake, released = Wake(), threading.Event()

    def wait() -> None:
        """Wait until the turn is cancelled, which this tool itself brings about."""
        wake.cancel()
        released.wait(20)

    work = job(wait, None if run is awaiting else 3600.0)
    if run is blocking:
        result = execute(work, {}, LIMITS, wake)
    else:
        result = asyncio.run(aexecute(work, {}, LIMITS, wake))
    released.set()
    assert result.status == "error"
    assert "cancelled" in result.content


def test_a_cancellation_that_came_before_is_not_missed() -> None:
    wake = Wake()
    wake.cancel()
    released = threading.Event()

    def wait() -> None:
        """Wait."""
        released.wait(20)

    result = execute(job(wait, 3600.0), {}, LIMITS, wake)
    released.set()
    assert "cancelled" in result.content


def test_without_a_deadline_a_function_runs_where_it_is_called() -> None:
    def here() -> int:
        """Say in which thread this runs."""
        return threading.get_ident()

    assert blocking(job(here, None)).value == threading.get_ident()
    assert blocking(job(here)).value != threading.get_ident()


def test_an_interrupt_in_the_caller_s_thread_is_not_taken_for_a_tool_s_failure() -> None:
    def interrupted() -> None:
        """Be interrupted."""
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        blocking(job(interrupted, None))


@RUNNERS
def test_context_variables_reach_the_tool(run: Run) -> None:
    tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant")
    tenant.set("acme")

    def who() -> str:
        """Say for whom this runs."""
        return tenant.get()

    assert run(job(who)).content == "acme"


@RUNNERS
def test_a_large_result_is_capped_for_the_model_and_whole_for_the_caller(run: Run) -> None:
    def many() -> list[int]:
        """Count."""
        return list(range(10_000))

    result = run(job(many))
    assert len(result.content) <= 500
    assert result.value == list(range(10_000))
    assert "left out" in result.warnings[0]


@RUNNERS
def test_a_tool_that_returns_nothing_says_done(run: Run) -> None:
    def save() -> None:
        """Save."""

    def find() -> str | None:
        """Find."""
        return None

    assert run(job(save)).content == "done"
    assert run(job(find)).content == "null"


def test_a_tool_without_a_handler_is_the_developer_s_mistake() -> None:
    tool = Tool.from_dict({"name": "x", "description": "X.", "parameters": {}})
    work = Job(call=ToolCall(id="c", name="x", arguments={}), tool=tool)
    with pytest.raises(ConfigurationError, match="no handler"):
        execute(work, {}, LIMITS, Wake())


@RUNNERS
def test_arguments_that_do_not_fit_the_function_can_be_mended(run: Run) -> None:
    def weekday(day: date) -> int:
        """Day of the week."""
        return day.weekday()

    result = run(job(weekday, day="2025-02-30"))
    assert result.status == "retry"
    assert "day" in result.content


def test_tools_that_do_not_say_what_they_take_are_run_all_the_same() -> None:
    described = {"name": "largest", "description": "L.", "parameters": {"type": "object"}}
    tool = Tool.from_dict(described, handler=dict)
    check_context(tool, {})
    work = Job(call=ToolCall(id="c", name="largest", arguments={}), tool=tool)
    assert blocking(work).content == "{}"
    check_context(Tool.from_dict(described), {})
