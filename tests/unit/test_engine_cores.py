from __future__ import annotations

import os

import pytest

from fallback.engine.cores import physical_cores, thread_count
from fallback.errors import ConfigurationError


def test_the_number_of_threads_can_be_set() -> None:
    assert thread_count({"FALLBACK_THREADS": "3"}) == 3
    assert thread_count({"FALLBACK_THREADS": ""}) == thread_count({}) == physical_cores()


@pytest.mark.parametrize("text", ["0", "-1", "many", "1.5", "²", "99999"])
def test_what_is_not_a_number_of_threads_is_one_clear_error(text: str) -> None:
    with pytest.raises(
        ConfigurationError, match=f"FALLBACK_THREADS is '{text}'; set it to a number"
    ):
        thread_count({"FALLBACK_THREADS": text})


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="Linux only")
def test_never_more_threads_than_the_process_has_processors() -> None:
    assert physical_cores() <= len(os.sched_getaffinity(0))
