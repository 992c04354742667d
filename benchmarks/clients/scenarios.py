"""The cases: what is asked of a client, and how its outcome is judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from benchmarks.clients.judges import (
    Judge,
    answers_later,
    ends_soon,
    expect,
    fails_cleanly,
    finds_models,
    has_once,
    knows_the_tool,
    looks_around,
    odd_is_nothing,
    results_in_order,
    reveals,
    runs_at_most_once,
    sees_the_picture,
    ten_rounds,
    too_long,
    window_holds,
)

__all__ = ["SCENARIOS", "TITLES", "Scenario", "Task"]

TITLES = {
    "S1": "discovery: the model is found, or nothing is asked but the question",
    "S2": "plain text",
    "S3": "one call",
    "S4": "two parallel calls",
    "S5": "text, then a call",
    "S6": "reasoning, then a call",
    "S7": "a wrong argument; a tool that does not exist",
    "S8": "a tool that fails; one that returns nothing; a picture, for a model that sees and for"
    " one that does not",
    "S9": "a call demanded, of any tool and of one; calls forbidden; at most one at a time",
    "S10": "ten rounds of two calls: each result stands with its own call",
    "S11": "deferred tools, and a prompt whose beginning stays the same",
    "S12": "a tool of a namespace",
    "S13": "a history with calls, and no tools any more",
    "S14": "a silence longer than the client's patience",
    "S15": "the upstream fails: before the reply, in text, in a call, after a call",
    "S16": "the upstream claims tools and then refuses them",
    "S17": "a prompt that the model's window does not hold",
    "S18": "an empty reply; a reply that is cut off",
    "S19": "the client goes away: the generation ends within a second",
    "S20": "a long question: the window holds it and does not change",
    "S21": "two clients at once, beside a slow answer",
    "S22": "fields, headers, messages, content and tools of unknown kinds",
}

Task = Literal[
    "", "discover", "required", "named", "none", "single", "later", "impatient", "deferred"
]
"""What the client's program has to do besides asking; the registry says which ones it can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One case.

    Attributes:
        id: a row of the table.
        model: names the script.
        judge: says what is wrong, or gives None.
        task: what the client has to do besides.
        needs: part of the client's :class:`~benchmarks.clients.scripts.Tool` without which it says
            nothing.
        long: whether the question is.
        may_retry: whether the client may ask again as often as it does.
        how: ``tapped``: what the client asks for is looked at on its way; ``odd``: and made odder;
            ``left``: the client is ended while it waits; ``together``: two at once.
    """

    id: str
    model: str
    judge: Judge
    task: Task = ""
    needs: Literal["", "fails", "quiet", "picture", "revealed", "spaced"] = ""
    long: bool = False
    may_retry: bool = False
    how: Literal["", "tapped", "odd", "left", "together"] = ""


_ONCE = [[1, 2]]
_SUM = ("The sum is 3.",)
_AS_ASKED = expect(text=_SUM, ran=_ONCE, requests=2)
SCENARIOS: tuple[Scenario, ...] = (
    Scenario(id="S1", model="text", task="discover", judge=finds_models),
    Scenario(id="S1", model="call", how="tapped", judge=looks_around),
    Scenario(id="S2", model="text", judge=expect(text=("Paris is it.",), ran=[], requests=1)),
    Scenario(id="S3", model="call", judge=_AS_ASKED),
    Scenario(id="S4", model="two", judge=results_in_order),
    Scenario(
        id="S5",
        model="prose",
        judge=expect(text=("Let me add.", *_SUM), ran=_ONCE, requests=2),
    ),
    Scenario(
        id="S6",
        model="thinks",
        judge=expect(text=_SUM, ran=_ONCE, requests=2, never="secretly"),
    ),
    Scenario(id="S7", model="slips", judge=expect(text=_SUM, ran=_ONCE, requests=3)),
    Scenario(id="S7", model="unknown", judge=expect(text=("I cannot.",), ran=[], requests=2)),
    Scenario(id="S8", model="fails", needs="fails", judge=has_once("thirteen is refused")),
    Scenario(id="S8", model="quiet", needs="quiet", judge=has_once("")),
    Scenario(id="S8", model="sees", needs="picture", judge=sees_the_picture(1)),
    Scenario(id="S8", model="blind", needs="picture", judge=sees_the_picture(0)),
    Scenario(
        id="S9",
        model="required",
        task="required",
        judge=expect(text=_SUM, ran=_ONCE, requests=3, never="rather not"),
    ),
    Scenario(
        id="S9",
        model="named",
        task="named",
        judge=expect(text=_SUM, ran=_ONCE, requests=3, never="rather not"),
    ),
    Scenario(
        id="S9", model="none", task="none", judge=expect(text=("It is 3.",), ran=[], requests=1)
    ),
    Scenario(
        id="S9",
        model="single",
        task="single",
        judge=expect(text=_SUM, ran=_ONCE, requests=2),
    ),
    Scenario(id="S10", model="ten", judge=ten_rounds),
    Scenario(id="S11", model="deferred", needs="revealed", judge=reveals),
    Scenario(id="S12", model="spaced", needs="spaced", judge=knows_the_tool),
    Scenario(id="S13", model="later", task="later", judge=answers_later),
    Scenario(id="S14", model="waits", task="impatient", judge=_AS_ASKED),
    Scenario(id="S15", model="dead", judge=fails_cleanly, may_retry=True),
    Scenario(id="S15", model="dies", judge=fails_cleanly, may_retry=True),
    Scenario(id="S15", model="half", judge=fails_cleanly, may_retry=True),
    Scenario(id="S15", model="after", judge=runs_at_most_once, may_retry=True),
    Scenario(id="S16", model="refuses", judge=expect(text=_SUM, ran=_ONCE, requests=3)),
    Scenario(id="S17", model="small", judge=too_long, long=True, may_retry=True),
    Scenario(id="S18", model="empty", judge=ends_soon("")),
    Scenario(id="S18", model="cut", judge=ends_soon("Paris is the")),
    Scenario(id="S20", model="long", judge=window_holds, long=True),
    Scenario(id="S21", model="call", how="together", judge=_AS_ASKED),
    Scenario(id="S22", model="call", how="odd", judge=odd_is_nothing),
    Scenario(id="S19", model="silent", how="left", judge=expect(text=(), ran=[], requests=1)),
)
