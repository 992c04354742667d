"""Templates and vocabularies of llama.cpp, to check ours against; read in place, never committed.

They are members of the source distribution of ``llama-cpp-python``. It is downloaded once (pip
asks its build system for the name and the version, which needs no compiler), checked by its hash,
and the members of interest are kept in the cache directory.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import platformdirs
import pytest

VERSION = "0.3.36"
SHA256 = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
WANTED = ("models/templates/", "models/ggml-vocab-", "tests/test-chat-template.cpp")


@pytest.fixture(scope="session")
def llama_cpp() -> Path:
    """Folder that holds llama.cpp's ``models`` and ``tests``."""
    folder = platformdirs.user_cache_path("fallback") / f"llama-cpp-{VERSION}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as made:
            extract(download(Path(made)), Path(made) / "kept")
            # Another run may have been faster; what it kept is the same.
            if not folder.is_dir():
                (Path(made) / "kept").rename(folder)
    return folder


def download(into: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-input"]
    command += ["--no-binary", "llama-cpp-python", "--dest", str(into)]
    done = subprocess.run(
        [*command, f"llama-cpp-python=={VERSION}"], capture_output=True, text=True
    )
    archives = list(into.glob("*.tar.gz"))
    if not archives:
        reason = f"the sources of llama.cpp cannot be had: {done.stderr.strip()[-300:]}"
        # A build must not pass because it checked nothing.
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    with archives[0].open("rb") as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() == SHA256
    return archives[0]


def extract(archive: Path, into: Path) -> None:
    """Keep plain files only, under names made from their last two parts."""
    with tarfile.open(archive) as members:
        for member in members:
            _, _, name = member.name.partition("/vendor/llama.cpp/")
            content = members.extractfile(member) if name.startswith(WANTED) else None
            if content is None or not name.endswith((".jinja", ".gguf", ".cpp")):
                continue
            target = into.joinpath(*Path(name).parts[-2:])
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.read())
