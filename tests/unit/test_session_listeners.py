"""Whoever listens to a turn changes nothing of it."""

from __future__ import annotations

from typing import Any

import pytest
from gates_kit import KINDS, Kind, a_session, reply, run

from fallback.tools import Risk, tool


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("eager", [False, True])
def test_what_a_listener_does_to_a_call_is_not_done_to_the_call_that_runs(
    kind: Kind, eager: bool
) -> None:
    ran: list[Any] = []

    @tool(risk=Risk.REVERSIBLE_WRITE)
    def pay(to: str, amounts: list[int]) -> str:
        """Pay somebody."""
        ran.append((to, amounts))
        return "paid"

    @tool(risk=Risk.READ_ONLY)
    def look(items: list[int]) -> str:
        """Look."""
        ran.append(items)
        return "seen"

    def meddle(event: Any) -> None:
        if (call := getattr(event, "call", None)) is not None:
            call.arguments.pop("to", None)
            for values in call.arguments.values():
                values.append(999)

    calls = [("look", {"items": [1]}), ("look", {"items": [2]})]
    paid = ("pay", {"to": "bob", "amounts": [5]})
    replies = [reply("prompt", *calls), reply("prompt", paid), "Done."]
    session = a_session(
        kind, [pay, look], replies, approve=lambda _: True, on_event=meddle, eager=eager
    )
    turn = run(session, "Pay bob.")
    assert sorted(ran[:2]) == [[1], [2]]
    assert ran[2:] == [("bob", [5])]
    assert [call.arguments for step in turn.steps for call in step.calls] == [
        {"items": [1]},
        {"items": [2]},
        {"to": "bob", "amounts": [5]},
    ]
    assert [stored.arguments for stored in session.ledger.list()] == [{"to": "bob", "amounts": [5]}]
