from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from benchmarks.accuracy import Verdict, by_tag, document, hazards, json_schema, met
from benchmarks.hazards import HAZARDS, KINDS
from benchmarks.peers import table
from benchmarks.peers.environments import Environment, Unavailable, prepared
from benchmarks.peers.judging import Score
from benchmarks.peers.roster import OURS, Peer
from benchmarks.peers.sets import conformance, fixtures, wrapped

OTHER = Peer(
    name="other",
    adapter="read_other.py",
    environment=Environment(name="other", packages=("other==1.2",)),
    setting="most | permissive",
)
ABSENT = Peer(
    name="absent",
    adapter="read_absent.mjs",
    environment=Environment(name="absent", npm=("@some/absent@4.5.6",)),
    setting="",
)
SCORES = {"bench": Score(right=3, missed=2, wrong=1, quiet=5, false=4)}
GROUPS = {"meant": Score(right=3, missed=3), "quoted": Score(quiet=1, false=4)}


def written() -> str:
    rows = [
        table.Row(peer=OURS, scores=SCORES, groups=GROUPS),
        table.Row(peer=OTHER, scores=SCORES, groups=GROUPS),
        table.Row(peer=ABSENT, scores={}, groups={}, unavailable="npm is not installed"),
    ]
    return table.document(rows, date="2031-12-24", machine="Python 3.11")


def test_the_table_has_the_counts_of_each_peer() -> None:
    text = written()
    assert "| **fallback** | 3 / 2 / 1 / 4 |" in text
    assert "| other | 3 / 2 / 1 / 4 |" in text
    assert "| bench | 6 | 9 |" in text


def test_the_kinds_show_what_was_right_and_what_was_false() -> None:
    text = written()
    assert "| parser | meant (right of 6) | quoted (false of 5) |" in text
    assert "| other | 3 | 4 |" in text


def test_versions_and_settings_are_recorded_and_cannot_break_the_table() -> None:
    assert "| other | 1.2 | most \\| permissive |" in written()


def test_a_peer_that_cannot_be_installed_is_listed_with_the_reason() -> None:
    text = written()
    assert "| absent | 4.5.6 | not run: npm is not installed |" in text
    assert text.count("| absent |") == 1


def test_the_document_says_how_to_repeat_it() -> None:
    assert f"    {table.COMMAND}\n" in written()
    assert "Measured 2031-12-24 with Python 3.11." in written()


def test_an_environment_that_is_there_with_the_same_pins_is_used(tmp_path: Path) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    assert OTHER.environment is not None
    (folder / "recipe.txt").write_text(OTHER.environment.recipe)
    assert prepared(OTHER.environment, tmp_path) == folder


def test_without_npm_a_peer_of_npm_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ABSENT.environment is not None
    with pytest.raises(Unavailable, match="npm is not installed"):
        prepared(ABSENT.environment, tmp_path)


def test_fixtures_are_read_with_what_the_server_knows(tmp_path: Path) -> None:
    family = tmp_path / "glm"
    family.mkdir()
    model = {"repo": "a/b", "variant": "glm47", "default_generation_prompt": "<think>\n"}
    (family / "family.json").write_text(json.dumps({"reference_models": [model]}))
    call = {"name": "now", "arguments": {}}
    common = {
        "family": "glm",
        "models": ["a/b"],
        "raw_output": "x\x85y",
        "tags": ["truncated"],
        "tools": [{"type": "function", "function": {"name": "now"}}],
    }
    expected = {"tool_calls": [call], "content": None, "reasoning_content": None}
    lines = [
        common | {"id": "glm/1", "expected": expected},
        common | {"id": "glm/2", "expected": expected, "generation_prompt": "", "tags": []},
        common | {"id": "glm/3", "expected": expected, "tools": []},
        common | {"id": "glm/4", "expected_error": {"accept": ["no_tool_calls"]}},
    ]
    (family / "cases.jsonl").write_text("\n".join(json.dumps(line) for line in lines) + "\n")
    first, second = fixtures(tmp_path)
    assert first.accepted == ([call],)
    assert first.context == {
        "finish_reason": "length",
        "reasoning_open": True,
        "format": "glm47",
    }
    assert (second.context["finish_reason"], second.context["reasoning_open"]) == ("stop", False)


def test_bare_tools_are_wrapped_and_the_others_are_left_alone() -> None:
    bare = {"name": "now"}
    whole = {"type": "function", "function": bare}
    assert wrapped([bare, whole]) == (whole, whole)


def test_the_conformance_cases_become_cases_of_the_comparison() -> None:
    cases = conformance()
    assert len({case.id for case in cases}) == len(cases) > 50
    assert any(len(case.accepted) > 1 for case in cases)
    assert all("function" in tool for case in cases for tool in case.tools)


def test_every_kind_of_hazard_has_examples_and_none_of_them_is_a_call() -> None:
    assert {kind for kind, _ in HAZARDS} == set(KINDS)
    assert [verdict for verdict in hazards() if verdict.fault] == []


def test_the_leaderboards_types_become_those_of_json_schema() -> None:
    given = {
        "type": "dict",
        "properties": {
            "type": {"type": "float"},
            "pair": {"type": "tuple", "items": {"type": "integer"}},
            "value": {"type": "any", "description": "anything"},
        },
    }
    assert json_schema(given) == {
        "type": "object",
        "properties": {
            "type": {"type": "number"},
            "pair": {"type": "array", "items": {"type": "integer"}},
            "value": {"type": "string", "description": "anything"},
        },
    }


def verdict(fault: str | None, *tags: str) -> Verdict:
    return Verdict(id="v", tags=tags, text="", fault=fault)


def test_a_reply_counts_under_each_of_its_tags() -> None:
    found = [verdict(None, "a", "b"), verdict("read nothing", "a")]
    assert by_tag(found, "tag").splitlines()[2:] == ["| a | 1 | 2 |", "| b | 1 | 1 |"]


def test_a_bar_is_met_or_not() -> None:
    good, bad = [verdict(None)] * 97, [verdict("x")] * 3
    assert met({"fixtures": [*good, *bad], "hazards": good})
    assert not met({"fixtures": good, "hazards": [*good, *bad]})
    assert not met({"fixtures": good, "hazards": good, "raw": [*good, *bad]})


def test_the_accuracy_document_leaves_out_what_was_not_measured() -> None:
    groups = {"fixtures": [verdict(None, "glm")], "hazards": [verdict(None, "A")]}
    text = document(groups, date(2031, 12, 24))
    assert "Raw outputs by deviation" not in text
    assert "| 1 | 1 | 100.0% | 97% |" in text
    assert "Raw outputs by deviation" in document(groups | {"raw": groups["fixtures"]}, date.min)
