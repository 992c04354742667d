"""``fallback run --decide``, with and without a margin."""

from __future__ import annotations

import pytest

from fallback import Decide
from fallback.cli import main, run
from fallback.cli.exits import ExitCode
from fallback.cli.run import RunOptions


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[RunOptions]:
    seen: list[RunOptions] = []
    monkeypatch.setattr(run, "run_question", lambda options: seen.append(options) or ExitCode.OK)
    return seen


@pytest.mark.parametrize(
    ("options", "decide"),
    [
        ([], None),
        (["--decide"], Decide()),
        (["--decide=4"], Decide(margin=4.0)),
        (["--decide=-0.5"], Decide(margin=-0.5)),
    ],
)
def test_a_margin_may_be_joined_to_the_option(
    options: list[str], decide: Decide | None, asked: list[RunOptions]
) -> None:
    assert main(["run", *options, "What time is it?"]) == 0
    assert [(given.question, given.decide) for given in asked] == [("What time is it?", decide)]


def test_what_stands_behind_two_dashes_is_no_option(asked: list[RunOptions]) -> None:
    assert main(["run", "--", "--decide=4"]) == 0
    assert [(given.question, given.decide) for given in asked] == [("--decide=4", None)]


@pytest.mark.parametrize("margin", ["", "x", "nan", "1,5"])
def test_a_margin_that_is_no_number_is_one_line(
    margin: str, asked: list[RunOptions], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", f"--decide={margin}", "What time is it?"]) == ExitCode.USAGE
    told = capsys.readouterr().err.strip()
    assert told == f"fallback: --decide={margin}: the margin is a number, such as 2 or -0.5"
    assert asked == []
