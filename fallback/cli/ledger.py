"""``fallback ledger``: look at what was done, check the log of it, settle and undo."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

from fallback.cli.exits import ExitCode
from fallback.cli.inputs import context_values, user_name
from fallback.cli.output import complain, console, visible, write_json
from fallback.errors import ConfigurationError, LedgerError
from fallback.execution.content import to_text
from fallback.execution.masking import mask_credentials
from fallback.ledger import Anchor, Audited, Ledger, Stored
from fallback.ledger.encoding import masked
from fallback.ledger.values import Event, State
from fallback.limits import DEFAULT_LIMITS


def show_list(url: str | None, *, state: State | None, limit: int, as_json: bool) -> ExitCode:
    """Print operations; arguments and results are only in ``show``."""
    with Ledger.open(url, create=False) as ledger:
        found = ledger.list(state, limit=limit)
    if as_json:
        write_json({"operations": [_record(stored) for stored in found]})
        return ExitCode.OK
    out = console()
    for stored in found:
        undone = "  undone" if stored.undone_by else ""
        undone = f"  undoes {stored.undoes}" if stored.undoes else undone
        out.print(
            f"{stored.id}  {when(stored.started_at)}  {stored.state:<8}  "
            f"{visible(stored.tool)}{undone}"
        )
    return ExitCode.OK


def show_one(url: str | None, name: str, *, as_json: bool) -> ExitCode:
    """Print all that is known of an operation."""
    with Ledger.open(url, create=False) as ledger:
        stored = ledger.get(name)
        if stored is None:
            raise LedgerError(f"no operation {name!r} in the ledger; see `fallback ledger list`")
        about = [e for e in ledger.entries() if e.body.get("operation") == stored.id]
    record = _record(stored)
    if as_json:
        write_json({**record, "log": [_entry(entry) for entry in about]})
        return ExitCode.OK
    out = console()
    for key, value in record.items():
        if value not in (None, ""):
            text = value if isinstance(value, str) else to_text(value)
            out.print(f"{key:<12} {visible(text)}")
    for entry in about:
        out.print(visible(f"entry {entry.seq:<6} {_told(entry.body)}"))
    return ExitCode.OK


def show_log(url: str | None, *, event: str | None, limit: int, as_json: bool) -> ExitCode:
    """Print what was proposed, allowed, done and undone, each in a line."""
    known = get_args(Event)
    if event is not None and event not in known:
        raise ConfigurationError(f"--event {event!r} is none of {', '.join(known)}")
    with Ledger.open(url, create=False) as ledger:
        wanted = (e for e in ledger.entries() if event in (None, e.body.get("event")))
        found = deque(wanted, maxlen=limit)
    if as_json:
        write_json({"entries": [_entry(entry) for entry in found]})
        return ExitCode.OK
    out = console()
    for entry in found:
        out.print(visible(f"{entry.seq:<6} {_told(entry.body, named=True)}"))
    return ExitCode.OK


def verify(url: str | None, head: str | None, *, as_json: bool) -> ExitCode:
    """Check the log; a fault is one line and an exit code."""
    anchor = None if head is None else _anchor(head)
    with Ledger.open(url, create=False) as ledger:
        fault, last = ledger.verify(anchor), ledger.head()
    if as_json:
        found = None if fault is None else {"kind": fault.kind, "entry": fault.seq}
        write_json({"ok": fault is None, "fault": found, "head": str(last)})
    elif fault is None:
        print(f"{last.seq} entries, all as they were written")  # noqa: T201  # what was asked for
    if fault is not None:
        complain(f"{ledger.address}: {fault.message}")
        return ExitCode.LEDGER
    return ExitCode.OK


def show_head(url: str | None) -> ExitCode:
    """Print the anchor, and nothing else, so that it can be kept by a command."""
    with Ledger.open(url, create=False) as ledger:
        print(ledger.head())  # noqa: T201  # what was asked for
    return ExitCode.OK


def resolve(
    url: str | None,
    name: str,
    outcome: Literal["done", "not_done"],
    *,
    by: str | None,
    detail: str,
) -> ExitCode:
    """Settle an unknown operation."""
    with Ledger.open(url, create=False) as ledger:
        stored = ledger.resolve(name, outcome, by=by or user_name(), detail=detail)
    again = "; its key may be begun again" if stored.state == "failed" else ""
    print(f"{stored.id} is {stored.state}{again}")  # noqa: T201  # what was asked for
    return ExitCode.OK


def undo(
    url: str | None,
    name: str,
    tools: Sequence[Path],
    context: Sequence[str],
    *,
    by: str | None,
    as_json: bool,
) -> ExitCode:
    """Run the tool's ``compensate`` handler, once."""
    from fallback.toolfile import load_catalogue

    if not tools:
        raise ConfigurationError("undo needs the tool that ran: give its file with --tools FILE")
    catalogue = load_catalogue(tools)
    with Ledger.open(url, create=False) as ledger:
        result = ledger.undo(
            name,
            [*catalogue, *catalogue.hidden],
            context=context_values(tuple(context)),
            by=by or user_name(),
            seconds=DEFAULT_LIMITS.tool_seconds,
        )
    if as_json:
        write_json({"status": result.status, "content": result.content})
    elif result.ok:
        print(f"undone: {visible(result.content)}")  # noqa: T201  # what was asked for
    else:
        complain(f"not undone: {result.detail or result.content}")
    return ExitCode.OK if result.ok else ExitCode.LEDGER


def _anchor(text: str) -> Anchor:
    seq, _, sealed = text.strip().partition(":")
    if not seq.isascii() or not seq.isdigit():
        raise ConfigurationError(f"--head {text!r} is not what `fallback ledger head` printed")
    return Anchor(int(seq), sealed)


def when(seconds: float) -> str:
    """A time of the ledger, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def _record(stored: Stored) -> dict[str, Any]:
    """An operation as it may be shown: with its secrets masked."""
    result = stored.result
    return {
        "id": stored.id,
        "key": stored.key,
        "tool": stored.tool,
        "state": stored.state,
        "detail": stored.detail,
        "attempt": stored.attempt,
        "started": when(stored.started_at),
        "ended": None if stored.ended_at is None else when(stored.ended_at),
        "user": stored.user,
        "tenant": stored.tenant,
        "approval": stored.approval_id,
        "arguments": masked(stored.arguments, mask_credentials),
        "result": result and mask_credentials(f"{result.status}: {result.content}"),
        "resource": stored.resource,
        "undoes": stored.undoes,
        "undone_by": stored.undone_by,
    }


def _entry(entry: Audited) -> dict[str, Any]:
    return {"seq": entry.seq, "hash": entry.hash, **entry.body}


def _told(body: Mapping[str, Any], *, named: bool = False) -> str:
    """An entry in one line; with what it is about where the reader cannot know that."""
    parts = [str(body.get("at", ""))[:19] + "Z", str(body.get("event", ""))]
    if named:
        parts += [str(body[name]) for name in ("operation", "tool") if name in body]
        parts += [to_text(body["arguments"])] if "arguments" in body else []
    told = ("outcome", "by", "user", "tenant", "approval", "resource", "detail")
    parts += [f"{name}={body[name]}" for name in told if name in body]
    origin, versions = body.get("origin", {}), body.get("versions", {})
    parts += [f"{name}={value}" for name, value in {**origin, **versions}.items()]
    return "  ".join(parts)
