"""Processes that go on with the same paused turns, and can be killed at any moment of it.

``resume_child.py URL EFFECTS`` reads lines from standard input and answers with lines.
``resume TURN`` goes on with a turn, ``aresume TURN`` does so in an event loop. Before an effect the
child says ``running`` and waits for a line, so that somebody else can try meanwhile; in the end it
gives what came of the turn. ``die TURN MOMENT`` does the same without waiting, in a forked process
that kills itself at that moment; moments are counted as :mod:`ledger_child` does.

The tool does not say what it does, so that no idempotency key of its own protects it. An effect is
a line in the file EFFECTS.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from ledger_child import Moments, happen, in_a_process_of_its_own

from fallback import AsyncSession, Session, Turn, tool
from fallback.backend import GenerationRequest
from fallback.errors import FallbackError, PauseTurn
from fallback.ledger import Ledger
from fallback.testing import ScriptedBackend
from fallback.tools import Tool

ASKED = "Note it."


def note_tool(act: Callable[[str], object]) -> Tool:
    @tool
    def note(text: str) -> str:
        """Write a text down."""
        act(text)
        return f"noted: {text}"

    return note


def replies_of(turn: str) -> Callable[[GenerationRequest], Any]:
    """A model that notes ``first``, then ``second``, then answers, whatever the results say."""

    def reply(request: GenerationRequest) -> Any:
        results = sum(message.role == "tool" for message in request.messages)
        if results >= 2:
            return "Both are noted."
        arguments = {"text": f"{turn} {'second' if results else 'first'}"}
        return {"tool_calls": [{"name": "note", "arguments": arguments}]}

    return reply


def paused_turn(ledger: Ledger, name: str) -> str:
    """The id of a turn whose first call waits."""

    def wait(text: str) -> None:
        raise PauseTurn("wait for somebody")

    backend = ScriptedBackend([replies_of(name)])
    session = Session("any", [note_tool(wait)], backend=backend, mode="native", ledger=ledger)
    turn = session.run(ASKED)
    assert turn.stop_reason == "approval_required"
    return turn.id


def go_on(ledger: Ledger, turn_id: str, name: str, act: Callable[[str], object]) -> Turn:
    tools = [note_tool(act)]
    backend = ScriptedBackend([replies_of(name)] * 9)
    return Session("any", tools, backend=backend, mode="native", ledger=ledger).resume(turn_id)


def go_on_async(ledger: Ledger, turn_id: str, name: str, act: Callable[[str], object]) -> Turn:
    tools = [note_tool(act)]
    backend = ScriptedBackend([replies_of(name)] * 9)
    session = AsyncSession("any", tools, backend=backend, mode="native", ledger=ledger)
    return asyncio.run(session.resume(turn_id))


def killable(url: str, effects: Path, turn_id: str, name: str, moment: int) -> None:
    with Ledger.open(url) as ledger:
        moments = Moments(moment)
        moments.watch_statements()

        def act(text: str) -> None:
            moments.pass_one()
            happen(effects, text)
            moments.pass_one()

        go_on(ledger, turn_id, name, act)


def tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def answer(ledger: Ledger, url: str, effects: Path, mode: str, words: Iterable[str]) -> str:
    turn_id, name, *rest = words
    if mode == "die":
        run = partial(killable, url, effects, turn_id, name, int(rest[0]))
        return str(in_a_process_of_its_own(run))

    def act(text: str) -> None:
        tell("running")
        sys.stdin.readline()
        happen(effects, text)

    try:
        turn = (go_on if mode == "resume" else go_on_async)(ledger, turn_id, name, act)
    except FallbackError as error:
        return f"{type(error).__name__}: {error}"
    return f"{turn.stop_reason}: {turn.answer}"


def main() -> None:
    url, effects = sys.argv[1], Path(sys.argv[2])
    with Ledger.open(url) as ledger:
        for line in sys.stdin:
            mode, *words = line.split()
            tell(answer(ledger, url, effects, mode, words))


if __name__ == "__main__":
    main()
