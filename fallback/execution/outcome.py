"""What may come of a call, and the result that the model is shown for each; pure.

A failing tool never fails the turn: whatever it raises becomes a result, and the model goes on
from it.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from fallback.errors import (
    ConfigurationError,
    McpError,
    PauseTurn,
    ToolConflict,
    ToolFailed,
    ToolPartial,
    ToolRetry,
    ToolTransient,
)
from fallback.execution.content import to_text
from fallback.execution.masking import mask_credentials, safe_error
from fallback.execution.shown import Mask, MaskError, shown
from fallback.limits import Limits
from fallback.loop.actions import Job
from fallback.loop.ending import in_seconds
from fallback.messages import FailureKind, ResultStatus, Source, ToolResult
from fallback.tools import ArgumentsError, Tool, ToolOutput

__all__ = [
    "Ending",
    "Prepared",
    "Raised",
    "Returned",
    "Stopped",
    "TimedOut",
    "check_context",
    "conclude",
    "prepare",
]


@dataclass(frozen=True, slots=True)
class Returned:
    """The tool returned."""

    value: Any


@dataclass(frozen=True, slots=True)
class Raised:
    """The tool raised, on purpose or not."""

    error: BaseException


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The tool had not finished after that many seconds; its thread is left to itself."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Stopped:
    """The turn was cancelled while the tool ran."""


Ending = Returned | Raised | TimedOut | Stopped


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call that is ready to be made.

    Attributes:
        tool: what is called.
        arguments: the model's, as they were validated.
        injected: the application's values for the parameters that the model cannot see.
    """

    tool: Tool
    arguments: dict[str, Any]
    injected: dict[str, Any]

    @property
    def is_async(self) -> bool:
        """Whether the call gives a coroutine."""
        return inspect.iscoroutinefunction(self.tool.handler)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The texts among the injected values; they are masked in error messages."""
        return tuple(value for value in self.injected.values() if isinstance(value, str))

    def __call__(self) -> Any:
        """Make the call, here and now; raises whatever the tool raises.

        The arguments are copied: what a tool does to them must not reach the record of the call.
        """
        return self.tool(**self.tool.bind(deepcopy(self.arguments), self.injected))


def prepare(job: Job, context: Mapping[str, Any]) -> Prepared:
    """Join the model's arguments with the application's injected values.

    Raises:
        ConfigurationError: the tool has no handler.
    """
    if job.tool.handler is None:
        raise ConfigurationError(f"tool {job.tool.name!r} has no handler to run")
    injected = {name: context[name] for name in job.tool.injected if name in context}
    return Prepared(job.tool, job.call.arguments, injected)


def check_context(tool: Tool, context: Mapping[str, Any]) -> None:
    """Make sure that every injected parameter of a tool has a value or a default.

    Raises:
        ConfigurationError: the application's context lacks one.
    """
    signature = _signature(tool)
    if signature is None:
        return
    for name in sorted(tool.injected - context.keys()):
        parameter = signature.parameters.get(name)
        if parameter is None or parameter.default is parameter.empty:
            raise ConfigurationError(
                f"tool {tool.name!r} needs the value of its injected parameter {name!r}:"
                f" pass context={{{name!r}: ...}}"
            )


def conclude(
    job: Job,
    prepared: Prepared,
    ending: Ending,
    *,
    seconds: float,
    limits: Limits,
    masks: Sequence[Mask] = (),
) -> ToolResult:
    """Make the result of a call, whatever came of it.

    Args:
        job: the call.
        prepared: as it was made.
        ending: what came of it.
        seconds: how long it took.
        limits: for the size of what the model is shown.
        masks: what must not be shown, see :mod:`fallback.execution.shown`.
    """
    output, ending = _unwrapped(ending)
    said = _described(prepared, ending)
    untrusted = job.tool.untrusted if output.untrusted is None else output.untrusted
    untrusted = untrusted or said.quoted
    untrusted = untrusted and said.status != "paused"
    provenance, warnings = output.sources, tuple(output.warnings)
    try:
        view = shown(
            said.content,
            limit=limits.result_chars,
            masks=masks,
            provenance=provenance,
            warnings=warnings,
            # Our own words about a failure are the application's.
            untrusted=untrusted and (said.value is not None or said.quoted),
            verbatim=output.verbatim,
        )
    except MaskError as error:
        view = shown(f"Error: the result cannot be shown, {error}.", limit=limits.result_chars)
        # The tool has done its work: nothing about that is unknown.
        said = replace(said, status="error", kind="failed", retryable=False)
    return ToolResult(
        call_id=job.call.id,
        name=job.call.name,
        status=said.status,
        content=view.content,
        value=said.value,
        seconds=seconds,
        warnings=(*warnings, *view.warnings),
        kind=said.kind,
        retryable=said.retryable,
        untrusted=untrusted,
        approval=job.approval_id,
        fields=said.fields,
        detail=said.detail,
        provenance=_dated(provenance),
    )


def _unwrapped(ending: Ending) -> tuple[ToolOutput, Ending]:
    """What the tool has said about its value, and the value itself."""
    if isinstance(ending, Returned) and isinstance(ending.value, ToolOutput):
        return ending.value, Returned(ending.value.value)
    return ToolOutput(None), ending


def _dated(sources: tuple[Source, ...]) -> tuple[Source, ...]:
    """The sources, each with a time: that of the tool, or now. The model is shown the former
    only, for a result that differs in nothing but the time is the same result."""
    if not sources:
        return ()
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return tuple(source if source.retrieved_at else Source(source.name, now) for source in sources)


@dataclass(frozen=True, slots=True)
class _Said:
    """What the model is told of a call."""

    status: ResultStatus
    content: str
    kind: FailureKind | None = None
    retryable: bool = False
    value: Any = None
    fields: tuple[str, ...] = ()
    quoted: bool = False  # whether a failure is told in words of others
    detail: str = ""  # for the log


def _described(prepared: Prepared, ending: Ending) -> _Said:
    if isinstance(ending, Returned):
        text = to_text(ending.value, none="done" if _is_silent(prepared.tool) else "null")
        return _Said("ok", text, value=ending.value)
    if isinstance(ending, TimedOut):
        told = f"Error: no result within {in_seconds(ending.seconds)} seconds."
        return _Said("timeout", told, "timeout")
    if isinstance(ending, Stopped):
        told = "Error: stopped before it finished, the turn was cancelled."
        return _Said("error", told, "cancelled")
    return _raised(ending.error, prepared.secrets)


def _raised(error: BaseException, secrets: tuple[str, ...]) -> _Said:
    message = mask_credentials(str(error).strip(), secrets)
    if isinstance(error, PauseTurn):
        told = message or "Not run yet: a person has to decide first."
        return _Said("paused", told, "approval_required")
    if isinstance(error, ToolRetry | ArgumentsError):
        told = f"Error: {message}\nCorrect the arguments and call again."
        fields = tuple(map(str, error.fields))
        return _Said("retry", told, "invalid_arguments", retryable=True, fields=fields)
    if isinstance(error, ToolFailed):
        told = f"Error: {message}\nCalling again will not help."
        return _Said("error", told, "failed", quoted=error.untrusted)
    if isinstance(error, ToolTransient):
        return _Said("error", f"Error: {message or 'not available right now'}", "transient")
    if isinstance(error, ToolConflict):
        told = _conflict(message, error, secrets)
        return _Said("error", told, "conflict", retryable=True)
    if isinstance(error, ToolPartial):
        value = {"done": error.done, "failed": error.failed}
        return _Said("error", _partial(message, error, secrets), "partial", True, value)
    if isinstance(error, PermissionError):
        # Whose it is, and that it is there at all, is not for the model.
        return _Said("error", "Error: this is not allowed.", "denied")
    return _internal(error, secrets)


def _internal(error: BaseException, secrets: tuple[str, ...]) -> _Said:
    """An error that the tool did not raise on purpose: nobody wrote its words for the model.

    They may say whose account there is, and what it holds, so they go to the log. What Python
    raises about a value, which is the model's own, is told as it stands, and so is what we say of
    an MCP server, whose results the model reads anyway.
    """
    line = safe_error(error, secrets)
    told = isinstance(error, ValueError | ArithmeticError | McpError)
    if told and not isinstance(error, OSError):
        return _Said("error", f"Error: {line}", "internal", detail=line)
    return _Said("error", f"Error: {type(error).__name__}", "internal", detail=line)


def _conflict(message: str, error: ToolConflict, secrets: tuple[str, ...]) -> str:
    lines = [f"Error: {message or 'the state is not what the call assumed'}"]
    if error.state is not None:
        lines.append(f"Current state: {mask_credentials(to_text(error.state), secrets)}")
    if error.options:
        options = (mask_credentials(str(option), secrets) for option in error.options)
        lines += ["Options:", *(f"- {option}" for option in options)]
    return "\n".join(lines)


def _partial(message: str, error: ToolPartial, secrets: tuple[str, ...]) -> str:
    """One line for each item, so that the model repeats only what failed."""
    items = [f"{item}: ok {to_text(value)}" for item, value in error.done.items()]
    items += [f"{item}: failed, {why}" for item, why in error.failed.items()]
    lines = [f"Partly done: {message}"]
    lines += [f"- {mask_credentials(item, secrets)}" for item in items]
    return "\n".join([*lines, "Do not repeat what is done."])


def _is_silent(tool: Tool) -> bool:
    """Whether ``None`` is all that the tool can return, so that it says nothing."""
    signature = _signature(tool)
    return signature is not None and signature.return_annotation in (None, "None")


def _signature(tool: Tool) -> inspect.Signature | None:
    if tool.handler is None:
        return None
    try:
        return inspect.signature(tool.handler)
    except (TypeError, ValueError):  # a builtin that does not say
        return None
