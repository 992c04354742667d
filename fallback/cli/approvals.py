"""``fallback approvals``: what a call would do, and a person's word on it.

Whoever decides has to see what will really happen, so nothing is masked or cut here; control
characters are shown and not obeyed.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from fallback.cli.exits import ExitCode
from fallback.cli.inputs import user_name
from fallback.cli.ledger import when
from fallback.cli.output import console, visible, write_json
from fallback.errors import LedgerError
from fallback.ledger import Approval, Ledger
from fallback.ledger.approvals import ApprovalStatus


def show_list(url: str | None, status: ApprovalStatus | None, *, as_json: bool) -> ExitCode:
    """Print approvals, a line each."""
    with Ledger.open(url, create=False) as ledger:
        found = ledger.approvals.list(status)
    if as_json:
        write_json({"approvals": [_record(approval) for approval in found]})
        return ExitCode.OK
    out = console()
    for approval in found:
        who = f"  for {approval.user}" if approval.user else ""
        out.print(
            visible(
                f"{approval.id}  {when(approval.requested_at)}  {approval.status:<8}"
                f"  {approval.tool}{who}  {approval.origin.turn}"
            )
        )
    return ExitCode.OK


def show_one(url: str | None, name: str, *, as_json: bool) -> ExitCode:
    """Print all that a person needs to decide."""
    with Ledger.open(url, create=False) as ledger:
        approval = _found(ledger, name)
    if as_json:
        write_json(_record(approval))
        return ExitCode.OK
    out = console()
    for line in described(approval):
        out.print(visible(line))
    return ExitCode.OK


def approve(url: str | None, name: str, *, by: str | None) -> ExitCode:
    """Say yes."""
    with Ledger.open(url, create=False) as ledger:
        approval = ledger.approvals.approve(name, by or user_name())
    missing = approval.needed - len(approval.votes)
    if approval.status == "approved":
        _tell(f"{approval.id} is approved{_next(approval)}")
    else:
        _tell(f"{approval.id} needs {missing} more")
    return ExitCode.OK


def deny(url: str | None, name: str, *, by: str | None, reason: str) -> ExitCode:
    """Say no."""
    with Ledger.open(url, create=False) as ledger:
        approval = ledger.approvals.deny(name, by or user_name(), reason)
    _tell(f"{approval.id} is denied{_next(approval)}")
    return ExitCode.OK


def ask_here(approval: Approval) -> str | bool | None:
    """Ask on the terminal about one call; the question goes to standard error.

    Returns:
        Who approved; ``False`` for no; ``None`` to leave it to somebody else.
    """
    # The timeline may have left the cursor behind what the model wrote.
    _ask("\n" + "".join(visible(line) + "\n" for line in described(approval)))
    while True:
        _ask("allow it? [y]es, [n]o, [l]ater: ")
        answer = sys.stdin.readline()
        chosen = answer.strip().casefold()
        if chosen in ("y", "yes"):
            return user_name()
        if chosen in ("n", "no"):
            return False
        if chosen in ("l", "later") or not answer:  # the end of the input decides nothing
            return None


def described(approval: Approval) -> list[str]:
    """The question, line by line."""
    needed = f" of {approval.needed}" if approval.needed > 1 else ""
    facts = {
        "approval": f"{approval.id}, {approval.status}",
        "tool": approval.tool,
        "why": approval.risk,
        "for": " of ".join(filter(None, (approval.user, approval.tenant))),
        "turn": approval.origin.turn,
        "expires": when(approval.expires_at),
        "does": approval.preview,
        "arguments": json.dumps(approval.arguments, ensure_ascii=False, sort_keys=True),
    }
    lines = [_fact(name, text) for name, text in facts.items() if text]
    for number, vote in enumerate(approval.votes, 1):
        said = f"{vote.verdict}, {vote.by}, {when(vote.at)}  {vote.reason}".rstrip()
        lines.append(_fact(f"vote {number}{needed}", said))
    return lines


def _fact(name: str, text: str) -> str:
    return f"{name:<12} " + text.replace("\n", "\n" + " " * 13)


def _found(ledger: Ledger, name: str) -> Approval:
    approval = ledger.approvals.get(name)
    if approval is None:
        raise LedgerError(f"no approval {name!r} in the ledger; see `fallback approvals list`")
    return approval


def _next(approval: Approval) -> str:
    turn = approval.origin.turn
    return f"; go on with: fallback resume {turn}" if turn else ""


def _tell(text: str) -> None:
    print(visible(text))  # noqa: T201  # what was asked for


def _ask(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def _record(approval: Approval) -> dict[str, Any]:
    return {
        "id": approval.id,
        "status": approval.status,
        "tool": approval.tool,
        "arguments": approval.arguments,
        "preview": approval.preview,
        "why": approval.risk,
        "user": approval.user,
        "tenant": approval.tenant,
        "turn": approval.origin.turn,
        "needed": approval.needed,
        "votes": [
            {"by": vote.by, "verdict": vote.verdict, "reason": vote.reason, "at": when(vote.at)}
            for vote in approval.votes
        ],
        "requested": when(approval.requested_at),
        "expires": when(approval.expires_at),
    }
