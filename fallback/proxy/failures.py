"""What the upstream did wrong, as a failure that is told to the client."""

from __future__ import annotations

from fallback.errors import (
    BackendConnectionError,
    BackendError,
    BackendStatusError,
    BackendTimeoutError,
    CapabilityError,
    ContextWindowError,
    FallbackError,
    ModelNotFoundError,
)
from fallback.messages import Problem
from fallback.proxy.events import Failure

__all__ = ["failure_of", "invalid", "no_call"]

_BUSY_SECONDS = 5.0
_FINAL = frozenset({400, 401, 403, 404, 413, 422, 429})


def failure_of(error: FallbackError) -> Failure:
    """The failure for an error of ours."""
    message = str(error)
    if isinstance(error, ContextWindowError):
        return Failure(
            kind="overflow",
            message=message,
            status=400,
            code="context_length_exceeded",
            prompt_tokens=error.prompt_tokens,
            num_ctx=error.num_ctx,
        )
    if isinstance(error, ModelNotFoundError):
        return Failure(
            kind="not_found", message=message, status=404, param="model", code="model_not_found"
        )
    if isinstance(error, CapabilityError):
        return Failure(kind="invalid_request", message=message, status=400)
    if isinstance(error, BackendStatusError):
        return _status(error)
    if isinstance(error, BackendConnectionError):
        return Failure(kind="unreachable", message=message, status=503, retry_after=_BUSY_SECONDS)
    if isinstance(error, BackendTimeoutError):
        return Failure(kind="timeout", message=message, status=504)
    if isinstance(error, BackendError):
        return Failure(kind="upstream", message=message, status=502)
    return Failure(kind="invalid_request", message=message, status=400)


def _status(error: BackendStatusError) -> Failure:
    message = str(error)
    if error.status == 503:
        return Failure(kind="busy", message=message, status=503, retry_after=_BUSY_SECONDS)
    if error.status in _FINAL:
        return Failure(kind="invalid_request", message=message, status=error.status)
    return Failure(kind="upstream", message=message, status=502)


def invalid(message: str, *, param: str | None = None) -> Failure:
    """The client's request makes no sense."""
    return Failure(kind="invalid_request", message=message, status=400, param=param)


def no_call(problem: Problem) -> Failure:
    """A call was demanded, and the model made none that could be used, corrected or not.

    Not a 5xx, which clients repeat without end: asked the same, the model will do the same.
    """
    return Failure(
        kind="no_call",
        message=f"the model made no usable tool call, although one was demanded: {problem.message}",
        status=422,
        param="tool_choice",
        code="tool_use_failed",
    )
