from __future__ import annotations

import io
import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallback import Catalogue
from fallback.cli.batch import KEPT_CATALOGUES, BatchOutcome, BatchReader

WEATHER = {
    "name": "get_weather",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
}
CALL = '```tool_call\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n```'


def answers(*lines: bytes | dict[str, Any], reader: BatchReader | None = None) -> list[Any]:
    data = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    out = io.BytesIO()
    (reader or BatchReader()).run([line + b"\n" for line in data], out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_reply_with_a_call_is_answered_with_the_call() -> None:
    (answer,) = answers({"tools": [WEATHER], "output": f"Let me look.\n\n{CALL}\n"})
    (call,) = answer["calls"]
    assert set(call) == {"name", "arguments", "dialect", "repairs"}
    assert (call["name"], call["arguments"], call["repairs"]) == (
        "get_weather",
        {"city": "Oslo"},
        [],
    )
    assert answer["text"].strip() == "Let me look."
    assert set(answer) == {"calls", "text", "reasoning", "problems", "suppressed"}


def test_a_refused_call_is_answered_with_its_problem() -> None:
    wrong = CALL.replace("get_weather", "get_wether")
    (answer,) = answers({"tools": [WEATHER], "output": wrong})
    (problem,) = answer["problems"]
    assert set(problem) == {"kind", "message"}
    assert problem["kind"] == "unknown_tool"
    assert "get_weather" in problem["message"]
    assert answer["calls"] == []


def test_a_quoted_call_is_answered_as_suppressed() -> None:
    (answer,) = answers({"tools": [WEATHER], "output": "Write it so:\n\n> " + CALL.split("\n")[1]})
    assert answer["calls"] == []
    for entry in answer["suppressed"]:
        assert set(entry) == {"reason", "text"}


def test_the_finish_reason_decides_whether_a_cut_call_runs() -> None:
    entry = {"tools": [WEATHER], "output": CALL[:-8]}
    (cut,) = answers({**entry, "finish_reason": "length"})
    assert cut["calls"] == []
    assert [problem["kind"] for problem in cut["problems"]] == ["truncated"]


def test_open_reasoning_is_told_to_the_parser() -> None:
    entry = {"tools": [WEATHER], "output": "hm, so</think>Hello"}
    (plain,), (opened,) = answers(entry), answers({**entry, "reasoning_open": True})
    assert opened["reasoning"] == "hm, so"
    assert opened["text"].strip() == "Hello"
    assert plain["reasoning"] == ""


def test_tool_choice_none_switches_calls_off() -> None:
    (answer,) = answers({"tools": [WEATHER], "output": CALL, "tool_choice": "none"})
    assert answer["calls"] == []


@given(st.lists(st.integers(0, len(CALL)), max_size=6))
def test_chunks_give_what_the_whole_gives(cuts: list[int]) -> None:
    ends = [0, *sorted(cuts), len(CALL)]
    chunks = [CALL[a:b] for a, b in itertools.pairwise(ends)]
    whole, chunked = answers(
        {"tools": [WEATHER], "output": CALL}, {"tools": [WEATHER], "chunks": chunks}
    )
    assert whole == chunked
    assert len(whole["calls"]) == 1


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"{not json}", "not JSON"),
        (b"[1, 2]", "not an object but a list"),
        (b"3", "not an object but a number"),
        (b'{"output": "\xff"}', "not UTF-8 at byte 12 of the line"),
        (b'{"output": "x"}', "'tools' is missing"),
        (b'{"tools": [], "text": "x"}', "'output' is missing"),
        (b'{"tools": [], "output": 3}', "'output' is a number, expected a string"),
        (b'{"tools": {}, "output": "x"}', "'tools' is not a list"),
        (b'{"tools": ["f"], "output": "x"}', "'tools' is not a list of objects"),
        (b'{"tools": [{}], "output": "x"}', "name"),
        (b'{"tools": [], "chunks": "abc"}', "'chunks' is not a list of strings"),
        (b'{"tools": [], "output": "x", "finish_reason": "bored"}', "expected one of stop"),
        (b'{"tools": [], "output": "x", "reasoning_open": 1}', "expected a boolean"),
        (b'{"tools": [], "output": "x", "tool_choice": 1}', "'tool_choice' is a number"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"tools": [], "output": ' + b"9" * 5000 + b"}", "not readable"),
    ],
)
def test_a_bad_line_is_answered_with_its_error_and_the_rest_goes_on(
    line: bytes, words: str
) -> None:
    good = {"tools": [WEATHER], "output": CALL}
    first, bad, last = answers(good, line, good)
    assert set(bad) == {"error", "line"}
    assert bad["line"] == 2
    assert words in bad["error"]
    assert "\n" not in bad["error"]
    assert first == last
    assert len(last["calls"]) == 1


