"""What the programs of command-line agents share: run the command, and read its sums."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import conversation

FOLDER = Path(os.environ.get("CLIENT_FOLDER", "."))
HOME = Path(os.environ.get("HOME", "."))
WORK = HOME / "work"


def program(name: str) -> str:
    """The command that the npm package has installed."""
    return str(FOLDER / "node_modules/.bin" / name)


def _own_path() -> str:
    """The package's folder before all others: it may have brought a node of its own."""
    return f"{FOLDER / 'node_modules/.bin'}{os.pathsep}{os.environ.get('PATH', '')}"


def start(command: Sequence[str], **environ: str) -> subprocess.CompletedProcess[str]:
    """Run it in the working folder until it ends.

    The runner ends what takes too long: that is no failure that the client has reported.
    """
    WORK.mkdir(exist_ok=True)
    return subprocess.run(
        command,
        cwd=WORK,
        env={**os.environ, "PATH": _own_path(), **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def run(command: Sequence[str], **environ: str) -> list[dict[str, Any]]:
    """The JSON lines that it has printed.

    Raises:
        RuntimeError: it printed none, with its last words.
    """
    ended = start(command, **environ)
    lines = [line for line in ended.stdout.splitlines() if line.startswith("{")]
    if not lines:
        told = (ended.stderr.strip() or ended.stdout.strip()).splitlines() or ["nothing printed"]
        raise RuntimeError(told[-1])
    return [json.loads(line) for line in lines]


def serve(answer: Callable[[str, str], str]) -> None:
    """Like ``conversation.serve``, with the sums read from the file that the commands write."""

    def with_sums(model: str, prompt: str) -> str:
        WORK.mkdir(exist_ok=True)
        (WORK / "pixel.png").write_bytes(base64.b64decode(conversation.PICTURE))
        sums = WORK / "sums.txt"
        sums.unlink(missing_ok=True)
        try:
            return answer(model, prompt)
        finally:
            if sums.is_file():
                written = sums.read_text(encoding="utf-8").splitlines()
                conversation.ran += [[int(n) for n in line.split()] for line in written]

    conversation.serve(with_sums)
