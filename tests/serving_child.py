"""For tests of programs that serve: one in a process of its own, and the address that it tells."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def serving_child(command: list[Any], **settings: Any) -> Iterator[tuple[str, Any]]:
    """The first line that the program prints, and its process, which the test ends.

    Args:
        command: the program and its arguments.
        settings: of :class:`subprocess.Popen`, such as where its errors go.
    """
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **settings) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip(), process
        except BaseException:
            process.kill()  # a test that failed does not wait for it
            raise
