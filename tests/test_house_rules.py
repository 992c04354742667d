"""Promises about the source itself: sizes, and what never appears in it."""

from __future__ import annotations

import ast
import re
import statistics
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = sorted((ROOT / "fallback").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))
EVERY_MODULE = [*PACKAGE, *TESTS, *EXAMPLES, *sorted((ROOT / "benchmarks").rglob("*.py"))]


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def tracked_text() -> dict[str, str]:
    """Every file that is or would be committed, if it is text."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.decode()
    texts = {}
    for name in filter(None, listing.split("\0")):
        path = ROOT / name
        data = path.read_bytes() if path.is_file() else b"\0"
        if b"\0" not in data:
            texts[name] = data.decode("utf-8")
    assert len(texts) > 20
    return texts


def lines_of(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("path", EVERY_MODULE, ids=name_of)
def test_a_module_fits_in_one_sitting(path: Path) -> None:
    # A test file may be longer: it is a list, and nobody has to hold it in the head.
    assert lines_of(path) <= (600 if path in TESTS else 400)


def test_most_modules_are_small() -> None:
    assert statistics.median(map(lines_of, PACKAGE)) <= 150


def test_nearly_all_functions_fit_on_a_screen() -> None:
    lengths = sorted(
        node.end_lineno - node.lineno + 1
        for path in PACKAGE
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno
    )
    assert len(lengths) > 50
    assert lengths[int(len(lengths) * 0.95)] <= 45


@pytest.mark.parametrize("path", [*PACKAGE, *EXAMPLES], ids=name_of)
def test_nothing_is_ever_evaluated(path: Path) -> None:
    called = {
        node.func.id
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not called & {"eval", "exec", "compile", "__import__"}


def imported_modules(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


@pytest.mark.parametrize("path", PACKAGE, ids=name_of)
def test_nothing_unpickles(path: Path) -> None:
    assert not imported_modules(path) & {"pickle", "marshal", "shelve", "dill", "cloudpickle"}


def calls_of(path: Path) -> set[str]:
    """Dotted names of what a module calls, as far as they are plain names."""
    return {
        ast.unparse(node.func)
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute)
    }


@pytest.mark.parametrize("path", TESTS, ids=name_of)
def test_no_test_sleeps(path: Path) -> None:
    asleep = {name for name in calls_of(path) if name.rpartition(".")[2] == "sleep"}
    # An ``anyio.sleep_forever()`` or a sleep that is cancelled waits for an event, not for a time.
    assert not asleep & {"time.sleep", "sleep"}


CLOCKS = {"time.time", "time.monotonic", "time.perf_counter", "perf_counter", "monotonic"}


@pytest.mark.parametrize("path", TESTS, ids=name_of)
def test_no_test_judges_by_the_clock(path: Path) -> None:
    assert not calls_of(path) & CLOCKS


# Written in two halves, so that this file does not hold what it forbids.
FORBIDDEN = {
    "a machine's path": re.compile(r"(?<![\w.{}$-])/(?:wo" r"rk|ro" r"ot|farm|tmp/w)/"),
    "a registry's host": re.compile(
        r"py" r"pi\.org|files\.python" r"hosted|registry\.npm" r"js|deb\.deb" r"ian\.org"
    ),
    "a loose end": re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X)\b"),
}


@pytest.mark.parametrize("kind", FORBIDDEN)
def test_the_tree_holds_no(kind: str) -> None:
    found = [
        f"{name}:{number}: {line.strip()[:100]}"
        for name, text in tracked_text().items()
        if not name.endswith(".jsonl")  # replies of models say what they like
        for number, line in enumerate(text.splitlines(), 1)
        if FORBIDDEN[kind].search(line)
    ]
    assert not found


SUPPRESSION = re.compile(r"#\s*(?:noqa|type:\s*ignore|pragma:)(?P<code>[^#]*)(?P<reason>#.*)?")


@pytest.mark.parametrize("path", EVERY_MODULE, ids=name_of)
def test_every_suppression_names_a_code_and_a_reason(path: Path) -> None:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        found = SUPPRESSION.search(line)
        if found is None or "re.compile" in line:
            continue
        where = f"{name_of(path)}:{number}"
        assert re.search(r"[A-Z]+\d+|\[[\w-]+\]|no cover|no branch", found["code"]), where
        assert found["reason"] or re.search(r"[a-z]{3,} \w{2,}", found["code"]), where


def test_scripts_can_be_run() -> None:
    scripts = [*(ROOT / "scripts").iterdir(), ROOT / ".ci" / "run"]
    for script in sorted(s for s in scripts if s.is_file()):
        assert script.stat().st_mode & 0o111, script
        first = script.read_text(encoding="utf-8").splitlines()[0]
        assert first.startswith("#!/usr/bin/env "), script
