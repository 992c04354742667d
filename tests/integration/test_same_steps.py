"""One table of behaviours, played in native and in prompt mode: both end in the same steps.

A row is what a model says, reply by reply; a call in it is made the way of the mode. Compared is
all that the application sees: calls, problems, results, the answer, the reason of the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from gates_kit import KINDS, MODES, Kind, Mode, Shop, a_session, block, reply, resume, run

from fallback import Turn
from fallback.errors import PauseTurn, ToolConflict, ToolFailed, ToolPartial, ToolRetry
from fallback.limits import Limits
from fallback.policy import ExecutionContext, Policy
from fallback.tools import Risk, Tool, tool

LOOK = ("look", {"item": "tea"})
PAY = ("pay", {"to": "bob", "amount": 5})
Said = str | tuple[Any, ...] | Callable[[Mode], Any]


@dataclass(frozen=True)
class Row:
    """A behaviour.

    Attributes:
        said: replies: a text, or a tuple of calls, or a function of the mode.
        ends: stop reason.
        results: ``name kind-or-status`` of every result, in order.
        problems: kinds, in order.
        answer: of the turn.
        then: what is done with a turn that waits; the turn that is compared is what comes of it.
    """

    said: tuple[Said, ...]
    ends: str = "answered"
    results: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    answer: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    then: Callable[[Any, Turn], Turn] | None = None


def approved(session: Any, turn: Turn) -> Turn:
    for waiting in turn.waiting:
        session.ledger.approvals.approve(waiting.approval, "carol")
    return resume(session, turn.id)


def declined(session: Any, turn: Turn) -> Turn:
    for waiting in turn.waiting:
        session.ledger.approvals.deny(waiting.approval, "carol")
    return resume(session, turn.id)


FREE = {"policy": Policy(reversible_write="run")}

TABLE: dict[str, Row] = {
    "an answer without tools": Row(("Hello.",), answer="Hello."),
    "one call and its answer": Row(((LOOK,), "3."), results=("look ok",), answer="3."),
    "two steps": Row(((LOOK,), (("look", {"item": "ice"}),), "Both."), results=("look ok",) * 2),
    "two calls in one reply": Row(
        ((LOOK, ("look", {"item": "ice"})), "Both."), results=("look ok",) * 2
    ),
    "the same call twice in one reply runs once": Row(
        ((LOOK, LOOK), "3."), results=("look ok", "look ok copy")
    ),
    "text beside a call is kept": Row(
        (lambda mode: reply(mode, LOOK, text="Let me see."), "3."), results=("look ok",)
    ),
    # B02: a model that is said to call natively, and writes the call as text
    "a call written as text": Row((lambda mode: block(LOOK), "3."), results=("look ok",)),
    # B36: the call stands in a fence as an example
    "a call shown as an example is not made": Row(
        ("You would write:\n\n````\n" + block(LOOK) + "\n````\n\nThat is all.",)
    ),
    "an unknown name is chosen anew": Row(
        ((("peek", {"item": "tea"}),), (LOOK,), "3."),
        problems=("unknown_tool",),
        results=("look ok",),
    ),
    "an unknown name twice is the end": Row(
        ((("peek", {}),), (("peep", {}),)), ends="failed", problems=("unknown_tool",) * 2
    ),
    "wrong arguments are mended": Row(
        ((("look", {"thing": "tea"}),), (LOOK,), "3."),
        problems=("invalid_arguments",),
        results=("look ok",),
    ),
    "a good call beside a wrong one runs": Row(
        ((LOOK, ("pay", {"to": 7})), "3."), results=("look ok",), problems=("invalid_arguments",)
    ),
    "an injected parameter is refused": Row(
        ((("pay", {"to": "bob", "amount": 5, "user": "eve"}),), "No."),
        problems=("invalid_arguments",),
    ),
    "a hidden tool is no tool": Row(((("secret", {}),), "No."), problems=("unknown_tool",)),
    # B11: the same call again and again
    "a call that is repeated is told and then withdrawn": Row(
        ((LOOK,),) * 5 + ("3.",), ends="repeated_call", results=("look ok",) * 5, answer="3."
    ),
    "steps are counted": Row(
        tuple((("look", {"item": str(n)}),) for n in range(3)),
        ends="max_steps",
        results=("look ok",) * 3,
        settings={"limits": Limits(max_steps=3)},
    ),
    "calls are counted": Row(
        ((LOOK, ("look", {"item": "ice"})), "One."),
        ends="max_calls",
        results=("look ok", "look not_run"),
        settings={"limits": Limits(max_calls_per_turn=1)},
    ),
    "an empty reply is remarked on": Row(("", "Hello."), answer="Hello."),
    "a promise is taken at its word once": Row(
        ("I will use the look tool now.", (LOOK,), "3."), results=("look ok",)
    ),
    # B40: whatever a tool raises is a result
    "a tool that raises": Row(((("fail", {"how": "crash"}),), "So."), results=("fail internal",)),
    "a tool that asks for other arguments": Row(
        ((("fail", {"how": "retry"}),), "So."), results=("fail invalid_arguments",)
    ),
    "a tool that has failed for good": Row(
        ((("fail", {"how": "failed"}),), "So."), results=("fail failed",)
    ),
    "a conflict": Row(((("fail", {"how": "conflict"}),), "So."), results=("fail conflict",)),
    "some of it": Row(((("fail", {"how": "partial"}),), "So."), results=("fail partial",)),
    "a tool that is not allowed to": Row(
        ((("fail", {"how": "permission"}),), "So."), results=("fail denied",)
    ),
    "a tool that pauses": Row(
        ((("fail", {"how": "pause"}),),),
        ends="approval_required",
        results=("fail approval_required",),
    ),
    "a failure beside a success": Row(
        ((("fail", {"how": "crash"}), LOOK), "So."), results=("fail internal", "look ok")
    ),
    "a tool off the list": Row(
        ((LOOK, PAY), "No."),
        results=("look denied", "pay denied"),
        settings={"policy": Policy(allow=frozenset({"mail"}))},
    ),
    "a context that allows less": Row(
        ((LOOK,), "No."),
        results=("look denied",),
        settings={"context": ExecutionContext(allowed_tools=frozenset())},
    ),
    "a hook that refuses": Row(
        ((LOOK,), "No."),
        results=("look denied",),
        settings={"policy": Policy(authorise=(lambda *_: False,))},
    ),
    "a write waits beside a read that ran": Row(
        ((LOOK, PAY),), ends="approval_required", results=("look ok", "pay approval_required")
    ),
    "a write that is approved goes on": Row(
        ((LOOK, PAY), "Paid."), results=("look ok", "pay ok"), answer="Paid.", then=approved
    ),
    "a write that is declined goes on without": Row(
        ((LOOK, PAY), "Not."), results=("look ok", "pay denied"), answer="Not.", then=declined
    ),
    "a write that is approved at once": Row(
        ((PAY,), "Paid."), results=("pay ok",), settings={"approve": lambda _: True}
    ),
    "a write twice happens once": Row(
        ((PAY,), (PAY,), "Paid."), results=("pay ok", "pay ok"), settings=FREE
    ),
    "writes run one after the other": Row(
        ((PAY, ("pay", {"to": "eve", "amount": 6})), "Paid."),
        results=("pay ok",) * 2,
        settings=FREE,
    ),
    "a write after untrusted content waits": Row(
        ((("fetch", {"url": "u"}),), (PAY,)),
        ends="approval_required",
        results=("fetch ok", "pay approval_required"),
        settings={"policy": Policy(pre_approved=frozenset({"pay"}))},
    ),
    "a call that needs a sibling's result is not guessed": Row(
        ((LOOK, ("look", {"item": "<result of call 1>"})), "3."),
        results=("look ok", "look invalid_arguments"),
    ),
    "a tool that the application runs": Row(
        ((("ask_user", {}),),), ends="approval_required", results=("ask_user approval_required",)
    ),
    "its result is handed in": Row(
        ((("ask_user", {}),), "Blue."),
        results=("ask_user ok",),
        then=lambda s, t: resume(s, t.id, results={t.waiting[0].call_id: "blue"}),
    ),
}


def tools_of(shop: Shop) -> list[Any]:
    raised: dict[str, BaseException] = {
        "crash": RuntimeError("boom"),
        "retry": ToolRetry("another city"),
        "failed": ToolFailed("gone"),
        "conflict": ToolConflict("closed", state=1),
        "partial": ToolPartial(done={"a": 1}, failed={"b": "no"}),
        "permission": PermissionError("bob's"),
        "pause": PauseTurn("ask first"),
    }

    @tool(risk=Risk.READ_ONLY)
    def fail(how: str) -> str:
        """Fail."""
        raise raised[how]

    offered = {"name": "ask_user", "description": "Asks the user.", "parameters": {}}
    hidden = Tool(name="secret", hidden=True, handler=lambda: shop.done.append(("secret",)))
    return [*shop.tools(), fail, hidden, offered]


def played(row: Row, mode: Mode, kind: Kind) -> tuple[Turn, Shop]:
    shop = Shop()
    replies = [
        reply(mode, *said) if isinstance(said, tuple) else said(mode) if callable(said) else said
        for said in row.said
    ]
    session = a_session(kind, tools_of(shop), replies, mode=mode, **row.settings)
    turn = run(session, "What is in stock?")
    if row.then is not None:
        turn = row.then(session, turn)
    assert session.backend.remaining == 0, "not every reply was asked for"
    return turn, shop


def seen(turn: Turn) -> list[Any]:
    """All that does not depend on how a call is written."""
    return [
        turn.stop_reason,
        turn.answer,
        turn.tools_used,
        [
            (
                [(call.name, call.arguments) for call in step.calls],
                [problem.kind for problem in step.problems],
                [
                    (r.name, r.status, r.kind, r.content, r.retryable, r.copy_of is None)
                    for r in step.results
                ],
            )
            for step in turn.steps
        ],
        [(m.role, [(c.name, c.arguments) for c in m.tool_calls]) for m in turn.messages],
    ]


def shown(turn: Turn) -> tuple[str, ...]:
    return tuple(
        f"{r.name} {r.kind or r.status}{' copy' if r.copy_of else ''}"
        for step in turn.steps
        for r in step.results
    )


@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE.keys())
def test_both_modes_and_both_kinds_of_session_end_in_the_same_steps(row: Row) -> None:
    turns = {(mode, kind): played(row, mode, kind) for mode in MODES for kind in KINDS}
    for turn, _ in turns.values():
        assert turn.stop_reason == row.ends, turn.detail
        assert shown(turn) == row.results
        assert tuple(p.kind for step in turn.steps for p in step.problems) == row.problems
        assert row.answer in (None, turn.answer)
    (first, shop), *others = turns.values()
    for turn, other in others:
        assert seen(turn) == seen(first)
        assert sorted(other.done) == sorted(shop.done)
