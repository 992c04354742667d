"""MiniMax M3: elements, each tag of which stands behind one token of its own.

::

    ]<]minimax[>[<invoke name="get_weather">]<]minimax[>[<city>Oslo]<]minimax[>[</city>
    ]<]minimax[>[</invoke>

Because of the token nothing in a value is ever a tag. Objects nest, and an array is a run of
``item`` elements. Source: the model's chat template.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any

from fallback.parsing.bodies import Fault, Item, truncated
from fallback.parsing.frames import CANDIDATE, Frames
from fallback.parsing.rawcall import RawCall
from fallback.parsing.source import AnyOf, Waiter

SIGN = "]<]minimax[>["
_OPENER = f'{SIGN}<invoke name="'
_CLOSER = f"{SIGN}</invoke>"
_INVOKE = re.compile(r'<invoke name="([^"<>]{1,128})">\s*')
_TAG = re.compile(r"<(/?)([\w.\-]{1,128})>(.*)", re.DOTALL)


def elements(frames: Frames, at: int) -> Generator[Waiter | None, None, Item | None]:
    """Read one ``invoke`` at ``at``; ``None`` if none begins there."""
    source = frames.source
    while not source.final and len(source.buf) - at < len(_OPENER):
        if not _OPENER.startswith(source.buf[at:]):
            return None
        yield None
    if not source.buf.startswith(_OPENER, at):
        return None
    frames.spent += CANDIDATE
    search = at
    while (end := source.buf.find(_CLOSER, search)) < 0 and not source.final:
        search = max(at, len(source.buf) - len(_CLOSER))
        yield AnyOf(">")
    frames.looked_at((end if end >= 0 else len(source.buf)) - at)
    _, head, *rest = source.buf[at : end if end >= 0 else len(source.buf)].split(SIGN)
    opener = _INVOKE.fullmatch(head)
    name = opener.group(1) if opener else ""
    if end < 0:
        return Item(at, len(source.buf), fault=truncated(name))
    end += len(_CLOSER)
    arguments = _tree(rest, frames.limits.max_depth) if opener else None
    if not isinstance(arguments, dict):
        return Item(at, end, fault=Fault("invalid_json", "its elements do not nest", name))
    call = RawCall(name, arguments, dialect="minimax_m3", span=frames.span(at, end), textual=True)
    return Item(at, end, [call])


def _tree(pieces: list[str], deepest: int) -> Any:
    """The elements as a value; ``None`` if they do not nest, or one stands twice in an object."""
    # Of each open element: its name, its text and its children.
    stack: list[tuple[str, str, list[tuple[str, Any]]]] = [("", "", [])]
    for piece in pieces:
        tag = _TAG.fullmatch(piece)
        if tag is None or len(stack) > deepest:
            return None
        closes, name, text = tag.groups()
        if not closes:
            stack.append((name, text, []))
            continue
        opened, inner, children = stack.pop()
        if opened != name or text.strip() or not stack:
            return None
        value = _value(children) if children else inner
        if value is None:
            return None
        stack[-1][2].append((name, value))
    return _object(stack[0][2]) if len(stack) == 1 else None


def _value(children: list[tuple[str, Any]]) -> Any:
    if all(name == "item" for name, _ in children):
        return [value for _, value in children]
    return _object(children)


def _object(children: list[tuple[str, Any]]) -> dict[str, Any] | None:
    value = dict(children)
    return value if len(value) == len(children) else None
