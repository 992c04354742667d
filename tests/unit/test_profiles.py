from __future__ import annotations

import math
import os
from dataclasses import replace
from pathlib import Path

import pytest
from profile_kit import INFO, profile_of

from fallback.profiles import (
    Profile,
    ProfileError,
    Profiles,
    profile_dir,
    read_profile,
    save,
    to_toml,
)
from fallback.profiles.places import candidates, file_name


def kept(folder: Path, profile: Profile | None = None) -> Path:
    profile = profile or profile_of()
    path = folder / file_name(profile.model, profile.digest)
    save(profile, path)
    return path


def test_a_fresh_profile_is_found_and_says_how_to_ask(tmp_path: Path) -> None:
    path = kept(tmp_path)
    found = Profiles(folders=[tmp_path]).find(INFO)
    assert found is not None
    assert (found.path, found.trouble) == (path, "")
    advice = Profiles(folders=[tmp_path]).advice(INFO)
    assert advice is not None
    assert advice.dialect is not None
    assert (advice.mode, advice.dialect.name, advice.endpoint) == ("prompt", "pythonic", "generate")
    assert advice.why == "measured 2026-11-30: prompt:pythonic was wholly right in 75% of 16 cases"


def test_a_native_profile_says_whether_text_is_read_and_nothing_of_prompts(tmp_path: Path) -> None:
    kept(tmp_path, profile_of(way="native", mode="native", dialect="", read_text=False))
    advice = Profiles(folders=[tmp_path]).advice(INFO)
    assert advice is not None
    assert (advice.mode, advice.read_text) == ("native", False)
    assert (advice.dialect, advice.endpoint) == (None, None)


def test_the_margin_of_a_decision_is_kept(tmp_path: Path) -> None:
    path = tmp_path / file_name("m", "d1")
    save(profile_of(way="decide", decide=-2.0), path)
    with pytest.raises(ProfileError, match=r"way.decide is -inf, but should be a finite number"):
        save(profile_of(way="decide", decide=-math.inf), tmp_path / "other.toml")
    found = Profiles(folders=[tmp_path]).advice(INFO)
    assert found is not None
    assert found.decide == -2.0


def test_the_worked_example_is_part_of_the_dialect(tmp_path: Path) -> None:
    kept(tmp_path, profile_of(example=False))
    advice = Profiles(folders=[tmp_path]).advice(INFO)
    assert advice is not None
    assert advice.dialect is not None
    assert not advice.dialect.example


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"digest": "another"}, "the model is another one now (d1, measured was another)"),
        ({"versions": replace(profile_of().versions, templates="0" * 32)}, "templates have"),
        ({"example": False}, "templates have changed since it was measured"),
    ],
)
def test_a_stale_profile_is_warned_of_once_and_not_used(
    tmp_path: Path, changed: dict[str, str], complaint: str
) -> None:
    said: list[str] = []
    profiles = Profiles(folders=[tmp_path], warn=said.append)
    whole = profile_of()
    kept(tmp_path, replace(whole, **changed))  # type: ignore[arg-type]  # each of its own type
    assert profiles.advice(INFO) is None
    assert profiles.advice(INFO) is None
    (line,) = said
    assert complaint in line
    assert line.endswith("measure again with: fallback calibrate m")


def test_another_chat_format_makes_a_profile_stale(tmp_path: Path) -> None:
    kept(tmp_path)
    found = Profiles(folders=[tmp_path]).find(replace(INFO, family="llama3"))
    assert found is not None
    assert "templates" in found.trouble


def test_a_fresh_profile_goes_before_a_stale_one_and_the_first_folder_before_the_second(
    tmp_path: Path,
) -> None:
    own, shipped = tmp_path / "own", tmp_path / "shipped"
    kept(own, replace(profile_of(), digest="old"))
    path = kept(shipped)
    profiles = Profiles(folders=[own, shipped])
    found = profiles.find(INFO)
    assert found is not None
    assert (found.path, found.trouble) == (path, "")
    mine = kept(own)
    found = profiles.find(INFO)
    assert found is not None
    assert found.path == mine


def test_a_copy_under_another_name_has_the_same_profile(tmp_path: Path) -> None:
    kept(tmp_path)
    profiles = Profiles(folders=[tmp_path])
    assert profiles.advice(replace(INFO, name="copied:1b")) is not None
    assert profiles.advice(replace(INFO, name="m:latest")) is not None
    assert profiles.advice(replace(INFO, name="other", digest="d2")) is None


def test_a_model_without_a_digest_has_no_profile(tmp_path: Path) -> None:
    kept(tmp_path)
    assert Profiles(folders=[tmp_path]).find(replace(INFO, digest="")) is None


