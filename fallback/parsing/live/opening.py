"""Who listens to a call that begins to arrive. The listeners are loaded with the first one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fallback.parsing.framing import Framer
from fallback.parsing.live.calls import Live
from fallback.parsing.source import Waiter

if TYPE_CHECKING:
    from fallback.parsing.live.arguments import Arguments
    from fallback.parsing.live.follow import Follower
    from fallback.parsing.live.line import PlainLine
    from fallback.parsing.live.tagged import TaggedValue


def object_follower(live: Live, at: int, *, enveloped: bool) -> Follower | None:
    """Hears an object that may state a call; the names in it say whether it does."""
    if not live.permitted:
        return None
    from fallback.parsing.live.find import Finder
    from fallback.parsing.live.follow import Follower
    from fallback.parsing.live.shape import Shape

    begin = partial(live.begin, at=at)
    return Follower(Shape(Finder(begin, live.knows, enveloped=enveloped)))


def arguments_follower(
    live: Live, name: str, at: int, *, python: bool = False, gemma: bool = False
) -> Follower | None:
    """Hears the arguments of a call whose name stands in front of them.

    A Python call is started with its first argument only: a name and a parenthesis are also prose.
    """
    arguments = live.begin(name, at, late=python)
    if arguments is None:
        return None
    from fallback.parsing.live.follow import Follower
    from fallback.parsing.live.gemma import GemmaFollower
    from fallback.parsing.live.shape import Shape

    if gemma:
        return GemmaFollower(Shape(arguments))
    return Follower(Shape(arguments), python=python)


def plain_line(live: Live, name: str, key: str, at: int) -> PlainLine | None:
    """Hears a line that is the one argument of a call."""
    arguments = live.begin(name, at)
    if arguments is None:
        return None
    from fallback.parsing.live.line import PlainLine

    return PlainLine(arguments, key)


def heard(waiter: Waiter, framer: Framer, follower: Follower, text: str) -> Waiter:
    """A waiter that lets the follower hear what the framer is fed with, from ``text`` on."""
    from fallback.parsing.live.hearing import Heard

    return Heard(waiter, framer, follower, text)


def tagged_value(
    arguments: Arguments | None, key: str, json_type: str | None, *, exact: bool = False
) -> TaggedValue | None:
    """Hears one value between tags; see :class:`~fallback.parsing.live.tagged.TaggedValue`."""
    if arguments is None or arguments.stopped:
        return None
    from fallback.parsing.live.tagged import TaggedValue

    return TaggedValue(arguments, key, json_type, exact=exact)
