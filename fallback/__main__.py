"""``python -m fallback`` is the command ``fallback``."""

from __future__ import annotations

import sys

from fallback.cli import main

if __name__ == "__main__":
    sys.exit(main())
