from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallback.cli import output

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), JSON_VALUES))
def test_a_record_is_one_line_of_utf8_that_reads_back(value: dict[str, object]) -> None:
    line = output.json_line(value)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert json.loads(line.decode("utf-8")) == value


def test_text_stays_readable_in_json() -> None:
    assert output.json_line({"city": "Tromsø 北"}) == '{"city": "Tromsø 北"}\n'.encode()


def test_a_lone_surrogate_is_escaped() -> None:
    assert output.json_line({"x": "\ud800ø"}) == b'{"x": "\\ud800\\u00f8"}\n'


def test_a_record_is_flushed_as_soon_as_it_is_written() -> None:
    raw = io.BytesIO()
    stream = io.BufferedWriter(raw)  # type: ignore[arg-type]  # a raw stream
    output.write_json({"a": 1}, stream)
    assert raw.getvalue() == b'{"a": 1}\n'


@given(st.text(st.characters()))
def test_shown_text_cannot_steer_a_terminal(text: str) -> None:
    shown = output.visible(text)
    assert all(c.isprintable() or c in "\n\t" for c in shown)


@given(st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"])))
def test_ordinary_text_is_shown_as_it_is(text: str) -> None:
    assert output.visible(text) == text


def test_an_escape_sequence_is_shown_and_not_obeyed() -> None:
    assert output.visible("\x1b[2Jgone\a") == "␛[2Jgone␇"


def test_a_bidirectional_override_is_written_out() -> None:
    assert output.visible("a\u202eb") == "a\\u202eb"


def test_an_error_is_one_line() -> None:
    assert output.error_line(ValueError("first\n  second\tthird")) == "first second third"


def test_an_error_without_words_is_named() -> None:
    assert output.error_line(ValueError()) == "ValueError"


def test_a_long_error_is_cut() -> None:
    line = output.error_line("x" * 10_000)
    assert len(line) == output.MAX_ERROR_CHARS
    assert line.endswith("…")


@pytest.mark.parametrize(("encoding", "fits"), [("utf-8", True), ("cp1252", False)])
def test_it_is_known_what_a_terminal_can_show(encoding: str, fits: bool) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    assert output.can_show("→", stream) is fits


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    import os

    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, env={**os.environ, **environment}
    )


def test_only_the_json_reaches_standard_output() -> None:
    done = run_python(
        """
import os, subprocess, sys
from fallback.cli.output import only_json, write_json
with only_json() as out:
    print("a tool prints")
    os.write(1, b"a library prints\\n")
    subprocess.run([sys.executable, "-c", "print('a child prints')"])
    write_json({"answer": 42}, out)
print("after")
"""
    )
    assert done.stdout.splitlines() == [b'{"answer": 42}', b"after"]
    printed = set(done.stderr.splitlines())
    assert printed == {b"a tool prints", b"a library prints", b"a child prints"}


STYLED = """
from rich.text import Text
from fallback.cli.output import console
console().print(Text("word", style="bold green"))
"""


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
)
def test_colour_is_for_terminals_and_can_be_switched(
    environment: dict[str, str], coloured: bool
) -> None:
    done = run_python(STYLED, TERM="xterm", **environment)
    assert b"word" in done.stdout
    assert (b"\x1b[1;32m" in done.stdout) is coloured


def test_text_with_markup_is_shown_as_it_is() -> None:
    done = run_python("from fallback.cli.output import console; console().print('[b]:smile:[/b]')")
    assert done.stdout.strip() == b"[b]:smile:[/b]"


def test_printing_never_fails_on_a_narrow_encoding() -> None:
    done = run_python(
        "from fallback.cli.output import prepare_streams; prepare_streams(); print('5 → 6')",
        PYTHONIOENCODING="ascii",
    )
    assert (done.returncode, done.stdout.strip()) == (0, b"5 \\u2192 6")
