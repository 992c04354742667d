"""A profile that is written is read as it was; anything else is one line, and never a crash."""

from __future__ import annotations

import datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from profile_kit import profile_of

from fallback.profiles import Evidence, Profile, ProfileError, Versions, WayEvidence, to_toml
from fallback.profiles.reading import from_toml

printable = st.text(max_size=60).filter(str.isprintable)
named = printable.filter(bool)
counts = st.integers(0, 10_000_000)
shares = st.floats(0, 1)
ways = st.builds(
    WayEvidence, name=printable, n=counts, rate=shares, low=shares, high=shares, sentence=printable
)
dates = st.datetimes(min_value=datetime.datetime(1970, 1, 1), timezones=st.just(datetime.UTC))


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    chosen, *others = draw(st.lists(ways, min_size=1, max_size=4))
    native = draw(st.booleans())
    prompt: dict[str, Any] = {
        "mode": "prompt",
        "dialect": draw(st.sampled_from(["fenced", "pythonic"])),
        "endpoint": draw(st.sampled_from(["generate", "chat"])),
        "example": draw(st.booleans()),
    }
    return Profile(
        **({"mode": "native", "read_text": draw(st.booleans())} if native else prompt),
        model=draw(named),
        digest=draw(named),
        measured=draw(dates),
        way=chosen.name,
        think=draw(st.none() | st.booleans() | printable),
        num_ctx=draw(st.none() | st.integers(1, 10_000_000)),
        versions=draw(st.builds(Versions, fallback=named, templates=named, server=printable)),
        evidence=Evidence(
            suites=tuple(draw(st.lists(printable, max_size=3))),
            seed=draw(counts),
            cases=draw(counts),
            turns=draw(counts),
            ended=draw(st.sampled_from(["distinguishable", "budget", "cases"])),
            sentence=draw(printable),
            ways=(chosen, *others),
        ),
    )


@given(profiles())
def test_what_is_written_is_read_as_it_was(profile: Profile) -> None:
    assert from_toml(to_toml(profile)) == profile


def one_line(text: str) -> None:
    try:
        from_toml(text)
    except ProfileError as error:
        assert len(str(error)) < 500  # noqa: PT017  # whether it is raised is not the question


@given(st.text())
def test_any_text_is_a_profile_or_one_line(text: str) -> None:
    one_line(text)


@given(st.data())
def test_a_damaged_profile_is_one_line(data: st.DataObject) -> None:
    text = to_toml(profile_of())
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 40)))
    odd = st.sampled_from(["", "[", "nan", "1e999", '"', "[[[[", "\x00", "= 1", "true", "-1"])
    one_line(text[:start] + data.draw(odd) + text[end:])
