"""A call whose argument stands for the result of another call of the same reply.

Models that plan ahead write ``send(to="<result of call 1>")`` beside the call whose result they
mean. Nobody may guess what will be there, so such a call is refused, and the model is told to make
it once it has the result. Precision comes first: only what can hardly be meant literally counts,
only beside another call, and never what the user has said. Made again alone, the same call runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fallback.messages import ToolCall

__all__ = ["awaited"]

_LONGEST = 200
"""Characters of a text that may be a placeholder; longer ones are content."""

_RESULT = r"(?:results?|outputs?|response|return(?:ed)?[ _]value)"
_ORDINAL = r"(?:\d{1,3}|first|second|third|previous|last|above|prior|earlier)"
# A whole value in double braces, or $-braces, as templates have it: {{city}}, ${city}
_BRACED = re.compile(r"\{\{[^{}]{1,80}\}\}|\$\{[^{}]{1,80}\}")
# $result, $result_1, $previous_result.id, $call_1.output, $1.result
_DOLLAR = re.compile(
    rf"(?i)\$(?:(?:{_ORDINAL}[ _.])?{_RESULT}(?:[_.]?\d{{1,3}})?|(?:call|step)[_.]?\d{{1,3}}"
    rf"|\d{{1,3}}(?=\.[a-z_]))(?:[.\[][\w.\[\]'\"]{{0,80}})?"
)
# <result of call 1>, [output of find_user], <previous result>, <find_user result>, <result>
_NAMED = re.compile(
    rf"(?i)[<\[](?:the[ _])?(?:{_RESULT}(?:[ _](?:of|from)[ _][^<>\[\]]{{1,80}}|[ _]?\d{{1,3}})?"
    rf"|(?:{_ORDINAL}|[\w.\-]{{1,80}})[ _]{_RESULT})[>\]]"
)


def awaited(call: ToolCall, calls: Iterable[ToolCall], said: str) -> str | None:
    """What the model is told about a call that needs a result which is not there yet.

    Args:
        call: valid in every other respect.
        calls: all calls of the reply, ``call`` among them.
        said: the user's words; what stands there is meant literally.

    Returns:
        The text, or ``None`` where the call stands on its own.
    """
    others = [other for other in calls if other.id != call.id]
    if not others:
        return None
    ids = {other.id for other in others}
    named = _Named(others)
    for path, text in _texts("$", call.arguments):
        if len(text) > _LONGEST or text in said:
            continue
        if text.strip() in ids or _is_placeholder(text.strip()) or named.in_(text):
            return (
                f"Not run: {path} is {text!r}, which stands for the result of another call. Wait"
                " for that result; then make this call again with the real value."
            )
    return None


def _is_placeholder(text: str) -> bool:
    return any(pattern.fullmatch(text) for pattern in (_BRACED, _DOLLAR, _NAMED))


class _Named:
    """``$find_user.id``, ``{{call_1.id}}`` inside a text: a reference to one of these very calls.

    One pattern for all, made when it is first needed: a reply may hold many texts and calls.
    """

    def __init__(self, calls: Iterable[ToolCall]) -> None:
        self._calls = calls
        self._pattern: re.Pattern[str] | None = None

    def in_(self, text: str) -> bool:
        if "$" not in text and "{{" not in text:
            return False
        if self._pattern is None:
            names = dict.fromkeys(name for c in self._calls for name in (c.id, c.name))
            named = "|".join(map(re.escape, names))
            self._pattern = re.compile(rf"(?:\$|\$\{{|\{{\{{)\s?(?:{named})(?![\w-])")
        return self._pattern.search(text) is not None


def _texts(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _texts(f"{path}.{key}", inner)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _texts(f"{path}[{index}]", inner)
