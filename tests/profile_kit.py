"""For the tests of profiles: one that is whole, and holds for a model unless it is told not to."""

from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fallback.backend import ModelInfo
from fallback.profiles import Evidence, Profile, Versions, WayEvidence, save, templates_hash
from fallback.profiles.places import file_name

INFO = ModelInfo(name="m", digest="d1", family="chatml", capabilities=frozenset({"completion"}))


def profile_of(info: ModelInfo = INFO, **given: Any) -> Profile:
    """A profile that says ``prompt:pythonic``, or what is given."""
    way = given.get("way", "prompt:pythonic")
    seen = WayEvidence(name=way, n=16, rate=0.75, low=0.5, high=0.9)
    other = WayEvidence(
        name="native+read", n=16, rate=0.5, low=0.28, high=0.72, sentence="is worse here"
    )
    fields: dict[str, Any] = {
        "model": info.name,
        "digest": info.digest,
        "measured": datetime.datetime(2026, 11, 30, 12, tzinfo=datetime.UTC),
        "way": way,
        "mode": "prompt",
        "dialect": "pythonic",
        "versions": Versions(fallback="0.1.0", templates="", server="0.33.0"),
        "evidence": Evidence(
            suites=("builtin",),
            seed=0,
            cases=16,
            turns=32,
            ended="distinguishable",
            sentence=f"{way} is better than native+read",
            ways=(seen, other),
        ),
    }
    made = Profile(**(fields | given))
    if made.versions.templates:
        return made
    current = templates_hash(made.record, info.family or "")
    return replace(made, versions=replace(made.versions, templates=current))


@pytest.fixture
def profile_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where profiles are looked for: a folder of the test's own."""
    monkeypatch.setenv("FALLBACK_PROFILE_DIR", str(tmp_path))
    return tmp_path


def measured(folder: Path, **given: Any) -> Path:
    """Keep a profile of the scripted model ``m`` in a folder."""
    path = folder / file_name("m", "scripted")
    save(profile_of(ModelInfo(name="m", digest="scripted"), **given), path)
    return path
