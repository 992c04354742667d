"""The ledger: one object for everything that is remembered between calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, Self

from fallback.errors import ConfigurationError
from fallback.execution.masking import mask_credentials
from fallback.ledger import audit
from fallback.ledger.approvals import Approvals
from fallback.ledger.consistency import verify
from fallback.ledger.database import Database, open_database
from fallback.ledger.encoding import Masker
from fallback.ledger.holders import Holder, this_process
from fallback.ledger.operations import Operations
from fallback.ledger.paused import Paused
from fallback.ledger.tables import migrate
from fallback.ledger.values import (
    OTHERS_EVENTS,
    Anchor,
    Audited,
    Begun,
    Entry,
    Finished,
    InProgress,
    Operation,
    State,
    Stored,
    Unknown,
)
from fallback.messages import ToolResult
from fallback.tools import Tool

__all__ = ["Ledger"]


class Ledger:
    """What was asked, allowed, done and undone. Safe to use from several threads and processes.

    It blocks: asynchronous code calls it in a thread. Every method may raise
    :class:`~fallback.errors.LedgerError`, with one line that says what to do: the database is
    locked, full, damaged, not writable or not there.

    Attributes:
        approvals: see :class:`~fallback.ledger.approvals.Approvals`.
        paused: see :class:`~fallback.ledger.paused.Paused`.
        address: where it is kept, without a password.
    """

    def __init__(
        self,
        database: Database,
        *,
        masker: Masker = mask_credentials,
        clock: Callable[[], float] = time.time,
        holder: Callable[[], Holder] = this_process,
    ) -> None:
        """Use :meth:`open`; ``holder`` says who runs what is begun here."""
        self._database, self._mask, self._clock = database, masker, clock
        self._operations = Operations(database, masker, clock, holder)
        self.approvals = Approvals(database, masker, clock)
        self.paused = Paused(database, clock, holder)
        self.address = database.shown

    @classmethod
    def open(
        cls,
        url: str | Path | None = None,
        *,
        create: bool = True,
        masker: Masker = mask_credentials,
        clock: Callable[[], float] = time.time,
    ) -> Ledger:
        """Open a ledger, and make it if there is none.

        Args:
            url: a path, ``sqlite:///PATH``, or ``postgresql://USER@HOST/DATABASE`` (extra
                ``postgres``); ``None`` for ``ledger.sqlite`` in the user's data folder.
            create: whether to make one where there is none.
            masker: replaces secrets in what is written to the audit log.
            clock: seconds since 1970.

        Raises:
            LedgerError: it cannot be opened, or was written by a newer version.
        """
        database = open_database(url, create=create)
        try:
            migrate(database, create=create)
        except BaseException:
            database.close()
            raise
        return cls(database, masker=masker, clock=clock)

    @classmethod
    def in_memory(cls, *, clock: Callable[[], float] = time.time) -> Ledger:
        """A ledger without a file: it is gone with this object, and no other process sees it."""
        from fallback.ledger.memory import MemoryDatabase

        database = MemoryDatabase()
        migrate(database)
        return cls(database, clock=clock)

    def begin(self, key: str, operation: Operation) -> Begun | Finished | Unknown | InProgress:
        """Record that an operation starts now, if it may.

        Args:
            key: names one call, with its arguments: whatever is begun under the same key is the
                same thing. 1 to 500 printable characters.
            operation: the call.

        Returns:
            :class:`Begun`: run it, then call :meth:`finish` or :meth:`fail`;
            :class:`Finished`: it ran before, here is its result;
            :class:`Unknown`: it was started and its holder is gone: do not run it, tell a person;
            :class:`InProgress`: somebody is running it now.

        Raises:
            ConfigurationError: the key is unusable, or was used for another call.
        """
        return self._operations.begin(key, operation)

    def finish(self, begun: Begun, result: ToolResult, *, resource: str = "") -> None:
        """Record what came of it; the same key gives this result from now on.

        Args:
            begun: what :meth:`begin` gave.
            result: its ``value`` is kept as far as it has a JSON form.
            resource: id of what was created or changed, for the audit log.

        Raises:
            LedgerError: the operation was settled by somebody else in the meantime; what was
                reported is in the audit log as ``late``.
        """
        self._operations.finish(begun, result, resource=resource)

    def fail(
        self, begun: Begun, detail: str, *, effect: Literal["none", "unknown"] = "unknown"
    ) -> None:
        """Record that it did not come to its end.

        Args:
            begun: what :meth:`begin` gave.
            detail: why; shown to people, so secrets in it are masked.
            effect: ``none`` only where it surely did nothing: its key may then be begun again.
                ``unknown`` after a timeout, a lost connection, or any error in the middle.

        Raises:
            LedgerError: as :meth:`finish`.
        """
        self._operations.fail(begun, detail, effect=effect)

    def resolve(
        self,
        name: str,
        outcome: Literal["done", "not_done"],
        *,
        by: str,
        result: ToolResult | None = None,
        detail: str = "",
    ) -> Stored:
        """A person says what really happened to an unknown operation.

        Args:
            name: its id or key.
            outcome: ``done``: the key gives a result from now on; ``not_done``: it may be begun
                again.
            by: who says so.
            result: what the key gives; otherwise a sentence with ``by`` and ``detail``.
            detail: how they know.

        Raises:
            LedgerError: no such operation, or it is not unknown.
        """
        return self._operations.resolve(name, outcome, by=by, result=result, detail=detail)

    def undo(
        self,
        name: str,
        tools: Iterable[Tool],
        *,
        context: Mapping[str, Any] | None = None,
        by: str = "",
        seconds: float | None = None,
    ) -> ToolResult:
        """Run the ``compensate`` handler of a finished operation's tool, once.

        It is recorded like any operation: started before it runs, unknown after a crash, and a
        second undo gives the first one's result.

        Args:
            name: the operation's id or key.
            tools: among them the one that ran.
            context: values of injected parameters that the handler takes.
            by: who wants it undone.
            seconds: deadline of the handler; ``None`` for none.

        Raises:
            LedgerError: no such operation, it has not finished well, its tool is not among these or
                cannot undo, or an earlier undo is in progress or unknown.
        """
        from fallback.ledger.undo import undo

        return undo(self._operations, name, tools, context=context or {}, by=by, seconds=seconds)

    def get(self, name: str) -> Stored | None:
        """The operation with this id or key."""
        return self._operations.get(name)

    def list(self, state: State | None = None, *, limit: int = 100) -> tuple[Stored, ...]:
        """Operations, the newest first; started ones whose holder has gone count as unknown."""
        return self._operations.listed(state, limit)

    def record(self, entry: Entry) -> Anchor:
        """Add an entry to the audit log; gives its place and hash.

        Raises:
            ConfigurationError: an event that the ledger itself writes when it happens.
        """
        if entry.event not in OTHERS_EVENTS:
            raise ConfigurationError(
                f"the event {entry.event!r} is not recorded by hand; use one of"
                f" {', '.join(sorted(OTHERS_EVENTS))}"
            )
        with self._database.writing() as tx:
            return audit.append(tx, entry, at=self._clock(), mask=self._mask)

    def entries(self, *, after: int = 0) -> Iterator[Audited]:
        """The entries of the audit log behind number ``after``, in order, up to today's last."""
        with self._database.reading() as tx:
            last = audit.last_number(tx)
        while after < last:
            with self._database.reading() as tx:
                found = audit.entries(tx, after=after, until=last)
            if not found:
                return
            yield from found
            after = found[-1].seq

    def head(self) -> Anchor:
        """The last entry. Kept elsewhere, it lets :meth:`verify` see a log that was made anew."""
        with self._database.reading() as tx:
            return audit.head(tx)

    def verify(self, anchor: Anchor | None = None) -> audit.Fault | None:
        """The first place where the ledger is not what was written; ``None`` if it is.

        Finds every edit, deletion, insertion and reordering in the audit log by somebody who did
        not compute the hashes anew; with an anchor, also that, up to the anchor. The states of
        operations and approvals are compared with what the log says of them.
        """
        with self._database.reading() as tx:
            return verify(tx, anchor)

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
