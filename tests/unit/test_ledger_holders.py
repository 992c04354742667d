from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from fallback.ledger.holders import Holder, has_gone, holder_of, lease_until, this_process

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only leases tell")


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        yield process
        process.kill()


def test_a_process_that_runs_has_not_gone(child: subprocess.Popen[bytes]) -> None:
    assert has_gone(this_process()) is False
    assert has_gone(holder_of(child.pid)) is False


def test_a_process_that_was_killed_has_gone_even_while_its_parent_has_not_noticed(
    child: subprocess.Popen[bytes],
) -> None:
    holder = holder_of(child.pid)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and is a zombie
    assert has_gone(holder) is True
    child.wait()
    assert has_gone(holder) is True


def test_another_process_of_the_same_id_is_another_process() -> None:
    assert has_gone(replace(this_process(), started="1")) is True


@pytest.mark.parametrize(
    "change", [{"boot": "another"}, {"namespace": "pid:[1]"}, {"boot": "", "namespace": ""}]
)
def test_nobody_can_see_a_process_of_another_machine(change: dict[str, str]) -> None:
    assert has_gone(replace(this_process(), **change)) is None


def test_a_holder_is_stored_whole() -> None:
    holder = this_process()
    assert Holder.from_text(holder.to_text()) == holder
    assert holder.pid == os.getpid()


def test_a_lease_lasts_as_long_as_the_tool_may_run_and_a_margin() -> None:
    assert lease_until(1000, 30) == 1090
    assert lease_until(1000, None) == 1960
