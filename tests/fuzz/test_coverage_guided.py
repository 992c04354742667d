"""A short run of the coverage-guided fuzzer, where atheris has a wheel; see `scripts/fuzz`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
EXECUTIONS = 15_000

pytestmark = pytest.mark.fuzz


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, ROOT / "tests" / "fuzz" / "harness.py", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        errors="replace",
    )


def test_no_input_breaks_a_law(tmp_path: Path) -> None:
    pytest.importorskip("atheris", reason="atheris has no wheel for this platform")
    done = run("--executions", str(EXECUTIONS), "--seed", "7", cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    assert list(tmp_path.iterdir()) == []
    counted = re.search(r"stat::number_of_executed_units: (\d+)", done.stderr)
    assert counted is not None
    assert int(counted[1]) >= EXECUTIONS
