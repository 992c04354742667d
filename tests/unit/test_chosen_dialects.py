"""A caller may restrict the dialects that are read; all are by default."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fallback import Catalogue, Parser, parse
from fallback.cli import main
from fallback.dialects.names import READ
from fallback.errors import UnknownDialectError
from fallback.parsing.events import CallReady, CallStarted, CallWithdrawn
from fallback.testing.cases import cases, read

TOOLS = Catalogue(
    [
        {
            "name": "get_weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        }
    ]
)
HERMES = '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>'
FENCED = '```tool_call\n{"name": "get_weather", "arguments": {"city": "Rome"}}\n```'
PYTHONIC = 'get_weather(city="Bonn")'


@pytest.mark.parametrize(
    ("reply", "dialect"), [(HERMES, "hermes"), (FENCED, "fenced"), (PYTHONIC, "pythonic")]
)
def test_only_a_dialect_that_was_chosen_makes_calls(reply: str, dialect: str) -> None:
    (call,) = parse(reply, TOOLS, dialects=[dialect]).calls
    assert call.dialect == dialect
    others = READ - {dialect}
    reading = parse(reply, TOOLS, dialects=others)
    assert (reading.calls, reading.problems) == ((), ())
    assert [found.reason for found in reading.suppressed] == ["dialect_not_read"]
    assert "get_weather" in reading.suppressed[0].text


def test_a_stream_withdraws_what_it_had_begun() -> None:
    parser = Parser(TOOLS, dialects=["fenced"])
    events = [event for char in HERMES for event in parser.feed(char)] + parser.close()
    assert not any(isinstance(event, CallReady) for event in events)
    started = sum(isinstance(event, CallStarted) for event in events)
    assert sum(isinstance(event, CallWithdrawn) for event in events) == started
    assert parser.reading == parse(HERMES, TOOLS, dialects=["fenced"])


def test_both_in_one_reply_leave_the_chosen_one() -> None:
    reading = parse(f"{HERMES}\n{FENCED}", TOOLS, dialects=["fenced"])
    assert [call.arguments for call in reading.calls] == [{"city": "Rome"}]
    assert len(reading.suppressed) == 1


def test_a_malformed_call_of_another_dialect_is_no_problem_of_this_one() -> None:
    broken = '<tool_call>{"name": "get_weather", "arguments": {"city": Oslo Norway}}</tool_call>'
    assert parse(broken, TOOLS).problems
    assert parse(broken, TOOLS, dialects=["fenced"]).problems == ()


def test_an_unknown_dialect_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownDialectError, match=r"no dialect 'morse' to read; .*hermes"):
        parse(HERMES, TOOLS, dialects=["morse"])


def test_every_call_of_the_conformance_cases_names_a_dialect_that_can_be_chosen() -> None:
    found = {call.dialect for case in cases() for call in read(case).calls}
    assert found <= READ
    assert len(found) > 12


def test_the_command_line_restricts_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reply = tmp_path / "reply.txt"
    reply.write_text(HERMES, encoding="utf-8")
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([tool.to_dict() for tool in TOOLS]), encoding="utf-8")
    assert main(["parse", str(reply), "--tools", str(tools), "--dialect", "fenced"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["calls"] == []
    assert shown["suppressed"][0]["reason"] == "dialect_not_read"
