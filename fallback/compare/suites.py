"""Suites by name: ``builtin``, ``bfcl:CATEGORY``, or a JSONL file of the user's own."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from fallback.compare.bfcl import CATEGORIES, bfcl_cases
from fallback.compare.cases import Case, read_lines
from fallback.compare.faults import CaseError

__all__ = ["BUILTIN", "cases_of", "load_suite"]

BUILTIN = "builtin"


def load_suite(name: str) -> tuple[Case, ...]:
    """Read a suite.

    Args:
        name: ``builtin``, ``bfcl:CATEGORY``, ``bfcl`` for all categories, or a path.

    Raises:
        CaseError: there is no such suite, or it cannot be read; with the line's number.
    """
    if name == BUILTIN:
        path = Path(__file__).with_name("data") / "builtin.jsonl"
        return _file(path, BUILTIN)
    if name == "bfcl":
        return tuple(case for category in CATEGORIES for case in bfcl_cases(category))
    if name.startswith("bfcl:"):
        return tuple(bfcl_cases(name.removeprefix("bfcl:")))
    path = Path(name)
    named = path.suffix in (".jsonl", ".json", ".ndjson") or path.exists()
    if not name.strip() or not named:
        categories = ", ".join(f"bfcl:{category}" for category in CATEGORIES)
        raise CaseError(f"there is no suite {name!r}; there are builtin, {categories}, and files")
    return _file(path, path.stem)


def _file(path: Path, suite: str) -> tuple[Case, ...]:
    try:
        with path.open("rb") as file:
            return tuple(read_lines(suite, file, path.name))
    except OSError as error:
        raise CaseError(f"{path}: {error.strerror or error}") from error


def cases_of(names: Sequence[str], *, limit: int | None = None, seed: int = 0) -> tuple[Case, ...]:
    """The cases of all suites.

    Args:
        names: of the suites; ``builtin`` if there are none.
        limit: cases of each suite; of ``builtin`` as many kinds as possible. Which ones is drawn by
            ``seed``, so that a smaller limit takes a part of what a larger one takes.
        seed: of the draw.

    Raises:
        CaseError: as :func:`load_suite`; or two suites have the same name.
    """
    chosen: list[Case] = []
    for name in names or (BUILTIN,):
        loaded = load_suite(name)
        by_suite: dict[str, list[Case]] = {}
        for case in loaded:
            by_suite.setdefault(case.suite, []).append(case)
        taken = {case.suite for case in chosen}
        for suite, cases in by_suite.items():
            if suite in taken:
                raise CaseError(f"two suites are called {suite!r}; rename a file")
            chosen += cases if limit is None else _drawn(cases, limit, seed)
    return tuple(chosen)


def _drawn(cases: Iterable[Case], limit: int, seed: int) -> list[Case]:
    """As many as ``limit``, the kinds in turn; seed and ids alone decide the order."""
    kinds: dict[str, list[Case]] = {}
    for case in sorted(cases, key=lambda case: _rank(case, seed)):
        kinds.setdefault(case.kind, []).append(case)
    rounds: list[Case] = []
    queues = list(kinds.values())
    while any(queues) and len(rounds) < limit:
        rounds += [queue.pop(0) for queue in queues if queue]
    return rounds[:limit]


def _rank(case: Case, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}\0{case.suite}\0{case.id}".encode()).digest()
