"""How many threads a model works with."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from fallback.errors import ConfigurationError

THREADS_VARIABLE = "FALLBACK_THREADS"


def thread_count(environ: Mapping[str, str] = os.environ) -> int:
    """``FALLBACK_THREADS``, or one for each physical core; -1 leaves it to llama.cpp.

    The number changes the speed and never the reply. Fewer are faster on a machine that is busy
    with other things, since the threads wait for each other at every step.
    """
    text = environ.get(THREADS_VARIABLE, "")
    if not text:
        return physical_cores()
    if not text.isascii() or not text.isdigit() or not 0 < int(text) <= 1024:
        raise ConfigurationError(
            f"{THREADS_VARIABLE} is {text!r}; set it to a number from 1 to 1024"
        )
    return int(text)


def physical_cores() -> int:
    """Cores that this process may use, hyper-threads counted once; -1 leaves it to llama.cpp.

    A second thread on one core slows matrix products down.
    """
    try:
        allowed = os.sched_getaffinity(0)
        topology = Path("/sys/devices/system/cpu")
        siblings = {
            (topology / f"cpu{cpu}/topology/thread_siblings_list").read_text(encoding="ascii")
            for cpu in allowed
        }
    except (AttributeError, OSError):  # not Linux, or a container that hides its processors
        return -1
    return len(siblings) or -1
