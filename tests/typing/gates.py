"""Policies, contexts and approvals as users write them; never run, only type-checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_type

from fallback import AsyncSession, Deny, ExecutionContext, Policy, Session, Tool, Turn, tool
from fallback.ledger import Approval, Ledger
from fallback.testing import ScriptedBackend


def preview(to: str) -> dict[str, str]:
    return {"recipient": to}


@tool(
    risk="external_communication",
    preview=preview,
    idempotent=True,
    idempotency_key=lambda to: f"mail {to}",
    untrusted=True,
)
def mail(to: str) -> str:
    """Send a mail."""
    return to


def hook(chosen: Tool, arguments: Mapping[str, Any], context: ExecutionContext) -> bool | Deny:
    return "mail" in context.scopes or Deny(f"{context.user} may not {chosen.name}")


async def async_hook(
    chosen: Tool, arguments: Mapping[str, Any], context: ExecutionContext
) -> bool | Deny:
    return True


def ask(approval: Approval) -> str | None:
    return "carol" if approval.risk != "destructive" else None


async def ask_later(approval: Approval) -> bool:
    return False


def blocking() -> None:
    context = ExecutionContext(user="ada", scopes={"mail"}, values={"db": object()})
    policy = Policy(allow={"mail"}, authorise=(hook, async_hook), destructive="approve_twice")
    backend = ScriptedBackend([])
    with Session(
        "m", [mail], backend=backend, context=context, policy=policy, approve=ask, ledger="l.sqlite"
    ) as session:
        turn = session.run("Mail bob.")
        assert_type(turn.id, str)
        assert_type(session.ledger, Ledger)
        for waiting in turn.waiting:
            assert_type(waiting.approval, str)
        assert_type(session.resume(turn.id, results={"call_1_0": 7}), Turn)


async def awaiting() -> None:
    async with AsyncSession(
        "m", [mail], backend=ScriptedBackend([]), context={"db": 1}, approve=ask_later
    ) as session:
        assert_type(await session.resume("turn_1"), Turn)
