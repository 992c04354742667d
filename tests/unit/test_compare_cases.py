from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from compare_kit import WEATHER, case_of, written

from fallback.compare.cases import padding_text, read_case
from fallback.compare.faults import CaseError
from fallback.compare.suites import cases_of, load_suite

GOOD: dict[str, Any] = {"id": "a", "question": "Weather?", "tools": [WEATHER], "calls": []}
KINDS = {
    "single", "several_tools", "parallel", "two_step", "no_tool", "confusable",
    "missing_information", "long_arguments", "code", "unicode", "nested_schema", "enum_trap",
    "large_catalogue", "long_prompt", "tool_error", "injected_result",
}  # fmt: skip


def test_the_builtin_suite_has_cases_of_every_kind() -> None:
    cases = load_suite("builtin")
    assert len(cases) >= 80
    assert {case.kind for case in cases} == KINDS
    assert min(sum(c.kind == kind for c in cases) for kind in KINDS) >= 5
    assert all(len(c.tools) >= 40 for c in cases if c.kind == "large_catalogue")
    assert all(len(c.instructions) >= 30_000 for c in cases if c.kind == "long_prompt")


def test_a_right_turn_of_a_builtin_case_can_be_made_with_its_own_results() -> None:
    for case in load_suite("builtin"):
        for result in case.results:
            assert case.catalogue().get(result.name) is not None
        assert not case.answer or case.results or not case.calls, case.id


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"tools": None}, "there is no 'tools'"),
        ({"tools": []}, "'tools' is a list with at least one tool"),
        ({"tools": ["get_weather"]}, "no tool 'get_weather' is defined above"),
        ({"tools": [7]}, "a tool is an object"),
        ({"tools": [{"name": "x y!"}]}, "x y!"),
        ({"question": " "}, "'question' is a text that is not empty"),
        ({"calls": [{"name": "nope"}]}, "no tool 'nope' is offered; there are get_weather"),
        ({"calls": [{"tool": "x"}]}, "an expected call is"),
        ({"calls": [{"name": "get_weather", "arguments": [1]}]}, "'arguments' is an object"),
        (
            {"calls": [{"name": "get_weather", "arguments": {"city": {"$regex": "x"}}}]},
            "'$regex' is no expectation",
        ),
        ({"results": [{"name": "get_weather"}]}, "a result is"),
        ({"answer": {"says": ["x"]}}, "'answer' is"),
        ({"answer": {"has": [[]]}}, "an entry of 'has'"),
        ({"text": "fuzzy"}, "'text' is one of loose, exact"),
        ({"padding": -1}, "'padding' is a number of characters"),
        ({"num_ctx": "big"}, "'num_ctx' is a number of tokens"),
        ({"qestion": "typo"}, "'qestion' is no key of a case"),
    ],
)
def test_a_bad_line_is_told_with_its_number(
    tmp_path: Path, changed: dict[str, Any], complaint: str
) -> None:
    bad = {k: v for k, v in (GOOD | {"id": "b"} | changed).items() if v is not None}
    path = written(tmp_path / "mine.jsonl", GOOD, bad)
    with pytest.raises(CaseError) as error:
        load_suite(str(path))
    assert str(error.value).startswith("mine.jsonl, line 2: ")
    assert complaint in str(error.value)


FORECAST: dict[str, Any] = {
    "name": "forecast",
    "description": "The weather to come.",
    "parameters": {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "unit": {"enum": ["celsius", "fahrenheit"]},
            "days": {"type": "array", "items": {"type": "integer"}},
            "place": {"$ref": "#/$defs/place"},
        },
        "required": ["city"],
        "$defs": {
            "place": {
                "type": "object",
                "properties": {"zip": {"type": "string"}, "land": {"type": "string"}},
                "required": ["zip"],
            }
        },
    },
}


