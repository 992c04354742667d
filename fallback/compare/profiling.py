"""The profile that a calibration leads to, and what it says of its evidence."""

from __future__ import annotations

import datetime
from dataclasses import replace

from fallback.compare.calibrating import Calibration, Probing, Tuned
from fallback.compare.intervals import mean, wilson
from fallback.loop import Decide
from fallback.profiles import Evidence, Profile, Versions, WayEvidence, templates_hash

__all__ = ["profile_of"]

_NAMED = 4
"""Ways that a sentence names; of more it gives the number."""


def profile_of(
    calibration: Calibration,
    probing: Probing,
    *,
    server: str,
    measured: datetime.datetime,
    version: str,
) -> Profile:
    """The profile that a calibration leads to.

    Args:
        calibration: what was found.
        probing: what was asked.
        server: its version, for the record.
        measured: now, with a time zone.
        version: of this package.
    """
    found, tuned, way = calibration.found, calibration.tuned, calibration.way
    told = {pair.second: pair.sentence for pair in found.pairs}
    tried = found.ways
    if tuned is not None:
        told[found.ways[0]], tried = tuned.pair.sentence, (way.name, *found.ways)
    profile = Profile(
        model=probing.model,
        digest=probing.info.digest,
        measured=measured,
        way=way.name,
        mode=way.mode,
        dialect=way.dialect,
        endpoint=way.endpoint,
        example=way.example,
        read_text=way.kind != "native",
        think=probing.sampling.think,
        num_ctx=probing.sampling.num_ctx,
        decide=way.decide.margin if way.decide else None,
        versions=Versions(fallback=version, templates="", server=server),
        evidence=Evidence(
            suites=tuple(dict.fromkeys(case.suite for case in probing.cases)),
            seed=probing.sampling.seed,
            cases=calibration.cases,
            turns=calibration.turns,
            ended=found.ended,
            sentence=(_margin_sentence(tuned) if tuned else "") + _sentence(calibration),
            ways=tuple(_seen(name, calibration, told.get(name, "")) for name in tried),
        ),
    )
    current = templates_hash(profile.record, probing.info.family or "")
    return replace(profile, versions=replace(profile.versions, templates=current))


def _seen(name: str, calibration: Calibration, sentence: str) -> WayEvidence:
    values = list(calibration.values[name].values())
    share = wilson(sum(values), len(values))
    return WayEvidence(
        name=name,
        n=share.n,
        rate=round(share.value, 4),
        low=round(share.low, 4),
        high=round(share.high, 4),
        sentence=sentence,
    )


def _sentence(calibration: Calibration) -> str:
    """What can be said of the best way, and no more than that."""
    found = calibration.found
    best = found.ways[0]
    values = list(calibration.values[best].values())
    right = f"wholly right in {mean(values):.0%} of {len(values)} cases"
    if not found.pairs:
        return f"{best} is the only way that was tried, {right}"
    alike = [pair.second for pair in found.pairs if pair.verdict != "better"]
    if not alike:
        return f"{best} is better than every other way that was tried, {right}"
    others = ", ".join(alike) if len(alike) <= _NAMED else f"{len(alike)} other ways"
    so_far = f"{best} did best, {right}, and is not distinguishable from {others} at this n"
    worse = len(found.pairs) - len(alike)
    return f"{so_far}; it is better than {worse} more" if worse else so_far


def _margin_sentence(tuned: Tuned) -> str:
    """What a margin was found on, and what came of it elsewhere; what follows is of the others."""
    margin = tuned.margin
    return (
        f"{tuned.way.name} has a margin that was found on {margin.found_on} of the cases; of the"
        f" other {margin.judged_on} it decides {margin.good} well, and the usual margin"
        f" ({Decide().margin:g}) {margin.usual}. {tuned.pair.sentence}. Of the ways as they are, "
    )
