"""One environment per peer, made on first use below a cache folder; nothing is installed elsewhere.

Versions are pinned here and in ``roster``. ``bare`` packages are installed without what they
declare: SGLang's detectors and BFCL's checker declare whole inference stacks (gigabytes) of which
the parts used here import only what stands in ``packages``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import platformdirs

_MINUTES = 15


class Unavailable(Exception):
    """A peer that cannot be installed here; the message is the reason, in one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """A virtual environment of Python packages, or a folder of npm packages.

    Attributes:
        name: of the folder.
        packages: pinned requirements, installed with their dependencies.
        bare: pinned requirements installed without their dependencies.
        npm: pinned npm packages; then there is no Python in it.
    """

    name: str
    packages: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()
    npm: tuple[str, ...] = ()

    @property
    def recipe(self) -> str:
        return "\n".join([*self.packages, "--bare", *self.bare, "--npm", *self.npm])


CANITOOLCALL = Environment(name="canitoolcall", bare=("canitoolcall==0.1.1",))
BFCL = Environment(
    name="bfcl",
    bare=("bfcl-eval==2026.3.23",),
    packages=(
        "filelock==3.20.0",
        "tenacity==9.2.1",
        "tree-sitter==0.21.3",
        "tree-sitter-java==0.21.0",
        "tree-sitter-javascript==0.21.4",
    ),
)


def default_cache() -> Path:
    return platformdirs.user_cache_path("toolcall-fallback") / "peers"


def prepared(environment: Environment, cache: Path) -> Path:
    """The folder of the environment, made now if it is not there or its pins have changed.

    Raises:
        Unavailable: a package cannot be installed on this machine.
    """
    folder = cache / environment.name
    made = folder / "recipe.txt"
    if made.is_file() and made.read_text("utf-8") == environment.recipe:
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for command in _commands(environment, folder):
        _run(command, folder)
    made.write_text(environment.recipe, "utf-8")
    return folder


def python_of(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _commands(environment: Environment, folder: Path) -> list[list[str]]:
    if environment.npm:
        return [[_npm(), "install", "--no-audit", "--no-fund", "--prefix", ".", *environment.npm]]
    python = str(python_of(folder))
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    commands = [[sys.executable, "-m", "venv", str(folder)]]
    if environment.bare:
        commands.append([*pip, "--no-deps", *environment.bare])
    if environment.packages:
        commands.append([*pip, *environment.packages])
    return commands


def _npm() -> str:
    npm = shutil.which("npm")
    if npm is None:
        raise Unavailable("npm is not installed")
    return npm


def _run(command: Sequence[str], folder: Path) -> None:
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=_MINUTES * 60, check=False
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{command[0]} took longer than {_MINUTES} minutes") from None
    if done.returncode:
        said = [
            line for line in (done.stderr or done.stdout).splitlines() if "error" in line.lower()
        ]
        raise Unavailable(said[0][:200] if said else f"{command[0]} ended with {done.returncode}")
