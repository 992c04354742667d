"""A profile as TOML, for :mod:`fallback.profiles.reading` and for people."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Mapping
from typing import Any

from fallback.profiles.reading import FORMAT
from fallback.profiles.record import Profile, WayEvidence

__all__ = ["to_toml"]

_HEAD = """\
# The way of calling tools that was measured to be best for this model; mode `auto` goes by it.
# Written by `fallback calibrate`. `fallback doctor` says whether it still holds.
"""


def to_toml(profile: Profile) -> str:
    """The text of a file; reading it gives an equal profile."""
    evidence, versions = profile.evidence, profile.versions
    top = {
        "version": FORMAT,
        "model": profile.model,
        "digest": profile.digest,
        "measured": profile.measured,
    }
    seen = {
        "suites": evidence.suites,
        "seed": evidence.seed,
        "cases": evidence.cases,
        "turns": evidence.turns,
        "ended": evidence.ended,
        "sentence": evidence.sentence,
    }
    made = {
        "fallback": versions.fallback,
        "templates": versions.templates,
        "server": versions.server,
    }
    parts = [_HEAD + _lines(top), f"[way]\n{_lines(_way(profile))}"]
    parts += [f"[versions]\n{_lines(made)}", f"[evidence]\n{_lines(seen)}"]
    parts += [f"[[evidence.ways]]\n{_lines(_seen(way))}" for way in evidence.ways]
    return "\n".join(parts)


def _way(profile: Profile) -> Iterator[tuple[str, Any]]:
    yield "name", profile.way
    yield "mode", profile.mode
    if profile.mode == "prompt":
        yield "dialect", profile.dialect
        yield "endpoint", profile.endpoint
        yield "example", profile.example
        if profile.decide is not None:
            yield "decide", profile.decide
    else:
        yield "read_text", profile.read_text
    if profile.think is not None:
        yield "think", profile.think
    if profile.num_ctx is not None:
        yield "num_ctx", profile.num_ctx


def _seen(way: WayEvidence) -> Iterator[tuple[str, Any]]:
    yield "name", way.name
    yield "n", way.n
    yield "rate", way.rate
    yield "low", way.low
    yield "high", way.high
    if way.sentence:
        yield "sentence", way.sentence


def _lines(fields: Mapping[str, Any] | Iterator[tuple[str, Any]]) -> str:
    pairs = fields.items() if isinstance(fields, Mapping) else fields
    return "".join(f"{name} = {_value(value)}\n" for name, value in pairs)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, str):
        # The escapes of JSON are escapes of TOML, which also wants this control character escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
