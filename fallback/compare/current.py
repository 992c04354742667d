"""Which records of a folder are compared: those that were made under the same conditions.

A folder is only ever added to. A model that was pulled anew, other options, an edited case or a
template that has changed make new records beside the old ones, and both together would be an
average of nothing. Of each model those count that were made as its last one was, of each case the
version that was asked last, and of turns that were done again the last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["current"]

Record = Mapping[str, Any]


def current(records: Sequence[Record]) -> list[Record]:
    """The records that belong together, in their order.

    Args:
        records: of one folder, the oldest first.
    """
    made = {record["model"]: _conditions(record) for record in records}
    asked = {_case(record): record["case_digest"] for record in records}
    last: dict[tuple[Any, ...], Record] = {}
    for record in records:
        same = made[record["model"]] == _conditions(record)
        if same and asked[_case(record)] == record["case_digest"]:
            last[record["model"], record["way"], *_case(record), record["repeat"]] = record
    kept = {id(record) for record in last.values()}
    return [record for record in records if id(record) in kept]


def _conditions(record: Record) -> tuple[Any, ...]:
    """What a comparison takes for granted; each repeat has a seed of its own, and is none."""
    options = record["options"]
    seed = options["seed"] - record["repeat"]
    sampling = (options["temperature"], seed, options["num_predict"])
    return record["digest"], record["version"], *sampling


def _case(record: Record) -> tuple[str, str]:
    return record["suite"], record["case"]