def test_a_bug_in_the_parser_costs_its_line_and_is_told() -> None:
    class Broken(BatchReader):
        def read(self, entry: Any) -> Any:
            if entry["output"] == "bad":
                raise IndexError("off by one")
            return super().read(entry)

    out = io.BytesIO()
    lines = [json.dumps({"tools": [], "output": o}).encode() for o in ("a", "bad", "b")]
    outcome = Broken().run(lines, out)
    answered = [json.loads(line) for line in out.getvalue().splitlines()]
    assert answered[1] == {"error": "this is a bug: IndexError: off by one", "line": 2}
    assert answered[2]["text"] == "b"
    assert outcome == BatchOutcome(lines=3, errors=1, bugs=1)


def test_blank_lines_are_passed_over_but_counted() -> None:
    good = {"tools": [WEATHER], "output": CALL}
    answered = answers(good, b"", b"   ", b"nope")
    assert len(answered) == 2
    assert answered[1]["line"] == 4


def test_lines_without_tools_use_those_of_the_command_line() -> None:
    reader = BatchReader(Catalogue([WEATHER]))
    (answer,) = answers({"output": CALL}, reader=reader)
    assert len(answer["calls"]) == 1


def test_a_byte_order_mark_and_windows_line_ends_are_read() -> None:
    line = json.dumps({"tools": [], "output": "Hello"}).encode()
    out = io.BytesIO()
    outcome = BatchReader().run([b"\xef\xbb\xbf" + line + b"\r\n", line + b"\r\n"], out)
    assert outcome == BatchOutcome(lines=2, errors=0)


def test_every_answer_is_out_before_the_next_line_is_read() -> None:
    out = io.BytesIO()
    line = json.dumps({"tools": [], "output": "Hello"}).encode() + b"\n"
    seen = []

    def lines() -> Iterator[bytes]:
        for _ in range(3):
            seen.append(out.getvalue().count(b"\n"))
            yield line

    BatchReader().run(lines(), out)
    assert seen == [0, 1, 2]


def test_only_so_many_catalogues_are_kept() -> None:
    reader = BatchReader()
    lines = [
        {"tools": [{**WEATHER, "name": f"tool_{n}"}], "output": "Hello"}
        for n in range(KEPT_CATALOGUES + 5)
    ]
    answers(*lines, reader=reader)
    assert len(reader._kept) == KEPT_CATALOGUES


def test_the_command_reads_standard_input_and_answers_in_order() -> None:
    lines = [json.dumps({"tools": [], "output": f"reply {n}"}) for n in range(50)]
    done = subprocess.run(
        [sys.executable, "-m", "fallback", "parse", "--batch", "-"],
        input="\n".join(lines).encode(),
        capture_output=True,
    )
    assert done.returncode == 0
    texts = [json.loads(line)["text"] for line in done.stdout.splitlines()]
    assert texts == [f"reply {n}" for n in range(50)]
    assert done.stderr == b""


def test_the_command_answers_a_line_while_its_input_is_still_open() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "fallback", "parse", "--batch"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"tools": [], "output": "one"}\n')
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["text"] == "one"
        process.stdin.close()
        assert process.wait() == 0
