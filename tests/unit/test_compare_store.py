from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from compare_kit import case_of

from fallback.compare.faults import StoreError
from fallback.compare.store import RECORD_VERSION, open_store, read_cases, read_records, read_runs


def record(key: str, **more: Any) -> dict[str, Any]:
    return {"v": RECORD_VERSION, "key": key, **more}


def test_what_is_added_is_there_the_next_time(tmp_path: Path) -> None:
    case = case_of()
    with open_store(tmp_path / "new" / "folder") as store:
        store.add(record("a", raw="ünï \ud800"))
        store.add_cases([case, case])
        store.add_run({"command": "fallback compare"})
    with open_store(tmp_path / "new" / "folder") as store:
        assert store.keys == {"a"}
        store.add(record("b"))
        store.add_cases([case])
    folder = tmp_path / "new" / "folder"
    assert [r["key"] for r in read_records(folder)] == ["a", "b"]
    assert next(read_records(folder))["raw"] == "ünï \ud800"
    assert list(read_cases(folder)) == [case.digest]
    assert [run["command"] for run in read_runs(folder)] == ["fallback compare"]


@pytest.mark.parametrize("torn", [b'{"key": "b", "ra', b'{"key": "b"}', b"\xff"])
def test_a_torn_line_is_no_result_and_is_removed(tmp_path: Path, torn: bytes) -> None:
    file = tmp_path / "results.jsonl"
    file.write_bytes(json.dumps(record("a")).encode() + b"\n" + torn)
    assert [r["key"] for r in read_records(tmp_path)] == ["a"]
    with open_store(tmp_path) as store:
        assert store.keys == {"a"}
        store.add(record("c"))
    assert [json.loads(line)["key"] for line in file.read_bytes().splitlines()] == ["a", "c"]


def test_a_file_that_is_one_torn_line_begins_anew(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_bytes(b'{"key": "a' + b"x" * 200_000)
    with open_store(tmp_path) as store:
        store.add(record("c"))
    assert [r["key"] for r in read_records(tmp_path)] == ["c"]


def test_a_record_of_another_version_is_passed_over(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        store.add(record("a") | {"v": RECORD_VERSION - 1})
        store.add(record("b"))
    with open_store(tmp_path) as store:
        assert store.keys == {"b"}


@pytest.mark.parametrize("line", [b"nonsense\n", b"[1]\n", b'{"a": 1}\n'])
def test_a_line_that_is_no_result_is_told(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "results.jsonl").write_bytes(b'{"key": "a"}\n' + line)
    with pytest.raises(StoreError, match=r"results\.jsonl, line 2: "), open_store(tmp_path):
        pass


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
import resource, signal, sys
from pathlib import Path
from fallback.compare.faults import StoreError
from fallback.compare.store import RECORD_VERSION, open_store
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
with open_store(Path(sys.argv[1])) as store:
    try:
        for number in range(100):
            store.add({"v": 2, "key": str(number), "raw": "x" * 300})
    except StoreError as error:
        print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of file sizes")
def test_a_disk_that_is_full_costs_nothing_that_is_finished(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL, tmp_path], capture_output=True, text=True, timeout=60
    )
    assert "everything finished before is kept: make room and run the same" in done.stdout
    assert [r["key"] for r in read_records(tmp_path)] == ["0", "1", "2"]
    lines = (tmp_path / "results.jsonl").read_bytes().splitlines(keepends=True)
    assert all(json.loads(line) and line.endswith(b"\n") for line in lines)
