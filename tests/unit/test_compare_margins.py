"""The margin of ``decide`` for one model, and what another margin need not ask again."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import pytest
from compare_kit import WEATHER, written
from compare_server import Server
from hypothesis import given
from hypothesis import strategies as st

from fallback.cli import main
from fallback.compare.margins import Decision, best_margin, decided_alike, margin_for, tuning
from fallback.compare.store import read_records
from fallback.loop import Decide

QUESTIONS = 32
FENCE = "```tool_call\n"
BEGUN = FENCE + '{"name": "'
CALL = '{"name": "get_weather", "arguments": {"city": "Oslo"}}'


def lead(number: int) -> float:
    """What speaks for a call in a question: even ones need it, and it is clear in each."""
    return 2.0 + number / 100 if number % 2 == 0 else -1.0 - number / 100


def likeliest(prompt: str) -> Mapping[str, float]:
    """A model that begins calls too readily: for -1 the usual margin would call."""
    if prompt.endswith(BEGUN):
        return {"get": -0.1, "none": -3.0}  # whatever is asked
    if prompt.endswith("\n```tool_call"):
        return {"\n": 0.0}
    if prompt.endswith("}\n"):  # behind a call
        return {"```": -0.01, '{"': -5.0}
    found = re.search(r"Question (\d+)\?", prompt)
    odds = lead(int(found[1])) if found else 0.0
    return {"```": -math.log1p(math.exp(-odds)), "I": -0.5}


def reply(prompt: str) -> str:
    """Left alone it calls whatever is asked."""
    if "get_weather" not in prompt:
        return "Hello."
    return CALL if prompt.endswith(FENCE) else f"{FENCE}{CALL}\n```"


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server(reply, likeliest=likeliest)
    yield made
    made.close()


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    call = {"name": "get_weather", "arguments": {"city": "Oslo"}}
    lines = [
        {"id": f"c{n}", "question": f"Question {n}?", "tools": [WEATHER]}
        | {"calls": [] if n % 2 else [call]}
        for n in range(QUESTIONS)
    ]
    return written(tmp_path / "mine.jsonl", *lines)


def calibrate(suite: Path, server: Server, *more: str) -> int:
    folder = suite.parent
    return main(
        [
            *("calibrate", "m", "--host", server.url, "--suite", str(suite)),
            *("--way", "decide", "--way", "prompt:fenced"),
            *("--out", str(folder / "m.toml"), "--results", str(folder / "results"), *more),
        ]
    )


def ways(folder: Path) -> dict[str, int]:
    found: dict[str, int] = {}
    for record in read_records(folder / "results"):
        found[record["way"]] = found.get(record["way"], 0) + 1
    return found


def test_a_calibration_finds_the_models_own_margin_and_judges_it_on_other_cases(
    tmp_path: Path, suite: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    assert calibrate(suite, server) == 0
    profile = tomllib.loads((tmp_path / "m.toml").read_text("utf-8"))
    margin = profile["way"]["decide"]
    assert max(map(lead, range(1, QUESTIONS, 2))) < margin < min(map(lead, range(0, QUESTIONS, 2)))
    assert profile["way"]["name"] == f"decide:{margin:g}"
    first, *others = profile["evidence"]["ways"]
    rest = [n for n in range(QUESTIONS) if not tuning("mine", f"c{n}")]
    assert (first["name"], first["n"], first["rate"]) == (f"decide:{margin:g}", len(rest), 1.0)
    told = others[0]["name"]
    assert {way["name"] for way in others} == {"decide", "prompt:fenced"}
    assert others[0]["sentence"].startswith(f"decide:{margin:g} is better than {told} (100% again")
    sentence = profile["evidence"]["sentence"]
    assert sentence.startswith(f"decide:{margin:g} has a margin that was found on ")
    assert f"of the other {len(rest)} it decides {len(rest)} well" in sentence
    asked = [r for r in read_records(tmp_path / "results") if "carried" not in r]
    assert profile["evidence"]["turns"] == len(asked)
    assert f"decide:{margin:g}" in capsys.readouterr().out


def test_only_what_the_margins_decide_otherwise_is_asked_again(
    tmp_path: Path, suite: Path, server: Server
) -> None:
    assert calibrate(suite, server) == 0
    records = list(read_records(tmp_path / "results"))
    tuned = [record for record in records if record["way"].startswith("decide:")]
    carried = [record for record in tuned if "carried" in record]
    assert {int(record["case"][1:]) % 2 for record in carried} == {0}
    assert {int(record["case"][1:]) % 2 for record in tuned if record not in carried} == {1}
    asked = server.generations
    assert calibrate(suite, server) == 0
    assert server.generations == asked
    assert len(list(read_records(tmp_path / "results"))) == len(records)


def test_a_comparison_carries_over_what_another_margin_has_asked(
    tmp_path: Path, suite: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["compare", "-m", "m", "--host", server.url, "--suite", str(suite), "--no-report"]
    command += ["--out", str(tmp_path / "results")]
    assert main([*command, "--way", "decide"]) == 0
    assert main([*command, "--way", "decide:0"]) == 0
    half = QUESTIONS // 2
    assert f"{QUESTIONS} units, {half} of them finished before" in capsys.readouterr().err
    assert ways(tmp_path) == {"decide": QUESTIONS, "decide:0": QUESTIONS}
    asked = server.generations
    assert main([*command, "--way", "decide:1"]) == 0
    assert server.generations == asked  # as with 0, so nothing is left to ask
    assert ways(tmp_path)["decide:1"] == QUESTIONS


def test_nothing_is_carried_over_where_the_sampler_may_write_otherwise(
    tmp_path: Path, suite: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["compare", "-m", "m", "--host", server.url, "--suite", str(suite), "--no-report"]
    command += ["--out", str(tmp_path / "results"), "--temperature", "0.5", "--limit", "4"]
    assert main([*command, "--way", "decide"]) == 0
    assert main([*command, "--way", "decide:0"]) == 0
    assert "4 units, 0 of them finished before" in capsys.readouterr().err


def test_where_deciding_is_best_early_it_is_asked_more_to_find_its_margin(
    tmp_path: Path, suite: Path, server: Server
) -> None:
    server.reply = lambda prompt: (
        reply(prompt) if prompt.endswith(FENCE) else reply(prompt).replace("Oslo", "Rome")
    )
    assert calibrate(suite, server) == 0
    profile = tomllib.loads((tmp_path / "m.toml").read_text("utf-8"))
    assert profile["evidence"]["ended"] == "distinguishable"
    assert profile["evidence"]["cases"] == ways(tmp_path)["decide"] == QUESTIONS
    assert ways(tmp_path)["prompt:fenced"] < QUESTIONS
    assert profile["way"]["name"].startswith("decide:")
    assert calibrate(suite, server, "--budget", "40") == 0
    assert ways(tmp_path)["decide"] == QUESTIONS


def test_a_way_that_is_better_is_not_left_for_one_that_nobody_can_tell_from_it(
    tmp_path: Path, suite: Path, server: Server
) -> None:
    """Python calls are right wherever they are asked for, and the margin would do as well."""

    def python(prompt: str) -> str:
        if "tool_code" not in prompt:
            return reply(prompt)
        found = re.findall(r"Question (\d+)\?", prompt)
        called = '```tool_code\nget_weather(city="Oslo")\n```'
        return called if int(found[-1]) % 2 == 0 else "Hello."

    server.reply = python
    assert calibrate(suite, server, "--way", "prompt:pythonic") == 0
    profile = tomllib.loads((tmp_path / "m.toml").read_text("utf-8"))
    assert profile["way"]["name"] == "prompt:pythonic"
    assert "decide:" not in (tmp_path / "m.toml").read_text("utf-8")


def test_a_budget_that_does_not_last_for_it_leaves_the_usual_margin(
    tmp_path: Path, suite: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    assert calibrate(suite, server, "--budget", str(2 * QUESTIONS)) == 0
    assert "margin" not in (tmp_path / "m.toml").read_text("utf-8")
    said = " ".join(capsys.readouterr().err.split())
    assert "to judge that takes 8 turns, which the budget does not have" in said
    asked = [r for r in read_records(tmp_path / "results") if "carried" not in r]
    assert {record["way"] for record in asked} == {"decide", "prompt:fenced"}


DECISIONS = st.builds(
    Decision,
    suite=st.just("s"),
    case=st.integers(0, 999).map(str),
    lead=st.floats(-20, 20).map(lambda value: round(value, 2)),
    needed=st.booleans(),
)


def test_a_tool_that_is_never_likely_leaves_a_margin_that_can_be_written() -> None:
    out_of_question = [Decision("s", str(n), -math.inf, needed=False) for n in range(4)]
    needed = [Decision("s", str(n), -7.0 - n, needed=True) for n in range(4, 8)]
    assert best_margin([*out_of_question, *needed]) == -15.0
    assert best_margin(out_of_question) is None
    assert best_margin([]) is None


@given(decisions=st.lists(DECISIONS, min_size=1, max_size=40))
def test_no_margin_decides_more_cases_well_than_the_best(decisions: list[Decision]) -> None:
    def good(margin: float) -> int:
        return sum(decision.good_at(margin) for decision in decisions)

    leads = sorted({decision.lead for decision in decisions})
    between = [(a + b) / 2 for a, b in pairwise(leads)]
    places = [leads[0] - 1, *between, leads[-1] + 1]
    clear = all(b - a > 0.2 for a, b in pairwise(leads))
    margin = best_margin(decisions)
    assert margin is not None
    found = good(margin)
    assert found <= max(map(good, places))
    if clear:  # else it may be rounded past a lead
        assert found == max(map(good, places))


@given(decisions=st.lists(DECISIONS, max_size=60))
def test_a_margin_is_taken_only_if_it_does_no_worse_where_it_was_not_found(
    decisions: list[Decision],
) -> None:
    margin = margin_for(decisions)
    if margin is None:
        return
    rest = [decision for decision in decisions if not decision.tuning]
    assert margin.judged_on == len(rest)
    assert margin.found_on + margin.judged_on == len(decisions)
    assert margin.good == sum(decision.good_at(margin.value) for decision in rest)
    assert margin.usual == sum(decision.good_at(Decide().margin) for decision in rest)
    assert margin.good >= margin.usual


def test_few_cases_say_nothing_of_a_margin() -> None:
    names = [str(n) for n in range(40)]
    halves = [[n for n in names if tuning("s", n)], [n for n in names if not tuning("s", n)]]
    some = [name for half in halves for name in half[:8]]
    decisions = [Decision("s", n, -1.0 if i % 2 else 1.0, i % 2 == 0) for i, n in enumerate(some)]
    assert margin_for(decisions) is not None
    assert margin_for([d for d in decisions if d.tuning]) is None
    assert margin_for(decisions[1:]) is None


@pytest.mark.parametrize(
    ("note", "alike"),
    [
        ("decided: a (a +3.00, of which +1.00 for any call)", True),
        ("decided: a (a +1.00, of which +1.00 for any call)", False),
        ("decided: no tool (a -3.00, of which +1.00 for any call)", True),
        ("decided: a (a +2.00, of which +1.00 for any call)", False),  # rounded: nobody can say
        ("decided: no tool (a -inf, of which -4.00 for any call)", True),
        ("not decided: there are no log-probabilities", False),
    ],
)
def test_two_margins_are_known_to_decide_alike_only_by_what_the_record_says(
    note: str, alike: bool
) -> None:
    assert decided_alike({"steps": [{"notes": [note]}]}, 2.0, -2.0) is alike
    assert decided_alike({"steps": []}, 2.0, -2.0) is False
