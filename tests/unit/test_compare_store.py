from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from compare_kit import case_of, fenced, host_of, record_of, run

from fallback.compare.faults import StoreError
from fallback.compare.store import (
    RECORD_VERSION,
    open_store,
    passed_over,
    read_cases,
    read_records,
    read_runs,
)


def test_what_is_added_is_there_the_next_time(tmp_path: Path) -> None:
    case = case_of()
    with open_store(tmp_path / "new" / "folder") as store:
        store.add(record_of("a", raw="ünï \ud800"))
        store.add_cases([case, case])
        store.add_run({"at": "now", "command": "fallback compare", "where": "here"})
    with open_store(tmp_path / "new" / "folder") as store:
        assert store.keys == {"a"}
        store.add(record_of("b"))
        store.add_cases([case])
    folder = tmp_path / "new" / "folder"
    assert [r["key"] for r in read_records(folder)] == ["a", "b"]
    assert next(read_records(folder))["raw"] == "ünï \ud800"
    assert list(read_cases(folder)) == [case.digest]
    assert [run["command"] for run in read_runs(folder)] == ["fallback compare"]


@pytest.mark.parametrize("torn", [b'{"key": "b", "ra', b'{"key": "b"}', b"\xff"])
def test_a_torn_line_is_no_result_and_is_removed(tmp_path: Path, torn: bytes) -> None:
    file = tmp_path / "results.jsonl"
    file.write_bytes(json.dumps(record_of("a")).encode() + b"\n" + torn)
    assert [r["key"] for r in read_records(tmp_path)] == ["a"]
    with open_store(tmp_path) as store:
        assert store.keys == {"a"}
        store.add(record_of("c"))
    assert [json.loads(line)["key"] for line in file.read_bytes().splitlines()] == ["a", "c"]


