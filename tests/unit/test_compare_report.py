from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from compare_hostile import FORMULA, hostile_folder
from compare_kit import case_of, fenced, host_of, run

from fallback.compare.faults import StoreError
from fallback.compare.report import write_report
from fallback.compare.report.content import content_of, cut, pieces, sentences
from fallback.compare.report.tables import _cell
from fallback.compare.store import (
    RECORD_VERSION,
    open_store,
    read_cases,
    read_records,
    read_runs,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = hostile_folder(tmp_path_factory.mktemp("hostile"))
    written = write_report(made)
    assert [path.name for path in written.paths] == [
        "report.html",
        "report.md",
        "results.csv",
        "report.png",
        "results.parquet",
    ]
    assert written.notes == ()
    return made


class Elements(HTMLParser):
    """The elements of a page, and what they load or run."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs


def test_hostile_text_does_not_become_markup(folder: Path) -> None:
    page = Elements((folder / "report.html").read_text("utf-8"))
    assert page.tags.count("script") == 3  # the data, the charts' library, our own
    assert "img" not in page.tags
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert page.tags.count("section") == 3


def test_the_page_names_nothing_outside_itself(folder: Path) -> None:
    page = Elements((folder / "report.html").read_text("utf-8"))
    assert not [name for name, _ in page.attributes if name in ("src", "href", "action", "srcset")]
    policy = next(
        value for name, value in page.attributes if name == "content" and "src" in str(value)
    )
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy
    assert not re.search(r"script-src[^;]*unsafe-inline", policy)


def test_the_data_cannot_end_its_block(folder: Path) -> None:
    page = (folder / "report.html").read_text("utf-8")
    data = page.split('<script type="application/json" id="data">')[1].split("</script>")[0]
    assert "<" not in data
    assert "owned" in data


def test_markdown_takes_no_markup_from_names(folder: Path) -> None:
    text = (folder / "report.md").read_text("utf-8")
    assert not re.search(r"(?<!\\)<(script|img)", text)
    assert "native+read" in text
    assert "at this n" in text


def test_a_table_has_a_line_for_each_turn_and_no_formula(folder: Path) -> None:
    rows = list(csv.DictReader(io.StringIO((folder / "results.csv").read_text("utf-8"))))
    assert len(rows) == 16
    assert {row["way"] for row in rows} == {"native+read", "prompt:fenced"}
    assert not [cell for row in rows for cell in row.values() if cell.startswith(("=", "+", "@"))]
    assert FORMULA


def test_parquet_holds_the_same(folder: Path) -> None:
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(folder / "results.parquet")
    assert table.num_rows == 16
    assert set(table.column("right").to_pylist()) <= {0.0, 1.0}
    assert table.column("handled").null_count > 0


def test_the_picture_is_one(folder: Path) -> None:
    assert (folder / "report.png").read_bytes().startswith(b"\x89PNG")


def test_a_report_is_the_same_when_it_is_written_again(folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.glob("report.*")}
    write_report(folder)
    assert {path.name: path.read_bytes() for path in folder.glob("report.*")} == before


def test_the_best_way_is_the_one_that_calls_the_fewest_tools_unasked(tmp_path: Path) -> None:
    careless, careful = fenced("get_weather", city="Oslo"), "No tool is needed."
    cases = [case_of(id=f"c{number}", calls=[]) for number in range(6)]
    with open_store(tmp_path) as store:
        host = host_of(lambda request: careful if request.mode == "native" else careless)
        run(store, cases, [host])
    content = content_of(
        list(read_records(tmp_path)), read_cases(tmp_path), list(read_runs(tmp_path))
    )
    (said,) = sentences(content, "unauthorised")
    assert (said.first, said.second, said.better) == ("native+read", "prompt:fenced", 6)
    assert (said.share, said.other) == (0, 1)
    assert [s.first for s in sentences(content, "right")] == ["native+read"]


@pytest.mark.parametrize(
    ("text", "guarded"),
    [
        ("=1+1", True),
        (" =1+1", True),
        ("\u00a0\t -1", True),
        ("\n=1", True),
        ("\tx", True),
        ("\uff1d1", True),
        ("@SUM(1)", True),
        (" a = 1", False),
        ("", False),
        ("  ", False),
        (3.5, False),
    ],
)
def test_a_cell_that_a_spreadsheet_would_run_is_guarded(text: Any, guarded: bool) -> None:
    assert _cell(text) == (f"'{text}" if guarded else text)


def test_a_control_that_turns_text_round_is_shown_as_one_that_cannot_be(tmp_path: Path) -> None:
    controls = "".join(map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A))))
    case = case_of(id=f"c{controls}1", question=f"Q{controls}?")
    with open_store(tmp_path) as store:
        run(store, [case], [host_of(lambda _: f"No.{controls}")], ways=["prompt:fenced"])
    write_report(tmp_path)
    page = (tmp_path / "report.html").read_text("utf-8")
    data = page.split('<script type="application/json" id="data">')[1].split("</script>")[0]
    shown = page + json.dumps(json.loads(data), ensure_ascii=False)
    assert "No." + "\ufffd" * len(controls) in shown
    for name in ("report.md", "results.csv"):
        shown += (tmp_path / name).read_text("utf-8")
    assert not set(controls) & set(shown)


def test_markdown_says_of_what_less_is_better(folder: Path) -> None:
    text = (folder / "report.md").read_text("utf-8")
    assert "- **unauthorised**: a tool ran, or would have, that was not meant (less is" in text
    assert text.count("(less is better)") == 1


FULL = """
import resource, signal, sys
from pathlib import Path
from fallback.compare.faults import StoreError
from fallback.compare.report import write_report
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
try:
    write_report(Path(sys.argv[1]))
except StoreError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of file sizes")
def test_a_report_that_cannot_be_written_leaves_the_one_before(
    folder: Path, tmp_path: Path
) -> None:
    for name in ("results.jsonl", "cases.jsonl", "report.html"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    done = subprocess.run(
        [sys.executable, "-c", FULL, tmp_path], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == f"{tmp_path / 'report.html'}: File too large\n"
    assert (tmp_path / "report.html").read_bytes() == (folder / "report.html").read_bytes()
    assert len(list(tmp_path.iterdir())) == 3


def test_a_folder_without_results_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds no results; `fallback compare --out"):
        write_report(tmp_path)


@pytest.mark.parametrize("line", ['"key": "abc"', '"key": "abc", "case_digest": "%s", "steps": 1'])
def test_a_record_that_is_not_whole_is_told(folder: Path, tmp_path: Path, line: str) -> None:
    cases = (folder / "cases.jsonl").read_text("utf-8")
    (tmp_path / "cases.jsonl").write_text(cases, "utf-8")
    known = json.loads(cases.splitlines()[0])["digest"]
    record = f'{{"v": {RECORD_VERSION}, {line.replace("%s", known)}}}\n'
    (tmp_path / "results.jsonl").write_text(record, "utf-8")
    with pytest.raises(
        StoreError, match=r"results\.jsonl, line 1: this is no line of results: 'model'"
    ):
        write_report(tmp_path)


@pytest.mark.parametrize(
    ("segments", "expected"),
    [
        ([], [["text", "ab😀cd", ""]]),
        ([["call", 1, 3, "n"]], [["text", "a", ""], ["call", "b😀", "n"], ["text", "cd", ""]]),
        ([["call", 0, 5, ""], ["text", 2, 4, ""]], [["call", "ab😀cd", ""]]),
        ([["call", 4, 99, ""]], [["text", "ab😀c", ""], ["call", "d", ""]]),
    ],
)
def test_a_reply_is_shown_whole_whatever_its_segments_say(
    segments: list[list[Any]], expected: list[list[str]]
) -> None:
    assert pieces("ab😀cd", segments) == expected


def test_what_is_too_long_is_cut_in_its_middle() -> None:
    assert cut("x" * 10, 10) == "x" * 10
    assert cut("a" * 50 + "b" * 50, 20) == "a" * 10 + "\n[… 80 characters …]\n" + "b" * 10


WITHOUT = """
import sys
for name in ("altair", "vl_convert", "pyarrow"):
    sys.modules[name] = None
from pathlib import Path
from fallback.compare.report import write_report
written = write_report(Path(sys.argv[1]))
print([path.name for path in written.paths])
print(written.notes)
"""


def test_without_the_extra_the_rest_is_written_and_said(tmp_path: Path) -> None:
    hostile_folder(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, tmp_path], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "['report.html', 'report.md', 'results.csv']" in done.stdout
    assert "pip install 'toolcall-fallback[report]'" in done.stdout
    assert Elements((tmp_path / "report.html").read_text("utf-8")).tags.count("script") == 2
