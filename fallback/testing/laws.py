"""What must hold for every reply: each law is a function with a name and a sentence.

A law is given a *subject*, the parser under test, and a *sample*, a reply with what is known about
it, and raises :class:`LawBroken` if the two do not agree. Some laws need only calls and so can be
asked of any parser; the others look at our own reading and at its chunks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from fallback.catalogue import Catalogue
from fallback.limits import DEFAULT_LIMITS, Limits
from fallback.messages import SHOWN, Reading
from fallback.parsing import Parser
from fallback.schema import violations
from fallback.testing.effort import effort
from fallback.testing.samples import LawBroken, Sample, Subject
from fallback.testing.streaming import (
    clean_calls_are_told_once,
    every_start_ends,
    pieces_make_the_arguments,
    strings_arrive_in_time,
)
from fallback.testing.writers import WRITERS, Written


def ours(sample: Sample) -> Sequence[Written]:
    """Our own parser as a subject."""
    reading = read(sample, [sample.text])
    return [Written(call.name, call.arguments) for call in reading.calls]


def read(sample: Sample, chunks: Iterable[str], *, limits: Limits = DEFAULT_LIMITS) -> Reading:
    """Our reading of a sample that arrives in these chunks."""
    parser = Parser(Catalogue(sample.tools), limits=limits)
    for chunk in chunks:
        parser.feed(chunk)
    parser.close(sample.finish_reason)
    return parser.reading


# -- laws that need only the calls


def round_trip(subject: Subject, sample: Sample) -> None:
    """Calls that a dialect writes are read as the same calls, in the same order."""
    _expect("round_trip", subject, sample)


def quoted_never_called(subject: Subject, sample: Sample) -> None:
    """A call that is quoted, shown as an example or only thought about is not made."""
    _expect("quoted_never_called", subject, sample)


def truncated_never_called(subject: Subject, sample: Sample) -> None:
    """A call that is cut off inside an argument is not made."""
    _expect("truncated_never_called", subject, sample)


def results_never_called(subject: Subject, sample: Sample) -> None:
    """What stands in a tool's result is not a call, whoever wrote the result."""
    _expect("results_never_called", subject, sample)


def undeclared_never_called(subject: Subject, sample: Sample) -> None:
    """Only tools that were offered are called."""
    names = {tool["function"]["name"] for tool in sample.tools}
    for call in subject(sample):
        if call.name not in names:
            raise LawBroken("undeclared_never_called", f"called {call.name!r}, which is not a tool")


def never_raises(subject: Subject, sample: Sample) -> None:
    """No reply makes the parser raise or hang."""
    subject(sample)


def _expect(law: str, subject: Subject, sample: Sample) -> None:
    got = subject(sample)
    wanted = sample.calls or ()
    if len(got) != len(wanted) or not all(map(_same_call, got, wanted)):
        raise LawBroken(law, f"read {_shown(got)}, meant {_shown(wanted)}")


def _same_call(one: Written, other: Written) -> bool:
    return one.name == other.name and same(one.arguments, other.arguments)


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same; ``1`` is ``1.0``, and ``True`` is neither."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)


def _shown(calls: Sequence[Written]) -> str:
    text = json.dumps([[call.name, call.arguments] for call in calls], default=repr)
    return text if len(text) <= 500 else text[:499] + "…"


# -- laws of our own reading


def no_complaints(_: Subject, sample: Sample) -> None:
    """What a dialect writes is read without a problem, a repair or a left-over."""
    reading = read(sample, [sample.text])
    wrong = [problem.message for problem in reading.problems]
    if WRITERS[sample.dialect].exact:
        wrong += [f"repair {repair}" for call in reading.calls for repair in call.repairs]
    wrong += [f"the text {reading.text!r}"] if reading.text.strip() else []
    if wrong:
        raise LawBroken("no_complaints", "; ".join(wrong))


def chunks_do_not_matter(_: Subject, sample: Sample) -> None:
    """Any split of a reply gives the same reading, down to one character."""
    whole = read(sample, [sample.text])
    for chunks in (list(sample.text), sample.chunks()):
        if (split := read(sample, chunks)) != whole:
            raise LawBroken("chunks_do_not_matter", f"whole {whole!r:.800}, split {split!r:.800}")


def nothing_is_lost(_: Subject, sample: Sample) -> None:
    """The segments of a reading tile the reply, and text and reasoning are what they say."""
    tiles(read(sample, [sample.text]), sample.text)


