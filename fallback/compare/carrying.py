"""Turns of ``decide`` that another margin decides alike: they need not be done again.

A margin decides once in a turn, before the reply to the question, and the record says what spoke
for a call. Where two margins decide the same, everything that follows is the same at temperature 0,
so the record of one is the record of the other, under another key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from fallback.backend import ModelInfo
from fallback.compare.margins import decided_alike
from fallback.compare.store import Store, read_records
from fallback.compare.units import Unit, key_of
from fallback.ways import DECIDE, ways_of

__all__ = ["carry_over"]

Record = dict[str, Any]


def carry_over(units: Iterable[Unit], infos: Mapping[str, ModelInfo], store: Store) -> None:
    """Keep records for those units that a record with another margin says all of.

    The new ones say in ``carried`` which way they are from.

    Raises:
        StoreError: a record could not be kept.
    """
    missing = [
        (unit, key)
        for unit in units
        if unit.way.kind == DECIDE.kind
        and unit.sampling.temperature == 0
        and (key := key_of(unit, infos[unit.model])) not in store.keys
    ]
    known = _decided(read_records(store.folder)) if missing else {}
    for unit, key in missing:
        for record in known.get((unit.model, unit.case.digest, unit.repeat), ()):
            if _says_all_of(record, unit, infos[unit.model]):
                store.add({**record, "key": key, "way": unit.way.name, "carried": record["way"]})
                break


def _decided(records: Iterator[Record]) -> dict[tuple[str, str, int], list[Record]]:
    """The records of the way, by what they have to have in common with a unit."""
    found: dict[tuple[str, str, int], list[Record]] = {}
    for record in records:
        if record["way"].partition(":")[0] == DECIDE.kind and "carried" not in record:
            place = record["model"], record["case_digest"], record["repeat"]
            found.setdefault(place, []).append(record)
    return found


def _says_all_of(record: Record, unit: Unit, info: ModelInfo) -> bool:
    """Whether only the margins differ, and decide the same."""
    (way,) = ways_of([record["way"]])
    ours, theirs = unit.way.decide, way.decide
    if ours is None or theirs is None:
        return False
    same = key_of(replace(unit, way=way), info) == record["key"]
    return same and decided_alike(record, theirs.margin, ours.margin)