def test_a_file_that_is_one_torn_line_begins_anew(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_bytes(b'{"key": "a' + b"x" * 200_000)
    with open_store(tmp_path) as store:
        store.add(record_of("c"))
    assert [r["key"] for r in read_records(tmp_path)] == ["c"]


def test_a_record_of_another_version_is_passed_over(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        store.add(record_of("a") | {"v": RECORD_VERSION - 1})
        store.add(record_of("b"))
    with open_store(tmp_path) as store:
        assert store.keys == {"b"}
    assert passed_over(tmp_path) == 1


def whole_record(folder: Path) -> dict[str, Any]:
    """A record of a turn with a wrong call, and its folder filled with what belongs to it."""
    call = fenced("get_weather", city="Rome")
    with open_store(folder) as store:
        run(store, [case_of()], [host_of(lambda _: call)], ways=["prompt:fenced"])
    (record,) = read_records(folder)
    return record


def places(value: Any, *before: str | int) -> Iterator[tuple[str | int, ...]]:
    """The way to every value inside a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, held in inner:
        yield (*before, key)
        if isinstance(held, dict | list):
            yield from places(held, *before, key)


def damaged(record: dict[str, Any], way: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    """A copy of a record in which one value is another one, or has gone."""
    copy: dict[str, Any] = json.loads(json.dumps(record))
    inside: Any = copy
    for key in way[:-1]:
        inside = inside[key]
    if value is GONE:
        del inside[way[-1]]
    else:
        inside[way[-1]] = value
    return copy


GONE = object()
STRANGE = [GONE, None, 7, -1, 1e308, float("nan"), "", "x", True, [], [1], [[1]], {}, {"a": 1}]


def test_a_record_in_which_anything_is_damaged_is_told_or_makes_a_report(tmp_path: Path) -> None:
    from fallback.compare.report.content import content_of, failures
    from fallback.compare.report.markdown import markdown
    from fallback.compare.report.tables import csv_table

    record = whole_record(tmp_path)
    cases, runs = read_cases(tmp_path), list(read_runs(tmp_path))
    told: list[str] = []
    for way in places(record):
        for value in STRANGE:
            line = json.dumps(damaged(record, way, value))
            (tmp_path / "results.jsonl").write_text(line + "\n", encoding="utf-8")
            try:
                records = list(read_records(tmp_path))
            except StoreError as error:
                told.append(str(error))
                continue
            content = content_of(records, cases, runs)
            assert len(failures(content.results).turns) <= 1
            assert markdown(content)
            assert csv_table(content)
    assert len(told) > 500
    assert all("results.jsonl, line 1: this is no line of results: " in line for line in told)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (b"nonsense\n", "no JSON"),
        (b"\n", "no JSON"),
        (b"\xff\n", "no JSON"),
        (b"[" * 100_000 + b"\n", "no JSON"),
        (b"[1]\n", "it is no object"),
        (b'{"a": 1}\n', "'v' is missing"),
        (b'{"v": 2, "key": [1]}\n', "'key' is no text"),
        (b'{"v": 2, "key": "b"}\n', "'model' is missing"),
    ],
)
def test_a_line_that_is_no_result_is_told(tmp_path: Path, line: bytes, fault: str) -> None:
    first = json.dumps(record_of("a")).encode() + b"\n"
    (tmp_path / "results.jsonl").write_bytes(first + line)
    with (
        pytest.raises(StoreError, match=r"results\.jsonl, line 2: ") as error,
        open_store(tmp_path),
    ):
        pass
    assert fault in str(error.value)
    assert "remove the line, and `fallback compare` makes it anew" in str(error.value)


def test_a_value_that_is_nested_too_deep_to_be_shown_is_told(tmp_path: Path) -> None:
    arguments: Any = {}
    for _ in range(400):
        arguments = {"a": arguments}
    call = {"name": "t", "repairs": [], "status": "ok", "copy": False, "result": ""}
    record = whole_record(tmp_path)
    record["steps"][0]["calls"] = [call | {"arguments": arguments}]
    (tmp_path / "results.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    place = r"'steps\[0\]\.calls\[0\]\.arguments\.a' is nested deeper"
    with pytest.raises(StoreError, match=rf"line 1: .*{place}"):
        list(read_records(tmp_path))


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ('{"digest": "d", "suite": "s"}', "'case' is missing"),
        ('{"digest": [1], "suite": "s", "case": {"id": "a"}}', "'digest' is no text"),
        ('{"digest": "d", "suite": "s", "case": {"id": "a"}}', "there is no 'question'"),
    ],
)
def test_a_line_that_is_no_case_is_told(tmp_path: Path, line: str, fault: str) -> None:
    (tmp_path / "cases.jsonl").write_text(line + "\n", encoding="utf-8")
    with pytest.raises(StoreError, match=r"cases\.jsonl, line 1: ") as error:
        read_cases(tmp_path)
    assert fault in str(error.value)


def test_a_line_that_is_no_run_is_told(tmp_path: Path) -> None:
    lines = {'{"at": "", "command": 7}': "is no text", '{"command": ""}': "is missing"}
    for line, fault in lines.items():
        (tmp_path / "runs.jsonl").write_text(line + "\n", encoding="utf-8")
        with pytest.raises(StoreError, match=rf"runs\.jsonl, line 1: .*{fault}"):
            list(read_runs(tmp_path))


def test_a_second_run_on_one_folder_is_refused(tmp_path: Path) -> None:
    with open_store(tmp_path):
        with pytest.raises(StoreError, match="another run is writing to"), open_store(tmp_path):
            pass
        # A report may be written all the same: reading takes no lock.
        assert list(read_records(tmp_path)) == []
    with open_store(tmp_path):
        pass


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file"), open_store(tmp_path / "file" / "results"):
        pass


def test_what_fails_elsewhere_is_no_fault_of_the_store(tmp_path: Path) -> None:
    with pytest.raises(BrokenPipeError), open_store(tmp_path):
        raise BrokenPipeError


FULL = """
import json, resource, signal, sys
from pathlib import Path
from fallback.compare.faults import StoreError
from fallback.compare.store import open_store
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2100, 2100))
with open_store(Path(sys.argv[1])) as store:
    try:
        for number in range(100):
            store.add(json.loads(sys.argv[2]) | {"key": str(number)})
    except StoreError as error:
        print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of file sizes")
def test_a_disk_that_is_full_costs_nothing_that_is_finished(tmp_path: Path) -> None:
    record = json.dumps(record_of("", raw="x" * 300))
    done = subprocess.run(
        [sys.executable, "-c", FULL, tmp_path, record], capture_output=True, text=True, timeout=60
    )
    assert "everything finished before is kept: make room and run the same" in done.stdout
    assert [r["key"] for r in read_records(tmp_path)] == ["0", "1", "2"]
    lines = (tmp_path / "results.jsonl").read_bytes().splitlines(keepends=True)
    assert all(json.loads(line) and line.endswith(b"\n") for line in lines)
