"""Lesson 9: some calls need a person, and the turn waits for him, in any process.

A tool says what it can do to the world with ``risk``. What only reads runs at once; everything else
waits until somebody has approved exactly this call. Nothing that has run is run again.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from fallback import ExecutionContext, Session, tool
from fallback.ledger import Ledger
from fallback.testing import ScriptedBackend

ADA = ExecutionContext(user="ada", tenant="acme")
effects: list[str] = []


def preview(to: str, amount: int, user: str) -> dict[str, object]:
    """What a person is shown before he decides."""
    return {"from": user, "recipient": to, "amount": amount, "balance after": 100 - amount}


@tool(risk="read_only", injected=["user"])
def balance(user: str) -> int:
    """Balance of the account of whoever is asking."""
    effects.append(f"{user} looked")
    return 100


@tool(risk="external_communication", injected=["user"], preview=preview)
def pay(to: str, amount: int, user: str) -> str:
    """Pay an amount to somebody.

    Args:
        to: who gets the money.
        amount: in whole kroner.
    """
    effects.append(f"{user} paid {to} {amount}")
    return f"paid {amount} to {to}"


CALLS = """```tool_call
{"name": "balance", "arguments": {}}
{"name": "pay", "arguments": {"to": "bob", "amount": 30}}
```"""


def session(ledger: Path, *replies: str) -> Session:
    """A session as any process of the application makes it: same tools, same user, same ledger."""
    backend = ScriptedBackend(replies)
    return Session("any", tools=[balance, pay], backend=backend, context=ADA, ledger=ledger)


with TemporaryDirectory() as folder:
    file = Path(folder, "ledger.sqlite")

    with session(file, CALLS) as asking:  # here the user asks
        turn = asking.run("If I have enough, pay Bob 30.")
    assert turn.stop_reason == "approval_required"
    assert effects == ["ada looked"]

    with Ledger.open(file) as ledger:  # here, or with `fallback approvals`, somebody decides
        (question,) = ledger.approvals.list("pending")
        print(question.preview)
        assert "balance after: 70" in question.preview
        ledger.approvals.approve(question.id, by="carol")

    with session(file, "Bob has his 30.") as going_on:  # and here the turn goes on
        turn = going_on.resume(turn.id)
    print(turn.answer, turn.tools_used)
    assert turn.answer == "Bob has his 30."
    assert effects == ["ada looked", "ada paid bob 30"], "the balance was not looked up again"

    with Ledger.open(file) as ledger:
        assert ledger.verify() is None
        events = [entry.body["event"] for entry in ledger.entries()]
    assert events.index("approved") < events.index("started") < events.index("finished")
    print(" > ".join(events))
