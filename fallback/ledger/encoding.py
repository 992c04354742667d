"""Values as text for storage and hashing, and secrets masked in what is written to the log.

Text is ASCII JSON with sorted keys: PostgreSQL keeps neither NUL nor lone surrogates, and a hash
needs one spelling.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from typing import Any

from fallback.execution.content import to_text
from fallback.ledger.values import Operation
from fallback.messages import Source, ToolResult

__all__ = [
    "Masker",
    "canonical",
    "load_result",
    "masked",
    "operation_text",
    "result_text",
    "sha256",
]

Masker = Callable[[str], str]
"""Replaces what is secret in a text."""

MASK = "***"

LONGEST_TEXT = 8_000
"""Characters of one text that the log keeps: enough to see what was meant. The operation itself
keeps the whole."""

_LONGEST_SECRET = 2_000

_SECRET_NAME = re.compile(
    r"(?i)(?:^|[_-])(?:passw(?:or)?d|passphrase|pwd|pin|cvv|secret|token|credentials?|authorization"
    r"|(?:api|access|private)[_-]?key)(?:$|[_-])|(?:password|secret|token|apikey)$"
)


def canonical(value: Any) -> str:
    """The one text of a JSON value, and some text for any other."""
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):  # no JSON: keys of two types, cycles, objects
        return json.dumps(to_text(value))


def sha256(text: str) -> str:
    """SHA-256 of a text in UTF-8, in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def masked(value: Any, mask: Masker) -> Any:
    """A JSON value with its secrets masked: what has the name of one, and what looks like one."""
    if isinstance(value, str):
        if len(value) <= LONGEST_TEXT:
            return mask(value)
        # A little more is read than is kept, lest half of a secret survive at the cut.
        kept = mask(value[: LONGEST_TEXT + _LONGEST_SECRET])[:LONGEST_TEXT]
        return f"{kept} ({len(value)} characters)"
    if isinstance(value, Mapping):
        return {
            mask(str(k)): MASK if _SECRET_NAME.search(str(k)) and v else masked(v, mask)
            for k, v in value.items()
        }
    if isinstance(value, list | tuple):
        return [masked(entry, mask) for entry in value]
    return value


def operation_text(operation: Operation) -> str:
    """What is kept of an operation besides its columns."""
    return canonical(
        {
            "arguments": dict(operation.arguments),
            "origin": asdict(operation.origin),
            "user": operation.user,
            "tenant": operation.tenant,
            "approval_id": operation.approval_id,
            "versions": asdict(operation.versions),
        }
    )


def result_text(result: ToolResult) -> str:
    """A result as text; its ``value`` in its JSON form, or as text if it has none."""
    return canonical(
        {**{f.name: getattr(result, f.name) for f in _FIELDS}, "value": _plain(result.value)}
    )


def _plain(value: Any) -> Any:
    """A value in its JSON form: itself where it has one, otherwise what a model is shown of it."""
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError, RecursionError):
        text = to_text(value)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def load_result(text: str) -> ToolResult:
    """The result that :func:`result_text` wrote; what a newer version added is left out."""
    record = json.loads(text)
    known = {f.name: record[f.name] for f in _FIELDS if f.name in record}
    lists = {
        "warnings": tuple(known["warnings"]),
        "fields": tuple(known.get("fields", ())),
        "provenance": tuple(Source(*source) for source in known.get("provenance", ())),
    }
    return ToolResult(**{**known, **lists})


_FIELDS = fields(ToolResult)
