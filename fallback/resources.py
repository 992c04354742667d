"""Where the templates and grammars lie: at the root of a checkout, inside the package in a
wheel."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def data_dir(kind: str) -> Path:
    """Folder of the ``templates`` or ``grammars``."""
    package = Path(__file__).resolve().parent
    installed = package / "_data" / kind
    return installed if installed.is_dir() else package.parent / kind
