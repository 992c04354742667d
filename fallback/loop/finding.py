"""Finding out how a turn asks its model, before it asks for anything."""

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
    """Yield what has to be asked for it, and return the route.

    A turn that is taken up again keeps the mode it was begun in. What was measured of the model is
    asked for all the same; if that cannot be had, the calls that waited are no reason to give up.

    Raises:
        Ending: the server does not say, or the model does not write text.
    """
    if plan.mode != "auto":
        return Route(mode=plan.mode, why="asked for")
    route = plan.route
    if route is None:
        route = yield from _asked(plan, budget, taken_up=paused is not None)
    if paused is None:
        return route
    return Route(mode=paused.mode, why="the turn was begun in it", advice=route.advice)


def _asked(plan: Plan, budget: Budget, *, taken_up: bool) -> Generator[Action, Outcome, Route]:
    described = yield Describe(model=plan.model)
    budget.hear(described)
    if isinstance(described, Interrupted):
        raise budget.overdue or Ending(described.reason, described.detail)
    if not isinstance(described, Described) or described.info is None:
        error = getattr(described, "error", None)
        if taken_up:
            return Route(mode="prompt", why="")
        raise Ending("failed", str(error), error=error)
    try:
        return choose(described.info, "auto", described.advice)
    except CapabilityError as error:
        raise Ending("failed", str(error), error=error) from None
