"""Our grader against the verdicts of the Berkeley leaderboard's own checker.

The questions are ours, in the leaderboard's form; the verdicts were recorded from ``ast_checker``
by ``python -m benchmarks.bfcl_agreement --record``. On the leaderboard's own questions the same
script finds no difference either, see ``benchmarks/results/bfcl_agreement.md``.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fallback.compare.bfcl import bfcl_cases, json_schema, question_case
from fallback.compare.cases import Case
from fallback.compare.faults import CaseError
from fallback.compare.grading import Call, grade_calls

DATA = Path(__file__).resolve().parent.parent / "data"


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]


@cache
def cases() -> dict[str, Case]:
    found = {}
    for line in lines("bfcl_questions.jsonl"):
        asked = line | {"question": [[{"role": "user", "content": "?"}]]}
        found[line["id"]] = question_case(line["category"], asked, line["answers"])
    return found


def ours(verdict: dict[str, Any]) -> bool:
    made = [Call(call["name"], call["arguments"]) for call in verdict["calls"]]
    return grade_calls(cases()[verdict["question"]].calls, made).exact


def test_the_grader_accepts_what_the_checker_accepts() -> None:
    accepted = [v for v in lines("bfcl_verdicts.jsonl") if v["valid"]]
    assert len(accepted) > 50
    assert [v for v in accepted if not ours(v)] == []


def test_the_grader_refuses_what_the_checker_refuses() -> None:
    refused = [v for v in lines("bfcl_verdicts.jsonl") if not v["valid"]]
    assert len(refused) >= 200
    assert len({v["how"] for v in refused}) >= 9
    assert [v for v in refused if ours(v)] == []


def test_a_folder_of_the_leaderboards_files_is_a_suite(tmp_path: Path) -> None:
    questions = lines("bfcl_questions.jsonl")
    (tmp_path / "possible_answer").mkdir()
    asked, answers = [], []
    for line in (q for q in questions if q["category"] == "parallel"):
        turn = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Go."}]
        asked.append({"id": line["id"], "question": [turn], "function": line["function"]})
        answers.append({"id": line["id"], "ground_truth": line["answers"]})
    for name, held in (("", asked), ("possible_answer/", answers)):
        path = tmp_path / f"{name}BFCL_v4_parallel.json"
        path.write_text("".join(json.dumps(line) + "\n" for line in held), encoding="utf-8")
    found = list(bfcl_cases("parallel", data=tmp_path))
    assert [case.suite for case in found] == ["bfcl:parallel"] * 3
    assert (found[0].question, found[0].instructions) == ("Go.", "Be brief.")
    assert [call.name for call in found[0].calls] == ["bike.rent", "bike.rent"]
    with pytest.raises(CaseError, match=r"no BFCL_v4_multiple\.json: another version"):
        list(bfcl_cases("multiple", data=tmp_path))


def test_without_the_package_the_user_is_told_how_to_get_its_data(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fallback.compare.bfcl.find_spec", lambda name: None)
    with pytest.raises(CaseError, match="pip install --no-deps bfcl-eval"):
        list(bfcl_cases("simple"))


def test_the_leaderboards_types_become_json_schema() -> None:
    schema = {"type": "dict", "properties": {"type": {"type": "tuple", "items": {"type": "float"}}}}
    assert json_schema(schema) == {
        "type": "object",
        "properties": {"type": {"type": "array", "items": {"type": "number"}}},
    }
