"""A process that dies in the middle of a payment, and what the next one does about it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = '''
import os, signal, sys
from pathlib import Path
from fallback import Policy, Session, tool
from fallback.testing import ScriptedBackend

folder, when = Path(sys.argv[1]), sys.argv[2]

def die(moment):
    if when == moment:
        os.kill(os.getpid(), signal.SIGKILL)

@tool(risk="reversible_write", idempotency_key=lambda order: f"order {order}")
def pay(order: int) -> str:
    """Pay an order."""
    die("before the effect")
    with (folder / "effects.txt").open("a") as effects:
        effects.write(f"paid {order}\\n")
    die("after the effect")
    return f"paid {order}"

def answer(request):
    die("after the call")
    return "Done."

call = '```tool_call\\n{"name": "pay", "arguments": {"order": 7}}\\n```'
with Session(
    "any",
    tools=[pay],
    backend=ScriptedBackend([call, answer]),
    policy=Policy(reversible_write="run"),
    ledger=folder / "ledger.sqlite",
) as session:
    (result,) = session.run("Pay order 7.").steps[0].results
print(result.kind or result.status, "again" if result.warnings else "")
'''

NEVER = "never"
MOMENTS = {
    "before the effect": ("outcome_unknown ", 0),
    "after the effect": ("outcome_unknown ", 1),
    "after the call": ("ok again", 1),
}


def run(folder: Path, when: str) -> subprocess.CompletedProcess[str]:
    program = folder / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    return subprocess.run([sys.executable, program, folder, when], capture_output=True, text=True)


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_an_effect_happens_once_at_most_wherever_the_process_dies(
    moment: str, tmp_path: Path
) -> None:
    says, count = MOMENTS[moment]
    assert run(tmp_path, moment).returncode == -9
    again = run(tmp_path, NEVER)
    assert again.stdout.rstrip("\n") == says, again.stderr
    effects = tmp_path / "effects.txt"
    assert (len(effects.read_text().splitlines()) if effects.exists() else 0) == count
