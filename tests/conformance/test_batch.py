"""``fallback parse --batch`` answers the conformance cases as the parser reads them."""

from __future__ import annotations

import json
import subprocess
import sys

from fallback.cli.records import reading_record
from fallback.testing.cases import PATH, cases, read


def test_the_command_reads_every_case_as_the_parser_does() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fallback", "parse", "--batch", str(PATH)], capture_output=True
    )
    assert (done.returncode, done.stderr) == (0, b"")
    answered = [json.loads(line) for line in done.stdout.splitlines()]
    expected = [reading_record(read(case, case.get("chunks"))) for case in cases()]
    assert answered == json.loads(json.dumps(expected))
