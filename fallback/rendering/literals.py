"""JSON values as Python literals: the way the ``pythonic`` dialect writes arguments.

The rules of the language that matter here are those of the Python reference, "Literals" and
"Calls": https://docs.python.org/3/reference/lexical_analysis.html#literals. What is written is
read back as the same value; nothing else is allowed to appear.
"""

from __future__ import annotations

import json
import keyword
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["call", "literal"]

_WORD = re.compile(r"\w+")

# A double-quoted JSON string is a Python string too, except for three kinds of characters that
# JSON leaves raw: other controls, the two Unicode line breaks, and lone surrogates (no UTF-8
# carries them).
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def literal(value: Any) -> str:
    """Write a JSON value (``dict``, ``list``, ``str``, number, ``bool``, ``None``) as a literal."""
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_string(str(k))}: {literal(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(literal, value)) + "]"
    return repr(value)


def call(name: str, arguments: Mapping[str, Any]) -> str:
    """Write a call: ``name(key=literal, **{"no-identifier": literal})``, on one line.

    The name stands exactly as the tool declares it, even where Python could not spell it.
    """
    return f"{name}({', '.join(_arguments(arguments))})"


def _arguments(arguments: Mapping[str, Any]) -> Iterator[str]:
    for key, value in arguments.items():
        if _is_plain(key):
            yield f"{key}={literal(value)}"
        else:
            yield f"**{{{_string(key)}: {literal(value)}}}"


def _is_plain(key: str) -> bool:
    """Whether the key can be written before ``=`` and is read back as itself.

    Python folds identifiers to NFKC, so ``ﬁle`` would come back as ``file``; ``__debug__`` may not
    be assigned to. A few signs, such as ``·``, are part of an identifier and of no word elsewhere.
    """
    return (
        key.isidentifier()
        and _WORD.fullmatch(key) is not None
        and not keyword.iskeyword(key)
        and key != "__debug__"
        and unicodedata.normalize("NFKC", key) == key
    )


def _string(text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=False)
    return _ESCAPED.sub(_escape, quoted)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
