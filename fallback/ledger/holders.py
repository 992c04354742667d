"""Who is running an operation, or a turn, and whether that process is still there.

On Linux a process is named by the machine's boot, its namespace of process ids, its id and the
moment it started, so that an id that was given anew is not taken for the old one. Whoever sees the
same boot and namespace can say for sure whether it has gone. Everybody else (another machine, a
container, another system) cannot, and waits for the lease to run out: the tool's own deadline and a
margin.

A live holder that is given up too early does no harm: its operation becomes ``unknown``, which
nobody runs again by himself, and its own report still counts when it comes.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

__all__ = [
    "LEASE_MARGIN",
    "LEASE_SECONDS",
    "Holder",
    "has_gone",
    "holder_of",
    "lease_until",
    "loss",
    "this_process",
]

LEASE_SECONDS = 900.0
"""Lease of a tool without a deadline: longer than nearly any call of a tool, shorter than anybody
wants to wait for news."""

LEASE_MARGIN = 60.0
"""What is added to a tool's deadline: recording takes milliseconds, but clocks of machines differ,
by seconds where they are looked after."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A process. ``boot``, ``namespace`` and ``started`` are empty where the system has none."""

    host: str
    pid: int
    boot: str = ""
    namespace: str = ""
    started: str = ""

    def to_text(self) -> str:
        """As it is stored."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_text(text: str) -> Holder:
        """As it was stored."""
        return Holder(**json.loads(text))


def this_process() -> Holder:
    """The process that asks. Not remembered: a fork makes it another."""
    return holder_of(os.getpid())


def holder_of(pid: int) -> Holder:
    """A process of this machine."""
    boot, namespace = _place()
    return Holder(socket.gethostname(), pid, boot, namespace, _start_of(pid) or "")


def has_gone(holder: Holder) -> bool | None:
    """Whether the process has ended; ``None`` if that cannot be seen from here."""
    place = _place()
    if "" in place or (holder.boot, holder.namespace) != place:
        return None
    started = _start_of(holder.pid)
    return not _exists(holder.pid) if started is None else started != holder.started


def lease_until(now: float, seconds: float | None) -> float:
    """When to give up a holder that cannot be seen, for a tool with this deadline."""
    return now + (LEASE_SECONDS if seconds is None else seconds) + LEASE_MARGIN


def loss(holder: Holder, lease: float, now: float) -> str:
    """Why a holder whose lease ends then is taken for lost; empty while it is not."""
    if has_gone(holder):
        return f"process {holder.pid} on {holder.host} ended before it said what came of it"
    if now > lease:
        return f"process {holder.pid} on {holder.host} has not been heard of since its deadline"
    return ""


def _place() -> tuple[str, str]:
    """The boot and the namespace in which process ids mean something."""
    if sys.platform != "linux":
        return "", ""
    return _boot(), _read_link("/proc/self/ns/pid")


@cache
def _boot() -> str:
    return _read("/proc/sys/kernel/random/boot_id")


def _start_of(pid: int) -> str | None:
    """When a process started, in ticks since the boot; ``None`` if that cannot be read.

    A zombie has ended, only nobody has asked for its status yet; it is told from a live process by
    a start that no process has.
    """
    # /proc/PID/stat: the second field is the program's name in parentheses and may hold anything,
    # the third is the state, and the start is field 22 (man 5 proc).
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    if len(fields) < 20:
        return None
    return fields[19] if fields[0] not in ("Z", "X") else "ended"


def _exists(pid: int) -> bool:
    """Whether there is a process of that id, also where ``/proc`` hides those of other users."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _read_link(path: str) -> str:
    try:
        return str(Path(path).readlink())
    except OSError:
        return ""
