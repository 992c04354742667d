"""An environment of its own for each client: a venv or an npm prefix in the cache folder."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import distributions
from pathlib import Path
from typing import Literal

import platformdirs

__all__ = ["Kind", "cache_folder", "install", "own_environ", "versions"]

Kind = Literal["python", "npm"]
_INSTALL_SECONDS = 900


def cache_folder() -> Path:
    """Where the environments are kept from one run to the next."""
    base = os.environ.get("FALLBACK_CACHE_DIR") or platformdirs.user_cache_dir("fallback")
    return Path(base) / "clients"


def own_environ(home: Path) -> dict[str, str]:
    """What a client sees: its own empty home, no credentials and no settings of ours."""
    kept = {key: os.environ[key] for key in ("PATH", "LANG", "TMPDIR") if key in os.environ}
    loopback = {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}
    return {**kept, **loopback, "HOME": str(home), "CI": "1"}


def install(name: str, kind: Kind, packages: Sequence[str]) -> Path:
    """The folder of the environment, made when it is not there yet.

    Raises:
        RuntimeError: what pip or npm said last.
    """
    folder = cache_folder() / name
    done = folder / "installed.json"
    if done.is_file() and json.loads(done.read_text(encoding="utf-8")) == list(packages):
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    if kind == "python":
        _run([sys.executable, "-m", "venv", str(folder / "venv")])
        pip = [str(folder / "venv/bin/python"), "-m", "pip", "install", "--quiet"]
        if packages:
            _run([*pip, "--disable-pip-version-check", *packages])
    else:
        _run(["npm", "install", "--no-fund", "--no-audit", "--prefix", str(folder), *packages])
    done.write_text(json.dumps(list(packages)), encoding="utf-8")
    return folder


def _run(command: Sequence[str]) -> None:
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=False
    )
    if ended.returncode:
        raise RuntimeError((ended.stderr.strip() or ended.stdout.strip()).splitlines()[-1])


def versions(folder: Path, kind: Kind, packages: Sequence[str]) -> dict[str, str]:
    """The installed version of each of the packages."""
    if kind == "npm":
        names = [re.sub(r"(?<=.)@.*", "", package) for package in packages]
        return {name: _npm_version(folder, name) for name in names}
    names = [re.split(r"[\[<>=]", package)[0] for package in packages]
    (site,) = (folder / "venv/lib").glob("python*/site-packages")
    found = {_plain(d.metadata["Name"]): d.version for d in distributions(path=[str(site)])}
    return {name: found.get(_plain(name), "?") for name in names}


def _npm_version(folder: Path, name: str) -> str:
    told = (folder / "node_modules" / name / "package.json").read_text(encoding="utf-8")
    return str(json.loads(told)["version"])


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
