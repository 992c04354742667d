"""What must hold for the events of every reply, however it is cut into chunks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from fallback.catalogue import Catalogue
from fallback.messages import ToolCall
from fallback.parsing import Parser
from fallback.parsing.events import (
    ArgumentsDelta,
    CallReady,
    CallStarted,
    CallWithdrawn,
    Event,
    TextDelta,
)
from fallback.testing.samples import LawBroken, Sample, Subject
from fallback.testing.writers import WRITERS, Written

DELAY = 12
"""Characters of a string that may have arrived and not be told yet: an escape can be as long."""


@dataclass(slots=True)
class Told:
    """What a reply's events said of one call.

    Attributes:
        name: the tool.
        pieces: the pieces of its arguments.
        call: the call, once it is ready.
        withdrawn: why it is none.
    """

    name: str
    pieces: list[str] = field(default_factory=list)
    call: ToolCall | None = None
    withdrawn: str | None = None


def events_of(sample: Sample, chunks: Iterable[str]) -> list[Event]:
    """All events of a sample that arrives in these chunks."""
    parser = Parser(Catalogue(sample.tools))
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    return events + parser.close(sample.finish_reason)


def told(events: Iterable[Event]) -> list[Told]:
    """The calls that the events tell of, in the order in which they were started.

    Raises:
        LawBroken: an event names a call that was not started or has ended, or one never ends.
    """
    calls: list[Told] = []

    def open_call(index: int) -> Told:
        if index >= len(calls) or calls[index].call or calls[index].withdrawn is not None:
            raise LawBroken("every_start_ends", f"an event of call {index}, which is not open")
        return calls[index]

    for event in events:
        if isinstance(event, CallStarted):
            if event.index != len(calls):
                raise LawBroken("every_start_ends", f"call {event.index} follows {len(calls) - 1}")
            calls.append(Told(event.name))
        elif isinstance(event, ArgumentsDelta):
            open_call(event.index).pieces.append(event.fragment)
        elif isinstance(event, CallReady):
            open_call(event.index).call = event.call
        elif isinstance(event, CallWithdrawn):
            open_call(event.index).withdrawn = event.reason
    for index, call in enumerate(calls):
        if not call.call and call.withdrawn is None:
            raise LawBroken("every_start_ends", f"call {index} of {call.name!r} has no end")
    return calls


def every_start_ends(_: Subject, sample: Sample) -> None:
    """A call that was started is ready or withdrawn, once, and all of it is told in between."""
    for chunks in _ways(sample):
        told(events_of(sample, chunks))


def pieces_make_the_arguments(_: Subject, sample: Sample) -> None:
    """The pieces of a call that is ready are its arguments as JSON, wherever the reply is cut."""
    ready = []
    for chunks in _ways(sample):
        calls = [call for call in told(events_of(sample, chunks)) if call.call]
        for call in calls:
            check_pieces(call)
        ready.append([(call.name, "".join(call.pieces)) for call in calls])
    if any(one != ready[0] for one in ready):
        raise LawBroken("pieces_make_the_arguments", f"depends on the chunks: {ready!r:.800}")


def check_pieces(told_call: Told) -> None:
    """See :func:`pieces_make_the_arguments`, for one call that is ready."""
    written, call = "".join(told_call.pieces), told_call.call
    if call and written != json.dumps(call.arguments, ensure_ascii=False):
        raise LawBroken("pieces_make_the_arguments", f"{written!r:.400} for {call}")


def clean_calls_are_told_once(_: Subject, sample: Sample) -> None:
    """What a dialect writes is never withdrawn, and no text follows the beginning of a call."""
    events = events_of(sample, sample.text)
    for call in told(events):
        if call.withdrawn is not None and not _in_doubt(sample.calls or ()):
            raise LawBroken("clean_calls_are_told_once", f"{call.name}: {call.withdrawn}")
    started = next((i for i, e in enumerate(events) if isinstance(e, CallStarted)), len(events))
    if any(isinstance(event, TextDelta) and event.text.strip() for event in events[started:]):
        raise LawBroken("clean_calls_are_told_once", "text behind the beginning of a call")


def strings_arrive_in_time(_: Subject, sample: Sample) -> None:
    """Of a string that is being written, all but the last few characters have been told."""
    declared = {
        tool["function"]["name"]: tool["function"]["parameters"]["properties"]
        for tool in sample.tools
    }
    for call in sample.calls or ():
        for key, value in call.arguments.items():
            plain = declared[call.name].get(key) == {"type": "string"}
            if plain and not _in_doubt([Written(call.name, {key: value})]):
                _arrives(sample, call.name, key, value)


def _arrives(sample: Sample, name: str, key: str, value: str) -> None:
    """Feed a call with that one argument and look, character by character, what has been told."""
    write = WRITERS[sample.dialect].write
    text = write([Written(name, {key: value})])
    parser = Parser(Catalogue(sample.tools))
    fed, pieces = 0, ""
    for size in range(len(value)):
        # Where the first characters of the value end in the text: there, another would stand.
        other = write([Written(name, {key: f"{value[:size]}\u01c2{value[size:]}"})])
        same = next((at for at in range(len(text)) if text[at] != other[at]), len(text))
        place = same + DELAY
        if place > len(text):
            return
        events = [event for char in text[fed:place] for event in parser.feed(char)]
        fed = max(fed, place)
        pieces += "".join(event.fragment for event in events if isinstance(event, ArgumentsDelta))
        wanted = json.dumps({key: value[:size]}, ensure_ascii=False)[:-2]
        if not pieces.startswith(wanted):
            raise LawBroken("strings_arrive_in_time", f"after {text[:fed]!r}: {pieces!r}")


def _in_doubt(calls: Sequence[Written]) -> bool:
    """Whether a string holds what may be a path or a formula with single backslashes."""
    text = json.dumps([call.arguments for call in calls])
    return any(sign in text for sign in ("\\b", "\\f", "$\\", ":\\"))


def _ways(sample: Sample) -> tuple[list[str], ...]:
    return [sample.text], list(sample.text), sample.chunks()
