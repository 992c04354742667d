"""What the scripted model says in each scenario, and what has to come of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["SCENARIOS", "TITLES", "Outcome", "Scenario", "Tool", "script"]

Pairs = list[list[int]]

TITLES = {
    "S2": "plain text",
    "S3": "one call",
    "S4": "two parallel calls",
    "S5": "text, then a call",
    "S6": "reasoning, then a call",
    "S7": "a wrong argument; a tool that does not exist",
    "S15": "the upstream fails: before the reply, in text, in a call, after a call",
    "S16": "the upstream claims tools and then refuses them",
    "S20": "a long question: the window holds it and does not change",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """The tool of a client that can add two numbers and leave a trace.

    Attributes:
        name: as the client declares it.
        arguments: those that add ``a`` and ``b``.
        wrong: some that its schema does not allow.
        answers: the tool by which the client wants to be answered; None for plain text.
    """

    name: str
    arguments: Callable[[int, int], Mapping[str, Any]]
    wrong: Mapping[str, Any]
    answers: str | None = None

    def call(self, a: int, b: int) -> str:
        """The call as a model writes it."""
        return _written(self.name, self.arguments(a, b))

    def answer(self, text: str) -> str:
        """The last reply."""
        return _written(self.answers, {"answer": text}) if self.answers else text


def _written(name: str, arguments: Mapping[str, Any]) -> str:
    return f"```tool_call\n{json.dumps({'name': name, 'arguments': arguments})}\n```"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a client did with one question.

    Attributes:
        text: everything that the model said, as the client shows it.
        ran: the sums that its tool has done, in order.
        error: what the client reported instead of an answer.
        generations: bodies of the requests for text that reached the model, without side requests.
    """

    text: str
    ran: Pairs
    error: str | None
    generations: Sequence[Mapping[str, Any]]


Judge = Callable[[Outcome], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One case: ``model`` names the script, ``judge`` says what is wrong or gives None."""

    id: str
    model: str
    judge: Judge
    long: bool = False
    may_retry: bool = False


def _whole(outcome: Outcome) -> str:
    return json.dumps(outcome.generations[-1]) if outcome.generations else ""


def _expect(*, text: tuple[str, ...], ran: Pairs, requests: int, never: str = "<nothing>") -> Judge:
    def judge(outcome: Outcome) -> str | None:
        if outcome.error:
            return f"error: {outcome.error}"
        if sorted(outcome.ran) != ran:  # parallel calls may end in any order
            return f"ran {outcome.ran}, not {ran}"
        if missing := [part for part in text if part not in outcome.text]:
            return f"text {outcome.text!r} lacks {missing}"
        if never in outcome.text:
            return f"text {outcome.text!r} has {never!r}"
        if len(outcome.generations) != requests:
            return f"{len(outcome.generations)} requests, not {requests}"
        return None

    return judge


def _results_in_order(outcome: Outcome) -> str | None:
    """Both ran, and each result stands with its own call in the next prompt."""
    wrong = _expect(text=("3 and 7.",), ran=[[1, 2], [3, 4]], requests=2)(outcome)
    # The commands of an agent contain the same words, so what counts is where they stand last.
    first, second = (_whole(outcome).rfind(told) for told in ("1+2=3", "3+4=7"))
    return wrong or (None if -1 < first < second else "results are not with their calls")


def _fails_cleanly(outcome: Outcome) -> str | None:
    if outcome.ran:
        return f"ran {outcome.ran} of a call that never arrived"
    return None if outcome.error or outcome.text else "ended as if nothing had happened"


def _runs_at_most_once(outcome: Outcome) -> str | None:
    return None if outcome.ran in ([], [[1, 2]]) else f"ran {outcome.ran}"


def _window_holds(outcome: Outcome) -> str | None:
    wrong = _expect(text=("The sum is 3.",), ran=[[1, 2]], requests=2)(outcome)
    windows = [body.get("options", {}).get("num_ctx") for body in outcome.generations]
    if wrong or len(set(windows)) != 1 or windows[0] is None:
        return wrong or f"windows {windows}"
    # Four characters a token is the estimate of the clients' own authors.
    needed = len(_whole(outcome)) // 4
    return None if windows[0] >= needed else f"a window of {windows[0]} for {needed} tokens"


_ONCE = [[1, 2]]
SCENARIOS: tuple[Scenario, ...] = (
    Scenario(id="S2", model="text", judge=_expect(text=("Paris is it.",), ran=[], requests=1)),
    Scenario(id="S3", model="call", judge=_expect(text=("The sum is 3.",), ran=_ONCE, requests=2)),
    Scenario(id="S4", model="two", judge=_results_in_order),
    Scenario(
        id="S5",
        model="prose",
        judge=_expect(text=("Let me add.", "The sum is 3."), ran=_ONCE, requests=2),
    ),
    Scenario(
        id="S6",
        model="thinks",
        judge=_expect(text=("The sum is 3.",), ran=_ONCE, requests=2, never="secretly"),
    ),
    Scenario(id="S7", model="slips", judge=_expect(text=("The sum is 3.",), ran=_ONCE, requests=3)),
    Scenario(id="S7", model="unknown", judge=_expect(text=("I cannot.",), ran=[], requests=2)),
    Scenario(id="S15", model="dead", judge=_fails_cleanly, may_retry=True),
    Scenario(id="S15", model="dies", judge=_fails_cleanly, may_retry=True),
    Scenario(id="S15", model="half", judge=_fails_cleanly, may_retry=True),
    Scenario(id="S15", model="after", judge=_runs_at_most_once, may_retry=True),
    Scenario(
        id="S16", model="refuses", judge=_expect(text=("The sum is 3.",), ran=_ONCE, requests=3)
    ),
    Scenario(id="S20", model="long", judge=_window_holds, long=True),
)


def script(tool: Tool) -> dict[str, Any]:
    """The scripted server's models, one for each scenario, that call this tool."""
    call, other = tool.call(1, 2), tool.call(3, 4)
    final = tool.answer("The sum is 3.")
    refusal = {"fault": "no_tools"}
    return {
        "text": [tool.answer("Paris is it.")],
        "call": [call, final],
        "two": [f"{call}\n{other}", tool.answer("3 and 7.")],
        "prose": [f"Let me add.\n\n{call}", final],
        "thinks": [f"<think>secretly a sum</think>{call}", final],
        "slips": [_written(tool.name, tool.wrong), call, final],
        "unknown": [_written("no_such_tool", {"a": 1}), tool.answer("I cannot.")],
        "dead": [{"fault": "cut_before"}],
        "dies": [{"text": "Paris is the capital of", "fault": "cut_in_text"}],
        "half": [{"text": call[:-12], "fault": "unfinished"}],
        "after": {
            "replies": [
                {"text": f"{call}\n{'word ' * len(call)}", "fault": "cut_in_text"},
                final,
            ],
            "chunk": len(call) + 1,
        },
        "refuses": {
            "replies": [refusal, call, final],
            "capabilities": ["completion", "tools"],
        },
        "long": [call, final],
        "side": ["A sum"],
    }
