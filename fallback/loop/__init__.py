"""A turn without I/O: actions out, outcomes in; see :mod:`fallback.loop.turn`."""

from fallback.loop.actions import (
    Action,
    Approve,
    Approved,
    Authorise,
    Authorised,
    Check,
    Decision,
    Describe,
    Described,
    Execute,
    Executed,
    Generate,
    Generation,
    Interrupted,
    Job,
    Outcome,
    Request,
    Score,
    Scored,
)
from fallback.loop.decided import DecidedLoop
from fallback.loop.deciding import Decide
from fallback.loop.plan import Ended, Plan
from fallback.loop.reply import Reply
from fallback.loop.turn import TurnLoop

__all__ = [
    "Action",
    "Approve",
    "Approved",
    "Authorise",
    "Authorised",
    "Check",
    "Decide",
    "DecidedLoop",
    "Decision",
    "Describe",
    "Described",
    "Ended",
    "Execute",
    "Executed",
    "Generate",
    "Generation",
    "Interrupted",
    "Job",
    "Outcome",
    "Plan",
    "Reply",
    "Request",
    "Score",
    "Scored",
    "TurnLoop",
]
