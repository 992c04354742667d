from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.peers.adapters.protocol import answer, call_objects, decoded
from benchmarks.peers.bench_replies import TOOLS
from benchmarks.peers.environments import Unavailable
from benchmarks.peers.roster import ADAPTERS, OURS, Peer, readings

CALL = '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>'
OSLO = {"name": "get_weather", "arguments": {"city": "Oslo"}}


def request(text: str, number: int = 1) -> dict[str, Any]:
    return {"id": f"r{number}", "text": text, "tools": list(TOOLS)}


def scripted(tmp_path: Path, body: str) -> Peer:
    """A peer whose reader is ``body``, started as the real ones are."""
    path = tmp_path / "read_scripted.py"
    path.write_text(
        f"import sys\nsys.path.insert(0, {str(ADAPTERS)!r})\n"
        f"from protocol import serve\n\n\ndef read(reply):\n    {body}\n\n\nserve(read)\n"
    )
    return Peer(name="scripted", adapter=str(path), environment=None, setting="")


def test_our_adapter_answers_every_line_with_its_calls(tmp_path: Path) -> None:
    answers = readings(OURS, [request(CALL), request("Good morning.", 2)], tmp_path)
    assert answers == {"r1": {"id": "r1", "calls": [OSLO]}, "r2": {"id": "r2", "calls": []}}


def test_our_adapter_is_told_what_a_server_would_know(tmp_path: Path) -> None:
    thought = request(f"I might ask.\n{CALL}") | {"reasoning_open": True}
    assert readings(OURS, [thought], tmp_path)["r1"]["calls"] == []


def test_what_a_peer_prints_does_not_get_among_the_answers(tmp_path: Path) -> None:
    peer = scripted(tmp_path, "print('loading'); return [('get_weather', '{\"city\": \"Oslo\"}')]")
    assert readings(peer, [request("x")], tmp_path) == {"r1": {"id": "r1", "calls": [OSLO]}}


def test_a_reader_that_raises_has_read_nothing_and_says_why(tmp_path: Path) -> None:
    peer = scripted(tmp_path, "raise KeyError('name')")
    answers = readings(peer, [request("x"), request("y", 2)], tmp_path)
    assert answers["r1"] == {"id": "r1", "error": "KeyError: 'name'"}
    assert answers["r2"]["error"] == "KeyError: 'name'"


def test_a_reader_that_returns_no_json_is_an_error_too() -> None:
    assert "error" in answer(request("x"), lambda _: [("get_weather", {"city": object()})])


def test_a_peer_that_does_not_start_is_unavailable_with_the_reason(tmp_path: Path) -> None:
    broken = tmp_path / "read_broken.py"
    broken.write_text("import nothing_of_that_name")
    peer = Peer(name="broken", adapter=str(broken), environment=None, setting="")
    with pytest.raises(Unavailable, match="nothing_of_that_name"):
        readings(peer, [request("x")], tmp_path)


def test_arguments_as_text_are_decoded_and_other_text_is_left_alone() -> None:
    assert decoded('{"a": 1}') == {"a": 1}
    assert decoded("not json") == "not json"
    assert decoded({"a": "1"}) == {"a": "1"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (OSLO, [("get_weather", {"city": "Oslo"})]),
        ([OSLO, OSLO], [("get_weather", {"city": "Oslo"})] * 2),
        ({"tool_calls": [{"function": OSLO}]}, [("get_weather", {"city": "Oslo"})]),
        ({"name": "now", "parameters": {}}, [("now", {})]),
        ({"name": "Oslo", "population": 700_000}, []),
        ("text", []),
    ],
)
def test_calls_are_found_in_decoded_json(value: Any, expected: list[Any]) -> None:
    assert list(call_objects(value)) == expected


@pytest.mark.parametrize("path", sorted(ADAPTERS.glob("read_*")), ids=lambda path: path.name)
def test_every_adapter_is_in_the_roster(path: Path) -> None:
    from benchmarks.peers.roster import PEERS

    assert path.name in {peer.adapter for peer in PEERS}


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_adapter_for_node_speaks_the_same(tmp_path: Path) -> None:
    package = tmp_path / "node_modules" / "@ai-sdk-tool" / "parser"
    package.mkdir(parents=True)
    package.joinpath("index.js").write_text(
        """
        const parts = ({ text, tools }) => {
          console.log("noise");
          if (text === "bad") throw new TypeError("cannot read that");
          const input = JSON.stringify({ city: text, offered: tools.map((tool) => tool.name) });
          return [{ type: "text" }, { type: "tool-call", toolName: "get_weather", input }];
        };
        exports.hermesProtocol = () => ({ parseGeneratedText: parts });
        """
    )
    lines = "".join(json.dumps(request(text)) + "\n" for text in ("Oslo", "bad"))
    done = subprocess.run(
        ["node", str(ADAPTERS / "read_ai_sdk.mjs"), "hermes"],
        cwd=tmp_path,
        input=lines,
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"NODE_NO_WARNINGS": "1"},
    )
    first, second = map(json.loads, done.stdout.splitlines())
    offered = ["get_weather", "write_file"]
    assert first["calls"] == [
        {"name": "get_weather", "arguments": {"city": "Oslo", "offered": offered}}
    ]
    assert second["error"] == "TypeError: cannot read that"
    assert "noise" in done.stderr


def test_the_protocol_needs_nothing_but_the_standard_library() -> None:
    code = f"import sys; sys.path.insert(0, {str(ADAPTERS)!r}); import protocol"
    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True)