def test_names_of_models_make_no_paths(tmp_path: Path) -> None:
    for name in ("../../etc/passwd", "hf.co/a/b:Q4", "a\\b", "c:d"):
        file = file_name(name, "../x")
        assert Path(file).name == file
        path = tmp_path / file
        path.touch()
        assert path in candidates(tmp_path, name, "")


def test_off_and_a_named_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FALLBACK_PROFILE_DIR", str(tmp_path))
    assert profile_dir() == tmp_path
    kept(tmp_path)
    elsewhere = tmp_path / "elsewhere.toml"
    save(profile_of(dialect="fenced", way="prompt:fenced"), elsewhere)
    assert Profiles.of("off").advice(INFO) is None
    auto, named = Profiles.of("auto").advice(INFO), Profiles.of(elsewhere).advice(INFO)
    assert auto is not None
    assert auto.dialect is not None
    assert auto.dialect.name == "pythonic"
    assert named is not None
    assert named.dialect is not None
    assert named.dialect.name == "fenced"
    found = Profiles.of(elsewhere).find(replace(INFO, name="other", digest="d2"))
    assert found is not None
    assert found.trouble == "it is about m"


def test_a_named_file_has_to_be_a_profile(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="there is no such file"):
        Profiles.of(tmp_path / "none.toml")
    with pytest.raises(ProfileError, match="there is no such file"):
        Profiles.of(str(tmp_path))


WHOLE = to_toml(profile_of())


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("version = 1\nmodel = ", "no TOML"),
        ("a = " + "[" * 100_000, "no TOML"),
        ("", "version is None; this fallback reads 1"),
        (WHOLE.replace("version = 1", "version = 2"), "version is 2"),
        (WHOLE.replace("version = 1", "version = true"), "version is True"),
        (WHOLE.replace('model = "m"\n', ""), "model is missing"),
        (WHOLE.replace('"pythonic"', '"perl"'), "way.dialect is 'perl'; there are fenced"),
        (WHOLE.replace('"generate"', '"v1"'), "way.endpoint is 'v1', but should be generate or"),
        (WHOLE.replace("example = true", "exampel = true"), "there is no field 'way.exampel'"),
        (WHOLE.replace("example = true", "example = 1"), "way.example is 1, but should be true"),
        (WHOLE.replace("seed = 0", "seed = -1"), "evidence.seed is out of range"),
        (WHOLE.replace("seed = 0", "seed = false"), "should be a whole number"),
        (WHOLE.replace("low = 0.5", "low = nan"), "evidence.ways[1].low should be between 0 and"),
        (WHOLE.replace("12:00:00+00:00", "12:00:00"), "measured needs a time zone"),
        (WHOLE.replace("2026-11-30T12:00:00+00:00", "3"), "measured is 3, but should be a date"),
        (WHOLE.replace('name = "prompt:pythonic"', 'name = "x"', 1), "evidence.ways has to begin"),
        (WHOLE.replace("0.33.0", "\\u001b[31m"), "versions.server is too long, or holds control"),
        (WHOLE.replace("0.33.0", "x" * 5000), "versions.server is too long"),
        (WHOLE.replace('["builtin"]', "[1]"), "evidence.suites should be a list of texts"),
        (WHOLE.replace("[way]", "[[way]]"), "way is"),
        (WHOLE.replace("mode =", "num_ctx = 0\nmode ="), "num_ctx has to be at least 1"),
        (WHOLE.replace("mode =", "decide = true\nmode ="), "way.decide is True, but should be"),
        (WHOLE.replace("mode =", "decide = -inf\nmode ="), "way.decide is -inf, but should be a"),
        (
            WHOLE.replace("mode =", "decide = 1\nmode =").replace('"pythonic"', '"inline"'),
            "way.decide goes with prompt mode",
        ),
        (WHOLE + "x = '" + "y" * 300_000 + "'", "more than 262,144 bytes"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_line_and_auto_goes_without_it(
    tmp_path: Path, text: str, complaint: str
) -> None:
    path = tmp_path / file_name("m", "d1")
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ProfileError) as raised:
        read_profile(path)
    assert str(raised.value).startswith(f"{path}: ")
    assert complaint in str(raised.value)
    said: list[str] = []
    assert Profiles(folders=[tmp_path], warn=said.append).advice(INFO) is None
    assert len(said) == 1
    assert complaint in said[0]


def test_a_file_that_is_not_text_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "m-d1.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ProfileError, match="not UTF-8"):
        read_profile(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "m-d1.toml")
    with pytest.raises(ProfileError, match="no such file"):
        read_profile(tmp_path / "m-d1.toml")


def test_a_profile_appears_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = kept(tmp_path)
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(ProfileError, match="No space left on device"):
        save(replace(profile_of(), think=True), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_is_written_that_could_not_be_read(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="model and digest"):
        save(replace(profile_of(), digest=""), tmp_path / "x.toml")
    assert not list(tmp_path.iterdir())
