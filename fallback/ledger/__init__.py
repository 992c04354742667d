"""What was asked, allowed, done and undone: nothing runs twice, and everything can be shown later.

A side effect is recorded as started *before* it happens::

    ledger = Ledger.open()                            # or a path, or postgresql://...
    match ledger.begin(key, Operation(tool="pay", arguments={"amount": 5}, seconds=60)):
        case Begun() as begun:
            try:
                result = run()                        # a ToolResult
            except SurelyNothingHappened as error:
                ledger.fail(begun, str(error), effect="none")      # the key may be begun again
            except Exception as error:
                ledger.fail(begun, str(error))                     # unknown: a person has to look
            else:
                ledger.finish(begun, result, resource="invoice 7")
        case Finished(result=result): ...             # it ran before; this is its result
        case Unknown(detail=detail): ...              # nobody knows; never run it again
        case InProgress(): ...                        # somebody is running it now

The key names one call of one tool with its arguments. Nothing of this blocks for long, but it
blocks: asynchronous code calls it in a thread. Every method may raise ``LedgerError``; if ``begin``
does, do not run the call.

* ``Ledger.open(url=None, *, create=True, masker=..., clock=...)``, ``Ledger.in_memory()``
* ``begin(key, operation)``, ``finish(begun, result, resource="")``,
  ``fail(begun, detail, effect="none" | "unknown")``,
  ``resolve(id_or_key, "done" | "not_done", by=..., result=None, detail="")``,
  ``undo(id_or_key, tools, context={}, by="", seconds=None) -> ToolResult``,
  ``get(id_or_key)``, ``list(state=None, limit=100)``
* the audit log: ``record(Entry(event="refused", operation=..., detail=...)) -> Anchor``,
  ``entries(after=0)``, ``head() -> Anchor``, ``verify(anchor=None) -> Fault | None``. ``begin``,
  ``finish`` and the others, approvals included, write their entries themselves, in the same
  transaction.
* ``approvals.request(Approval(hash=..., tool=..., arguments=..., preview=..., needed=1,
  seconds=...)) -> Approval`` with its id, ``get(id)``, ``list(status=None)``, ``approve(id, by)``,
  ``deny(id, by, reason="")``, ``consume(id, call_hash) -> Approval | Refusal``
* ``paused.put(turn_id, dict)``, ``take(turn_id) -> dict | None`` (once), ``get``, ``list``; to go
  on with one: ``claim(turn_id, token, seconds=...) -> Claimed | None``, ``renew``, ``release``,
  ``drop``
"""

from fallback.ledger.approvals import Approval, Refusal, Vote
from fallback.ledger.audit import Fault
from fallback.ledger.ledger import Ledger
from fallback.ledger.values import (
    Anchor,
    Audited,
    Begun,
    Entry,
    Finished,
    InProgress,
    Operation,
    Origin,
    Stored,
    Unknown,
    Versions,
)

__all__ = [
    "Anchor",
    "Approval",
    "Audited",
    "Begun",
    "Entry",
    "Fault",
    "Finished",
    "InProgress",
    "Ledger",
    "Operation",
    "Origin",
    "Refusal",
    "Stored",
    "Unknown",
    "Versions",
    "Vote",
]
