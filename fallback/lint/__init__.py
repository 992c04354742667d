"""A catalogue of tools, read the way a reviewer would; behind ``fallback lint``."""

from __future__ import annotations

from fallback.lint.check import RULES, lint
from fallback.lint.record import Cost, Finding, Report, Rule, Severity, Silenced

__all__ = ["RULES", "Cost", "Finding", "Report", "Rule", "Severity", "Silenced", "lint"]