def expecting(arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A line of a suite that expects one call of the forecast."""
    tool = FORECAST | {"parameters": FORECAST["parameters"] | more}
    call = {"name": "forecast", "arguments": arguments}
    return {"id": "b", "question": "Weather?", "tools": [tool], "calls": [call]}


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (expecting({"city": "Oslo", "town": "x"}), "an argument 'town'; it has city, unit, days"),
        (expecting({"unit": "celsius"}), "lacks 'city', which the tool requires"),
        (expecting({"city": 5}), "expected string, got integer 5"),
        (expecting({"city": {"$optional": None}}), "expected string, got null"),
        (expecting({"city": "Oslo", "unit": "kelvin"}), "kelvin"),
        (expecting({"city": "Oslo", "unit": {"$any_of": ["kelvin", "K"]}}), "kelvin"),
        (expecting({"city": "Oslo", "days": ["1"]}), "`$.days[0]`: expected integer"),
        (expecting({"city": "Oslo", "days": [1, {"$any_of": ["2", None]}]}), "$.days[1]"),
        (expecting({"city": "Oslo", "place": {"land": "NO"}}), "`$.place.zip` is required"),
        (expecting({"city": {"$contains": []}}), "'$contains' is a list of words"),
        (expecting({"city": {"$any_of": [{"$contains": ["O", " "]}]}}), "'$contains' is a list"),
        (GOOD | {"id": "b", "ordered": "no"}, "'ordered' is true or false"),
        (GOOD | {"id": "b", "ordered": 0}, "'ordered' is true or false"),
        (GOOD | {"id": "b", "answer": {"has": [""]}}, "a text in 'has' is empty"),
        (GOOD | {"id": "b", "answer": {"not": [["x", " "]]}}, "a text in 'not' is empty"),
        (
            GOOD
            | {
                "id": "b",
                "results": [{"name": "get_weather", "arguments": {"city": 1}, "content": "x"}],
            },
            "a result of 'get_weather' breaks the tool's schema",
        ),
    ],
)
def test_an_expectation_that_nobody_can_meet_is_told_with_its_line(
    tmp_path: Path, line: dict[str, Any], complaint: str
) -> None:
    path = written(tmp_path / "mine.jsonl", GOOD, line)
    with pytest.raises(CaseError) as error:
        load_suite(str(path))
    assert str(error.value).startswith("mine.jsonl, line 2: ")
    assert complaint in str(error.value)


@pytest.mark.parametrize(
    "line",
    [
        expecting({"city": "Oslo"}),
        expecting({"city": {"$any": True}, "unit": {"$optional": "celsius"}}),
        expecting({"city": {"$any_of": ["Oslo", 5]}, "days": [1, {"$any_of": [2, "2"]}]}),
        expecting({"city": {"$contains": ["Os"]}, "place": {"zip": "1", "land": {"$any": True}}}),
        expecting({"city": "Oslo", "days": [{"$any_of": ["x", "y", "z", 1]}] * 9}),
        expecting({"city": "Oslo", "town": "x"}, additionalProperties=True),
        expecting({"city": "Oslo", "town": "x"}, patternProperties={"^t": {}}),
        GOOD | {"ordered": True, "num_ctx": None, "padding": 0},
    ],
)
def test_an_expectation_that_can_be_met_is_taken(tmp_path: Path, line: dict[str, Any]) -> None:
    assert len(load_suite(str(written(tmp_path / "mine.jsonl", line)))) == 1


@pytest.mark.parametrize("key", ["num_ctx", "padding"])
@pytest.mark.parametrize("value", [-5, 10**30, True, 2.0, "4096"])
def test_a_size_that_cannot_be_is_told_with_its_line(
    tmp_path: Path, key: str, value: object
) -> None:
    path = written(tmp_path / "mine.jsonl", GOOD, GOOD | {"id": "b", key: value})
    with pytest.raises(CaseError, match=f"^mine.jsonl, line 2: '{key}' is a number of"):
        load_suite(str(path))


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ('{"city": NaN}', "NaN is no number of JSON"),
        ('{"city": -Infinity}', "-Infinity is no number of JSON"),
        ('{"city": 1e999}', "the number 1e999 is too large"),
        (f'{{"city": {"7" * 5000}}}', "a number has 5,000 digits"),
        ('{"city": "Oslo", "city": "Rome"}', "the key 'city' occurs twice in one object"),
    ],
)
def test_what_json_does_not_say_clearly_is_told_with_its_line(
    tmp_path: Path, value: str, complaint: str
) -> None:
    line = json.dumps(GOOD | {"calls": [{"name": "get_weather", "arguments": "HERE"}]})
    path = tmp_path / "mine.jsonl"
    path.write_text(line.replace('"HERE"', value) + "\n", encoding="utf-8")
    with pytest.raises(CaseError) as error:
        load_suite(str(path))
    assert str(error.value) == f"mine.jsonl, line 1: {complaint}"


def test_cases_of_results_are_what_they_were_when_they_were_kept() -> None:
    kept = Path(__file__).parents[2] / "examples" / "results"
    lines = [
        json.loads(line)
        for file in kept.glob("*/cases.jsonl")
        for line in file.read_text("utf-8").splitlines()
    ]
    assert lines
    for line in lines:
        assert read_case(line["suite"], line["case"]).digest == line["digest"]


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "there is no case in it"),
        (b"[1]\n", "line 1: a case is an object, got list"),
        (b'{"id": \n', "line 1: no JSON"),
        (b"[" * 100_000, "line 1: no JSON"),
        (b"\xff\xfe\n", "line 1: not UTF-8 at byte 0"),
    ],
)
def test_a_file_that_is_no_suite_is_told(tmp_path: Path, data: bytes, complaint: str) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_bytes(data)
    with pytest.raises(CaseError, match=complaint):
        load_suite(str(path))


def test_an_id_occurs_once(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="line 2: the id 'a' occurs twice"):
        load_suite(str(written(tmp_path / "mine.jsonl", GOOD, GOOD)))


def test_tools_can_be_defined_once_and_offered_by_name(tmp_path: Path) -> None:
    lines = (
        {"define": [WEATHER]},
        GOOD | {"tools": ["get_weather"]},
        GOOD | {"id": "b", "tools": "*"},
    )
    first, second = load_suite(str(written(tmp_path / "mine.jsonl", *lines)))
    assert first.tools == second.tools == (WEATHER,)
    assert first.suite == "mine"
    assert json.loads(json.dumps(first.source))["tools"] == [WEATHER]


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("nothing", "there is no suite 'nothing'; there are builtin, bfcl:simple"),
        ("nothing.jsonl", "No such file"),
        ("bfcl:java", "no category 'java' of bfcl; there are simple, multiple"),
    ],
)
def test_an_unknown_suite_is_told(name: str, complaint: str) -> None:
    with pytest.raises(CaseError, match=complaint):
        load_suite(name)


def test_a_smaller_limit_takes_a_part_of_a_larger_one_and_every_kind_first() -> None:
    few = cases_of(["builtin"], limit=16, seed=3)
    more = cases_of(["builtin"], limit=40, seed=3)
    assert {case.kind for case in few} == KINDS
    assert more[:16] == few
    assert cases_of(["builtin"], limit=16, seed=4) != few


def test_two_suites_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    paths = [written(folder / "mine.jsonl", GOOD) for folder in (tmp_path, tmp_path / "x")]
    with pytest.raises(CaseError, match="two suites are called 'mine'"):
        cases_of([str(path) for path in paths])


def test_padding_has_the_length_that_is_asked_for() -> None:
    assert padding_text(0) == ""
    assert 20_000 <= len(padding_text(20_000)) < 20_500


def test_scripted_tools_return_what_fits_and_fail_otherwise() -> None:
    from fallback.errors import ToolFailed

    case = case_of(
        results=[
            {"name": "get_weather", "arguments": {"city": "Oslo"}, "content": "snow"},
            {"name": "get_weather", "arguments": {"city": "Lima"}, "error": "offline"},
        ]
    )
    tool = case.catalogue().get("get_weather")
    assert tool is not None
    assert tool(city="oslo") == "snow"
    with pytest.raises(ToolFailed, match="offline"):
        tool(city="Lima")
    with pytest.raises(ToolFailed, match="nothing is known"):
        tool(city="Rome")