def tiles(reading: Reading, text: str) -> None:
    """See :func:`nothing_is_lost`, for a reading that is already there."""
    edges = [0, *(edge for part in reading.segments for edge in (part.start, part.end)), len(text)]
    if any(end != start for end, start in zip(edges[::2], edges[1::2], strict=True)):
        raise LawBroken("nothing_is_lost", f"the segments {reading.segments} do not tile the reply")
    for kind, shown in (("text", reading.text), ("reasoning", reading.reasoning)):
        kinds = SHOWN if kind == "text" else {kind}
        pieces = [text[part.start : part.end] for part in reading.segments if part.kind in kinds]
        if "".join(pieces) != shown:
            raise LawBroken(
                "nothing_is_lost", f"{kind} {shown!r:.300} is not what {kind} segments hold"
            )


def calls_are_valid(_: Subject, sample: Sample) -> None:
    """Every call names a declared tool, and its arguments satisfy that tool's schema."""
    valid(read(sample, [sample.text]), Catalogue(sample.tools))


def valid(reading: Reading, catalogue: Catalogue) -> None:
    """See :func:`calls_are_valid`, for a reading that is already there."""
    for call in reading.calls:
        tool = catalogue.get(call.name)
        if tool is None:
            raise LawBroken("calls_are_valid", f"{call.name!r} is not declared")
        if depth_of(call.arguments) > DEFAULT_LIMITS.max_depth:
            raise LawBroken("calls_are_valid", f"the arguments of {call.name!r} are too deep")
        if found := violations(tool.parameters, call.arguments):
            raise LawBroken("calls_are_valid", f"{call.name!r}: {found[0].message}")


def depth_is_bounded(_: Subject, sample: Sample) -> None:
    """However deep a reply nests, the arguments of a call do not, and nothing overflows."""
    reading = read(sample, [sample.text])
    deepest = max((depth_of(call.arguments) for call in reading.calls), default=0)
    if deepest > DEFAULT_LIMITS.max_depth:
        raise LawBroken("depth_is_bounded", f"arguments {deepest} deep")


def depth_of(value: Any) -> int:
    """How deep a value nests; a scalar is 0."""
    depth, level = 0, [value]
    while level := [part for part in level if isinstance(part, dict | list)]:
        depth += 1
        level = [
            item for part in level for item in (part.values() if isinstance(part, dict) else part)
        ]
    return depth


GROWTH = 5.0
"""Work on four times the text, as a multiple; linear work has 4, quadratic work 16."""

BASE = 2000
"""Calls that reading anything at all may cost, so that short texts do not judge."""


def work_is_linear(_: Subject, sample: Sample) -> None:
    """Four times the reply costs at most some four times the work, whole or in small chunks."""
    for size in (None, 4):
        small, large = (effort(partial(_read_in, sample, text, size)) for text in _both(sample))
        if large > GROWTH * small + BASE:
            how = f"in chunks of {size}" if size else "whole"
            raise LawBroken("work_is_linear", f"{how}: {small} steps, then {large} for four times")


def _both(sample: Sample) -> tuple[str, str]:
    return sample.text, sample.longer or sample.text


def _read_in(sample: Sample, text: str, size: int | None) -> None:
    read(
        sample, [text] if size is None else (text[i : i + size] for i in range(0, len(text), size))
    )


@dataclass(frozen=True, slots=True)
class Law:
    """One law.

    Attributes:
        check: the function; its name is the law's and its first line the sentence.
        any_parser: whether it can be asked of a parser that only returns calls.
    """

    check: Callable[[Subject, Sample], None]
    any_parser: bool = False

    @property
    def name(self) -> str:
        """What it is called."""
        return self.check.__name__

    @property
    def sentence(self) -> str:
        """What it says."""
        return (self.check.__doc__ or "").partition("\n")[0]


LAWS: Mapping[str, Law] = {
    law.name: law
    for law in (
        Law(never_raises, any_parser=True),
        Law(round_trip, any_parser=True),
        Law(quoted_never_called, any_parser=True),
        Law(truncated_never_called, any_parser=True),
        Law(undeclared_never_called, any_parser=True),
        Law(results_never_called, any_parser=True),
        Law(no_complaints),
        Law(chunks_do_not_matter),
        Law(nothing_is_lost),
        Law(calls_are_valid),
        Law(depth_is_bounded),
        Law(work_is_linear),
        Law(every_start_ends),
        Law(pieces_make_the_arguments),
        Law(clean_calls_are_told_once),
        Law(strings_arrive_in_time),
    )
}
"""All laws by name, those for any parser first."""
