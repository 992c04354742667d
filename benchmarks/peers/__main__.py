"""Run every peer on every set and write ``benchmarks/results/peers.md``.

    python -m benchmarks.peers [--cache FOLDER] [--out FILE] [--only NAME ...] [--misses]

Needs a network the first time. ``--misses`` prints each reply that ``fallback`` does not read
right, with the peers that do.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import sys
from collections import defaultdict
from pathlib import Path

from benchmarks.peers.environments import Unavailable, default_cache
from benchmarks.peers.judging import Case, Outcome, judged, scored
from benchmarks.peers.roster import OURS, PEERS, Peer, readings
from benchmarks.peers.sets import every_set
from benchmarks.peers.table import Row, document

RESULT = Path(__file__).parents[1] / "results" / "peers.md"
Outcomes = dict[tuple[str, str], Outcome]


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m benchmarks.peers")
    options.add_argument("--cache", type=Path, default=default_cache(), help="environments go here")
    options.add_argument("--out", type=Path, default=RESULT, help="the Markdown file")
    options.add_argument("--only", nargs="+", metavar="NAME", help="peers whose name begins so")
    options.add_argument("--misses", action="store_true", help="list what fallback misses")
    chosen = options.parse_args()
    cache = chosen.cache.resolve()
    try:
        sets = every_set(cache)
    except Unavailable as reason:
        print(f"the fixtures cannot be installed: {reason}", file=sys.stderr)
        return 1
    peers = [p for p in PEERS if p is OURS or _wanted(p, chosen.only)]
    rows, outcomes = [], {}
    for peer in peers:
        row, found = measured(peer, sets, cache)
        rows.append(row)
        outcomes[peer.name] = found
        print(peer.name, row.unavailable or dict(row.scores), file=sys.stderr)
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    machine = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    chosen.out.write_text(document(rows, date=date, machine=machine), "utf-8")
    if chosen.misses:
        report(sets, outcomes)
    return 0


def _wanted(peer: Peer, only: list[str] | None) -> bool:
    return only is None or any(peer.name.startswith(name) for name in only)


def measured(peer: Peer, sets: dict[str, list[Case]], cache: Path) -> tuple[Row, Outcomes]:
    """The peer's row, and the outcome for each reply by set and id."""
    outcomes: Outcomes = {}
    groups: dict[str, list[Outcome]] = defaultdict(list)
    try:
        for name, cases in sets.items():
            if peer.only and name not in peer.only:
                continue
            answers = readings(peer, (case.request() for case in cases), cache)
            for case in cases:
                outcome = judged(case, answers.get(case.id))
                outcomes[name, case.id] = outcome
                if name == "bench":
                    groups[case.group].append(outcome)
    except Unavailable as reason:
        return Row(peer=peer, scores={}, groups={}, unavailable=str(reason)), {}
    scores = {
        name: scored(outcomes[name, case.id] for case in cases)
        for name, cases in sets.items()
        if not peer.only or name in peer.only
    }
    return Row(peer=peer, scores=scores, groups={g: scored(o) for g, o in groups.items()}), outcomes


def report(sets: dict[str, list[Case]], outcomes: dict[str, Outcomes]) -> None:
    """Each reply that is not read right, with the peers that do read it right."""
    for name, cases in sets.items():
        for case in cases:
            ours = outcomes[OURS.name][name, case.id]
            if ours in ("right", "quiet"):
                continue
            others = [
                peer
                for peer, found in outcomes.items()
                if found.get((name, case.id)) in ("right", "quiet")
            ]
            print(f"{ours}\t{name}\t{case.id}\tright in: {', '.join(others) or 'none'}")
            print(f"    {case.text[:400]!r}\n    meant: {case.accepted[0]}")


if __name__ == "__main__":
    raise SystemExit(main())
