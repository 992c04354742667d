"""Asking people about calls: now, through the application's callback, or later, in the ledger.

Every question is put on record first, with what the call would do; then the callback is asked, if
there is one. What nobody has decided stays pending, and the turn waits. An approval is used up by
the one call that it was given for.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any

from fallback.errors import LedgerError
from fallback.execution.content import cap, to_text
from fallback.execution.hooks import Steps
from fallback.execution.masking import safe_error
from fallback.ledger import Approval, Ledger, Origin, Refusal
from fallback.limits import Limits
from fallback.loop import Decision, Request
from fallback.messages import ToolCall
from fallback.policy import Deny
from fallback.tools import Tool, bind_beside

__all__ = ["Answer", "Ask", "Desk", "shown"]

Answer = bool | str | Deny | None
"""``True``, or the name of who approved; ``False`` or ``Deny`` refuses; ``None`` leaves it open."""

Ask = Callable[[Approval], Answer | Awaitable[Answer]]
"""The application's callback, sync or async."""

_INSET = "\n    "

_CALLBACK = "approve callback"
"""The name under which the callback's plain ``True`` is put on record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Where the calls of one turn are approved.

    Attributes:
        ledger: where questions and answers are kept.
        injected: values of injected parameters, for the tools' previews.
        ask: the callback.
        key: the idempotency key of a call, to see whether it is on record already.
        origin: which reply proposed the call of an id.
        user, tenant: who wants it, for whom.
    """

    ledger: Ledger
    injected: Mapping[str, Any]
    ask: Ask | None
    key: Callable[[Tool, ToolCall], Steps[str]]
    origin: Callable[[str], Origin]
    user: str
    tenant: str
    limits: Limits

    def decisions(self, requests: Sequence[Request]) -> Steps[tuple[Decision, ...]]:
        """One decision for each request, in their order."""
        made = []
        for request in requests:
            decision = yield from self._known(request)
            made.append(decision or (yield from self._new(request)))
        return tuple(made)

    def _known(self, request: Request) -> Steps[Decision | None]:
        """What was decided before about this very call; ``None`` if it has to be asked about."""
        try:
            key = yield from self.key(request.tool, request.call)
        except Exception:  # noqa: BLE001 # the tool's own function; the call will not run without
            stored = None
        else:
            stored = yield partial(self.ledger.get, key)
        if stored is not None and stored.state != "failed":
            # It was allowed once, and cannot run a second time: the ledger gives its result. If it
            # turns out before then that nothing had happened, this call still needs a person.
            return Decision(verdict="recalled", detail="on record already")
        if not request.approval_id:
            return None
        return (yield from self._use(request, request.approval_id))

    def _use(self, request: Request, id_: str) -> Steps[Decision | None]:
        used = yield partial(self.ledger.approvals.consume, id_, request.fingerprint)
        if isinstance(used, Approval):
            who = ", ".join(vote.by for vote in used.votes)
            return Decision(verdict="granted", approval_id=id_, detail=f"approved by {who}")
        if not isinstance(used, Refusal):
            raise TypeError(f"an approval was answered with {type(used).__name__}")
        if used.reason == "pending":
            return Decision(verdict="pending", approval_id=id_, detail=used.message)
        if used.reason in ("denied", "changed"):
            return Decision(verdict="denied", approval_id=id_, detail=used.message)
        return None  # expired or used up: a person has to look again

    def _new(self, request: Request) -> Steps[Decision]:
        preview = yield from shown(request.tool, request.call.arguments, self.injected)
        asked = Approval(
            hash=request.fingerprint,
            tool=request.tool.name,
            arguments=request.call.arguments,
            preview=cap(preview, self.limits.max_result_chars)[0],
            risk=request.why,
            origin=self.origin(request.call.id),
            user=self.user,
            tenant=self.tenant,
            needed=request.approvers,
            seconds=request.seconds,
        )
        approval = yield partial(self.ledger.approvals.request, asked)
        pending = Decision(verdict="pending", approval_id=approval.id)
        if self.ask is None:
            return pending
        try:
            answer = yield partial(self.ask, approval)
            yield from self._vote(approval.id, answer)
        except Exception as error:  # noqa: BLE001 # a callback that fails has decided nothing
            detail = f"the approve callback failed: {safe_error(error)}"
            return Decision(verdict="pending", approval_id=approval.id, detail=detail)
        return (yield from self._use(request, approval.id)) or pending

    def _vote(self, id_: str, answer: object) -> Steps[None]:
        approvals = self.ledger.approvals
        if answer is None:
            return
        if answer is True or (isinstance(answer, str) and answer.strip()):
            by = _CALLBACK if answer is True else str(answer)
            try:
                yield partial(approvals.approve, id_, by)
            except LedgerError:  # decided meanwhile, elsewhere: that counts
                return
        else:
            reason = answer.reason if isinstance(answer, Deny) else ""
            yield partial(approvals.deny, id_, _CALLBACK, reason)


def shown(tool: Tool, arguments: Mapping[str, Any], injected: Mapping[str, Any]) -> Steps[str]:
    """What a call would do, for a person: the tool's own preview, or the arguments themselves."""
    plain = json.dumps(arguments, ensure_ascii=False, indent=2, sort_keys=True)
    if tool.preview is None:
        return plain
    try:
        values = bind_beside(tool, tool.preview, deepcopy(dict(arguments)), injected)
        preview = yield partial(tool.preview, **values)
    except Exception as error:  # noqa: BLE001 # a foreign function; a person still sees the call
        return f"{plain}\n(no preview: {safe_error(error)})"
    if isinstance(preview, Mapping):
        # Lines of a value are set in, for no text of a model may look like a fact of the preview.
        lines = (_INSET.join(to_text(value).splitlines()) for value in preview.values())
        return "\n".join(f"{name}: {text}" for name, text in zip(preview, lines, strict=True))
    return to_text(preview)
