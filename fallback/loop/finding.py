"""How a turn finds out in which mode the model is asked."""

from __future__ import annotations

from collections.abc import Generator

from fallback.errors import CapabilityError
from fallback.loop.actions import Action, Describe, Described, Interrupted, Outcome
from fallback.loop.ending import Budget, Ending
from fallback.loop.paused import Paused
from fallback.loop.plan import Plan
from fallback.routing import Route, choose

__all__ = ["find_route"]


def find_route(
    plan: Plan, paused: Paused | None, budget: Budget
) -> Generator[Action, Outcome, Route]:
    """The mode that was asked for, or found out before; otherwise the backend is asked.

    Raises:
        Ending: the backend cannot say, or the model writes no text.
    """
    if plan.mode != "auto":
        return Route(mode=plan.mode, why="asked for")
    if paused is not None:
        return Route(mode=paused.mode, why="the turn was begun in it")
    if plan.route is not None:
        return plan.route
    described = yield Describe(model=plan.model)
    budget.hear(described)
    if isinstance(described, Interrupted):
        raise Ending(described.reason, described.detail)
    if not isinstance(described, Described) or described.info is None:
        error = getattr(described, "error", None)
        raise Ending("failed", str(error), error=error)
    try:
        return choose(described.info, "auto")
    except CapabilityError as error:
        raise Ending("failed", str(error), error=error) from None
