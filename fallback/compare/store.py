"""The folder of results: one JSON line for each finished unit, only ever added to.

``results.jsonl`` holds the records, ``cases.jsonl`` the cases they belong to (by digest) and
``runs.jsonl`` the commands, so that a report needs nothing but the folder. A line counts once it is
whole; a run that was broken off in the middle of one leaves a torn line, which the next run
removes. One process at a time writes: the lock is the system's and ends with its holder.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import IO, Any

from fallback.compare.cases import Case, read_case
from fallback.compare.faults import StoreError
from fallback.compare.shape import CASE, RECORD, RUN, Shape, wrong
from fallback.engine.lock import file_lock
from fallback.errors import FallbackError

__all__ = [
    "RECORD_VERSION",
    "Store",
    "open_store",
    "passed_over",
    "read_cases",
    "read_records",
    "read_runs",
]

RECORD_VERSION = 2
"""Changes when a record means something else than before; older ones are passed over."""

RESULTS, CASES, RUNS, LOCK = "results.jsonl", "cases.jsonl", "runs.jsonl", ".lock"


@contextmanager
def open_store(folder: Path) -> Iterator[Store]:
    """Open a folder to add results; it is made if it is not there.

    Raises:
        StoreError: another run writes to it, or it cannot be written to.
    """

    def refuse() -> None:
        raise StoreError(
            f"another run is writing to {folder}; wait for its end, or choose another --out"
        )

    with ExitStack() as opened:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            opened.enter_context(file_lock(folder / LOCK, on_wait=refuse))
            store = opened.enter_context(closing(Store(folder)))
        except OSError as error:
            raise StoreError(f"{error.filename or folder}: {error.strerror or error}") from error
        yield store


class Store:
    """The results of a folder; see :func:`open_store`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.keys = {record["key"] for record in read_records(folder)}
        self._known = {line["digest"] for _, line in _case_lines(folder)}
        with ExitStack() as opened:
            self._results, self._cases, self._runs = (
                opened.enter_context(closing(_Lines(folder / name)))
                for name in (RESULTS, CASES, RUNS)
            )
            self._opened = opened.pop_all()

    def __len__(self) -> int:
        return len(self.keys)

    def add_cases(self, cases: Iterable[Case]) -> None:
        """Keep the cases that results will belong to."""
        for case in cases:
            if case.digest not in self._known:
                line = {"digest": case.digest, "suite": case.suite, "case": case.source}
                self._cases.add(line)
                self._known.add(case.digest)

    def add_run(self, run: Mapping[str, Any]) -> None:
        """Keep how a run was started: ``at``, ``command`` and ``where``."""
        self._runs.add(run)

    def add(self, record: Mapping[str, Any]) -> None:
        """Keep a record. When this returns, it is in the file.

        Raises:
            StoreError: it could not be written; what was there before still is.
        """
        self._results.add(record)
        self.keys.add(record["key"])

    def close(self) -> None:
        """Close the files."""
        self._opened.close()


class _Lines:
    """A file of lines that is only added to, a whole line at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] = path.open("a+b", buffering=0)
        self._size = _whole_size(self._file)
        self._file.truncate(self._size)

    def add(self, value: Mapping[str, Any]) -> None:
        line = _encoded(value)
        try:
            written = 0
            while written < len(line):
                written += self._file.write(line[written:]) or 0
        except OSError as error:
            self._file.truncate(self._size)
            raise StoreError(
                f"{self._path}: {error.strerror or error}; everything finished before is kept:"
                " make room and run the same command again"
            ) from error
        self._size += len(line)

    def close(self) -> None:
        self._file.close()


def _whole_size(file: IO[bytes]) -> int:
    """Bytes up to the end of the last whole line."""
    position = file.seek(0, 2)
    while position > 0:
        step = min(1 << 16, position)
        position -= step
        file.seek(position)
        found = file.read(step).rfind(b"\n")
        if found >= 0:
            return position + found + 1
    return 0


def _encoded(value: Mapping[str, Any]) -> bytes:
    """One line; lone surrogates, which a model can write, have no UTF-8 form and are escaped."""
    try:
        return json.dumps(value, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(value).encode() + b"\n"


def read_records(folder: Path) -> Iterator[dict[str, Any]]:
    """The records of a folder, the first of each key; nothing is locked.

    Records of another version are passed over, see :func:`passed_over`: whoever wants them runs
    them again.

    Raises:
        StoreError: a line is no record.
    """
    seen: set[str] = set()
    for number, record in _read(folder / RESULTS):
        if _is_of_another_version(record):
            continue
        _check(folder / RESULTS, number, record, RECORD)
        if record["key"] not in seen:
            seen.add(record["key"])
            yield record


def passed_over(folder: Path) -> int:
    """How many records of a folder are of another version, so that nobody reads them."""
    return sum(_is_of_another_version(record) for _, record in _read(folder / RESULTS))


def _is_of_another_version(record: dict[str, Any]) -> bool:
    return type(record.get("v")) is int and record["v"] != RECORD_VERSION


def read_cases(folder: Path) -> dict[str, dict[str, Any]]:
    """The cases of a folder by digest: ``{"suite", "case"}``.

    Raises:
        StoreError: a line is no case.
    """
    found = {}
    for number, line in _case_lines(folder):
        try:
            read_case(line["suite"], line["case"])
        except FallbackError as error:
            raise _damaged(folder / CASES, number, str(error)) from error
        found[line["digest"]] = line
    return found


def _case_lines(folder: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in _read(folder / CASES):
        _check(folder / CASES, number, line, CASE)
        yield number, line


def read_runs(folder: Path) -> Iterator[dict[str, Any]]:
    """How the results of a folder were made, run by run.

    Raises:
        StoreError: a line is no run.
    """
    for number, run in _read(folder / RUNS):
        _check(folder / RUNS, number, run, RUN)
        yield run


def _read(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file's lines, each with the number of its line."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error
    with file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return  # torn: its run was broken off, or is writing it now
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise _damaged(path, number, f"no JSON: {error}") from error
            if not isinstance(value, dict):
                raise _damaged(path, number, "it is no object")
            yield number, value


def _check(path: Path, number: int, value: dict[str, Any], shape: Shape) -> None:
    if fault := wrong(value, shape):
        raise _damaged(path, number, fault)


def _damaged(path: Path, number: int, fault: str) -> StoreError:
    return StoreError(
        f"{path}, line {number}: this is no line of results: {fault}; remove the line, and"
        " `fallback compare` makes it anew"
    )
