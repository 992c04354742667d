"""A turn that waits, decided and finished by other processes."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from scripted_ollama import ollama

from fallback.cli import main
from fallback.cli.exits import ExitCode
from fallback.ledger import Approval, Ledger

TOOLS = '''
from pathlib import Path
from fallback import tool

LOG = Path(__file__).with_name("effects.txt")

@tool(risk="read_only")
def balance(account: str) -> int:
    """Balance of an account."""
    with LOG.open("a") as log:
        log.write(f"balance {account}\\n")
    return 100

def preview(to: str, amount: int, user: str) -> dict:
    return {"recipient": to, "amount": amount, "before": 100, "after": 100 - amount}

@tool(risk="external_communication", injected=["user"], preview=preview)
def pay(to: str, amount: int, user: str) -> str:
    """Pay somebody."""
    with LOG.open("a") as log:
        log.write(f"pay {user} {to} {amount}\\n")
    return f"paid {amount}"
'''
BOTH = (
    '```tool_call\n{"name": "balance", "arguments": {"account": "main"}}\n'
    '{"name": "pay", "arguments": {"to": "bob\\u001b[31m", "amount": 5}}\n```'
)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "tools.py").write_text(TOOLS, encoding="utf-8")
    return tmp_path


def effects(shop: Path) -> list[str]:
    log = shop / "effects.txt"
    return log.read_text(encoding="utf-8").splitlines() if log.exists() else []


def arguments(shop: Path, host: str, *more: str) -> list[str]:
    given = ["--host", host, "--model", "tiny", "--mode", "prompt", "--tools", f"{shop}/tools.py"]
    return [*given, "--user", "ada", "--ledger", f"{shop}/ledger.sqlite", *more]


def in_a_process(*command: str, said: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fallback", *command], capture_output=True, text=True, input=said
    )


def waiting(shop: Path) -> Approval:
    with Ledger.open(shop / "ledger.sqlite", create=False) as ledger:
        (approval,) = ledger.approvals.list()
    return approval


def test_a_turn_is_begun_approved_and_finished_by_three_processes(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = f"--ledger={shop}/ledger.sqlite"
    with ollama(BOTH, "Bob has his 5.") as (host, seen):
        begun = in_a_process("run", "Pay bob 5.", *arguments(shop, host))
        assert begun.returncode == ExitCode.WAITING, begun.stderr
        approval = waiting(shop)
        assert f"fallback approvals approve {approval.id}" in begun.stdout
        assert f"fallback resume {approval.origin.turn}" in begun.stdout
        assert effects(shop) == ["balance main"]

        shown = printed(capsys, "show", approval.id, ledger)
        assert "recipient: bob\u241b[31m" in shown, "shown, and not obeyed"
        assert "after: 95" in shown
        turn_id = approval.origin.turn
        assert main(["resume", turn_id, *arguments(shop, host)]) == ExitCode.WAITING
        approved = in_a_process("approvals", "approve", approval.id, "--by", "carol", ledger)
        assert approved.stdout.endswith(f"go on with: fallback resume {turn_id}\n")
        assert main(["resume", turn_id, *arguments(shop, host, "--user=eve")]) == ExitCode.USAGE

        done = in_a_process("resume", turn_id, *arguments(shop, host, "--json"))
        assert done.returncode == ExitCode.OK, done.stderr
    turn = json.loads(done.stdout)
    assert turn["answer"] == "Bob has his 5."
    assert turn["id"] == turn_id
    assert turn["tools_used"] == ["balance", "pay"]
    assert effects(shop) == ["balance main", "pay ada bob\x1b[31m 5"]
    assert len(seen.seen) == 2, "the model was asked once before the wait and once after it"
    assert main(["resume", turn_id, *arguments(shop, host)]) == ExitCode.USAGE
    assert f"no turn '{turn_id}' is waiting" in capsys.readouterr().err


def test_a_turn_that_somebody_else_goes_on_with_is_one_line(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ollama(BOTH, "Bob has his 5.") as (host, _):
        assert main(["run", "Pay bob 5.", *arguments(shop, host)]) == ExitCode.WAITING
        approval = waiting(shop)
        turn_id = approval.origin.turn
        with Ledger.open(shop / "ledger.sqlite") as ledger:
            ledger.approvals.approve(approval.id, "carol")
            ledger.paused.claim(turn_id, "another", seconds=60)
            capsys.readouterr()
            assert main(["resume", turn_id, *arguments(shop, host)]) == ExitCode.LEDGER
            said = capsys.readouterr().err
            assert f"turn {turn_id} is being resumed by" in said
            assert said.count("\n") == 1
            ledger.paused.release(turn_id, "another")
        assert main(["resume", turn_id, *arguments(shop, host)]) == ExitCode.OK
    assert effects(shop) == ["balance main", "pay ada bob\x1b[31m 5"]


def test_a_refusal_is_told_to_the_model_without_its_reason(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = f"--ledger={shop}/ledger.sqlite"
    with ollama(BOTH, "Then not.") as (host, seen):
        assert main(["run", "Pay bob 5.", *arguments(shop, host)]) == ExitCode.WAITING
        approval = waiting(shop)
        deny = ["approvals", "deny", approval.id, "--by=carol", "--reason=fraud", ledger]
        assert main(deny) == ExitCode.OK
        assert main(["resume", approval.origin.turn, *arguments(shop, host)]) == ExitCode.OK
    assert effects(shop) == ["balance main"]
    assert "Then not." in capsys.readouterr().out
    assert "fraud" not in json.dumps(seen.seen)


@pytest.mark.parametrize(
    ("typed", "code", "paid"),
    [
        ("what?\nyes\n", ExitCode.OK, True),
        ("n\n", ExitCode.OK, False),
        ("later\n", ExitCode.WAITING, False),
        ("", ExitCode.WAITING, False),
    ],
)
def test_a_person_at_the_terminal_is_asked(
    shop: Path,
    typed: str,
    code: int,
    paid: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    with ollama(BOTH, "So it is.") as (host, _):
        assert main(["run", "Pay bob 5.", *arguments(shop, host, "--approve")]) == code
    assert ("pay ada bob\x1b[31m 5" in effects(shop)) is paid
    said = capsys.readouterr().err
    assert "recipient: bob\u241b[31m" in said
    assert said.count("allow it?") == (2 if typed.startswith("what") else 1)


def test_without_a_ledger_it_says_that_nothing_is_kept(
    shop: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FALLBACK_LEDGER", raising=False)
    with ollama(BOTH) as (host, _):
        *given, _, _ = arguments(shop, host)
        assert main(["run", "Pay bob 5.", *given]) == ExitCode.WAITING
    assert "use --approve, or --ledger FILE" in capsys.readouterr().out


def test_the_question_and_the_answers_cannot_both_come_from_standard_input(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["run", "-", "--approve"]) == ExitCode.USAGE
    assert "give the question as argument" in capsys.readouterr().err


@pytest.fixture
def asked(tmp_path: Path) -> tuple[str, Approval]:
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        one = Approval(hash="h", tool="pay", arguments={"to": "bob"}, needed=2, user="ada")
        return f"--ledger={tmp_path}/ledger.sqlite", ledger.approvals.request(one)


def printed(capsys: pytest.CaptureFixture[str], *command: str) -> Any:
    assert main(["approvals", *command]) == ExitCode.OK
    return capsys.readouterr().out


def test_two_people_decide(asked: tuple[str, Approval], capsys: pytest.CaptureFixture[str]) -> None:
    ledger, approval = asked
    assert "needs 1 more" in printed(capsys, "approve", approval.id, "--by=carol", ledger)
    assert main(["approvals", "approve", approval.id, "--by=Carol", ledger]) == ExitCode.LEDGER
    assert "2 different people" in capsys.readouterr().err
    assert "is approved" in printed(capsys, "approve", approval.id, "--by=dave", ledger)
    shown = printed(capsys, "show", approval.id, ledger)
    assert "vote 2 of 2  approve, dave" in shown


def test_the_list_shows_what_waits_and_on_demand_everything(
    asked: tuple[str, Approval], capsys: pytest.CaptureFixture[str]
) -> None:
    ledger, approval = asked
    assert approval.id in printed(capsys, "list", ledger)
    printed(capsys, "deny", approval.id, "--by=carol", ledger)
    assert printed(capsys, "list", ledger) == ""
    assert "denied" in printed(capsys, "list", "--status=all", ledger)
    (record,) = json.loads(printed(capsys, "list", "--status=denied", "--json", ledger))[
        "approvals"
    ]
    assert record["arguments"] == {"to": "bob"}
    assert [vote["by"] for vote in record["votes"]] == ["carol"]
    assert json.loads(printed(capsys, "show", approval.id, "--json", ledger)) == record


def test_what_is_not_there_is_one_line(
    asked: tuple[str, Approval], capsys: pytest.CaptureFixture[str]
) -> None:
    ledger, _ = asked
    for command in ("show", "approve", "deny"):
        assert main(["approvals", command, "ap_0", ledger]) == ExitCode.LEDGER
        assert "no approval 'ap_0'" in capsys.readouterr().err
