"""What has to come of a case; each judge gives what is wrong, or None."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.clients.scripts import TEN

__all__ = [
    "DoesNotApply",
    "Judge",
    "Outcome",
    "Pairs",
    "answers_later",
    "ends_soon",
    "expect",
    "fails_cleanly",
    "finds_models",
    "has_once",
    "knows_the_tool",
    "looks_around",
    "odd_is_nothing",
    "results_in_order",
    "reveals",
    "runs_at_most_once",
    "sees_the_picture",
    "ten_rounds",
    "too_long",
    "window_holds",
]

Pairs = list[list[int]]
_WORDS_OF_A_WINDOW = re.compile(r"context|too long|window|exceed|compact", re.IGNORECASE)
_UNASKED = "the model was never asked"
_QUESTIONS = ("/api/chat", "/v1/chat/completions", "/v1/responses", "/v1/messages")


class DoesNotApply(str):
    """Why a case says nothing about a client, as seen in what it did."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a client did with one question.

    Attributes:
        text: everything that the model said, as the client shows it.
        ran: the sums that its tool has done, in order.
        error: what the client reported instead of an answer.
        generations: bodies of the requests for text that reached the model, without side requests.
        asked: how many questions the client has put to the adapter, side requests too.
        passed: ``method``, ``path`` and ``status`` of each of its requests, where it was tapped.
    """

    text: str
    ran: Pairs
    error: str | None
    generations: Sequence[Mapping[str, Any]]
    asked: int = 0
    passed: Sequence[Mapping[str, Any]] = ()


Judge = Callable[[Outcome], str | None]


def _last(outcome: Outcome) -> str:
    return json.dumps(outcome.generations[-1]) if outcome.generations else ""


def expect(
    *, text: tuple[str, ...], ran: Pairs | None, requests: int, never: str = "<nothing>"
) -> Judge:
    """The texts are shown, the sums were done in any order, the model was asked so many times."""

    def judge(outcome: Outcome) -> str | None:
        if outcome.error:
            return f"error: {outcome.error}"
        if ran is not None and sorted(outcome.ran) != ran:  # parallel calls may end in any order
            return f"ran {outcome.ran}, not {ran}"
        if missing := [part for part in text if part not in outcome.text]:
            return f"text {outcome.text!r} lacks {missing}"
        if never in outcome.text:
            return f"text {outcome.text!r} has {never!r}"
        if len(outcome.generations) != requests:
            return f"{len(outcome.generations)} requests, not {requests}"
        return None

    return judge


_as_asked = expect(text=("The sum is 3.",), ran=[[1, 2]], requests=2)


def finds_models(outcome: Outcome) -> str | None:
    """The list has the models; where capabilities are told, tools are among them."""
    if outcome.error or "call" not in outcome.text:
        return f"no model is found: {outcome.error or outcome.text!r}"
    told = [line for line in outcome.text.splitlines() if "[" in line]
    without = [line for line in told if "tools" not in line]
    return f"no tools: {without}" if without else None


def looks_around(outcome: Outcome) -> str | None:
    """What it asks for besides is there, and it does not load a model that is."""
    if wrong := _as_asked(outcome):
        return wrong
    besides = [r for r in outcome.passed if r["path"] not in _QUESTIONS and r["method"] != "HEAD"]
    failed = [f"{r['method']} {r['path']}: {r['status']}" for r in besides if r["status"] >= 400]
    if failed or any(r["path"] == "/api/pull" for r in besides):
        return f"asked in vain: {failed or 'it pulls the model'}"
    if besides:
        return None
    paths = sorted({f"{r['method']} {r['path']}" for r in outcome.passed})
    return DoesNotApply(f"it looks for no model; it sent nothing but {', '.join(paths)}")


def results_in_order(outcome: Outcome) -> str | None:
    """Both ran, and each result stands with its own call in the next prompt."""
    wrong = expect(text=("3 and 7.",), ran=[[1, 2], [3, 4]], requests=2)(outcome)
    return wrong or _in_order(outcome, [(1, 2), (3, 4)])


def _in_order(outcome: Outcome, pairs: Sequence[tuple[int, int]]) -> str | None:
    told = _last(outcome)
    # The commands of an agent contain the same words, so what counts is where they stand last.
    places = [told.rfind(f"{a}+{b}={a + b}") for a, b in pairs]
    in_order = -1 not in places and places == sorted(places)
    return None if in_order else "results are not with their calls"


def ten_rounds(outcome: Outcome) -> str | None:
    """All ran, and in the last prompt all results stand in the order of their calls."""
    pairs = [pair for two in TEN for pair in two]
    ran = sorted([a, b] for a, b in pairs)
    wrong = expect(text=("All done.",), ran=ran, requests=len(TEN) + 1)(outcome)
    return wrong or _in_order(outcome, pairs)


def has_once(words: str) -> Judge:
    """The next prompt has the result, once, and the client goes on with it."""

    def judge(outcome: Outcome) -> str | None:
        if wrong := expect(text=("It is done.",), ran=None, requests=2)(outcome):
            return wrong
        count = _last(outcome).count(words) if words else 1
        return None if count == 1 else f"{words!r} stands {count} times in the next prompt"

    return judge


def knows_the_tool(outcome: Outcome) -> str | None:
    """The client has taken the call for one of its own, whatever came of it."""
    if wrong := expect(text=("It is done.",), ran=None, requests=2)(outcome):
        return wrong
    return "the call is none of its own" if "unsupported call" in _last(outcome) else None


def sees_the_picture(count: int) -> Judge:
    """The picture reaches a model that sees; one that does not is told, once."""

    def judge(outcome: Outcome) -> str | None:
        if wrong := expect(text=("It is red.",), ran=None, requests=2)(outcome):
            return wrong
        body = outcome.generations[-1]
        holders = [body, *body.get("messages", ())]
        found = sum(len(holder.get("images") or ()) for holder in holders)
        # Claude Code's own prompt in a terminal has the words, too.
        before = json.dumps(outcome.generations[0]).count("cannot see")
        notes = _last(outcome).count("cannot see") - before
        good = (found, notes) == (count, 1 - count)
        return None if good else f"{found} pictures and {notes} notes in the next prompt"

    return judge


def answers_later(outcome: Outcome) -> str | None:
    """The last question comes without tools, and the model sees what was done before."""
    told = ("The sum is 3.", "As I said, 3.")
    if wrong := expect(text=told, ran=[[1, 2]], requests=3)(outcome):
        return wrong
    return None if "1+2=3" in _last(outcome) else "the result is not in the last prompt"


def reveals(outcome: Outcome) -> str | None:
    """A tool is looked up and called, and the prompts begin with the same bytes."""
    wrong = expect(text=("It is done.",), ran=None, requests=3)(outcome)
    if wrong:
        return wrong
    before, found, called = (json.dumps(body) for body in outcome.generations)
    # Before the tool is revealed nothing says what it takes; afterwards the prompt only grows.
    if "billing-header" in before:
        return "the billing line is in the prompt"
    head = _common(found, called)
    return None if head > len(found) * 0.9 else f"only {head} of {len(found)} characters stay"


def _common(one: str, other: str) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))


def fails_cleanly(outcome: Outcome) -> str | None:
    """Nothing ran, and the failure is seen."""
    if not outcome.generations:
        return _UNASKED
    if outcome.ran:
        return f"ran {outcome.ran} of a call that never arrived"
    return None if outcome.error or outcome.text else "ended as if nothing had happened"


def runs_at_most_once(outcome: Outcome) -> str | None:
    """A call that had arrived may have run, once."""
    if not outcome.generations:
        return _UNASKED
    return None if outcome.ran in ([], [[1, 2]]) else f"ran {outcome.ran}"


def too_long(outcome: Outcome) -> str | None:
    """The client says that the context is too small; nothing was cut and answered silently."""
    told = f"{outcome.error or ''} {outcome.text}"
    if outcome.ran:
        return f"ran {outcome.ran}"
    return None if _WORDS_OF_A_WINDOW.search(told) else f"no word of the window: {told[:200]!r}"


def ends_soon(words: str) -> Judge:
    """What there is of a text is shown, or the client says that it is not whole; no loop."""

    def judge(outcome: Outcome) -> str | None:
        if outcome.asked > 4:
            return f"asked {outcome.asked} times"
        seen = outcome.error or words in outcome.text
        return None if seen else f"text {outcome.text!r} lacks {words!r}"

    return judge


def window_holds(outcome: Outcome) -> str | None:
    """The window is large enough from the first request on, and stays."""
    wrong = _as_asked(outcome)
    windows = [body.get("options", {}).get("num_ctx") for body in outcome.generations]
    if wrong or len(set(windows)) != 1 or windows[0] is None:
        return wrong or f"windows {windows}"
    # Four characters a token is the estimate of the clients' own authors.
    needed = len(_last(outcome)) // 4
    return None if windows[0] >= needed else f"a window of {windows[0]} for {needed} tokens"


def odd_is_nothing(outcome: Outcome) -> str | None:
    """As if nothing had been added; no request was refused."""
    refused = [f"{r['path']}: {r['status']}" for r in outcome.passed if r["status"] >= 400]
    return f"refused: {refused}" if refused else _as_asked(outcome)
