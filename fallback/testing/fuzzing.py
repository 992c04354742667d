"""Fuzzing: hold the laws against a parser, ours or any other, until one breaks or time is up.

Hypothesis draws the samples and shrinks what breaks a law. Everything follows from the seed: the
same seed, law and dialect find the same fault again.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from types import FrameType
from typing import Any

from fallback.errors import ConfigurationError
from fallback.testing.laws import LAWS, Law, ours
from fallback.testing.samples import LawBroken, Sample, Subject
from fallback.testing.writers import WRITERS

EXAMPLES = 200
"""Samples that one round draws for each law."""

FEW = 10
"""The same for laws that look at one long reply at a time."""

_LONG = ("work_is_linear", "depth_is_bounded")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A law that a parser broke, with the smallest reply that was found to break it.

    Attributes:
        law: the law that is broken; :data:`~fallback.testing.laws.LAWS` has its sentence.
        detail: what was read, and what was meant.
        sample: the reply, the tools and how it was read.
        seed: with it, and ``found_by``, the first round finds the fault again.
        found_by: the law that was being tried; a parser may raise while any is.
    """

    law: str
    detail: str
    sample: Sample
    seed: int
    found_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a run.

    Attributes:
        fault: the first fault, if there is one.
        examples: how many samples were tried, those of the shrinking included.
        rounds: how many rounds were begun.
        laws: the names of the laws that were tried.
    """

    fault: Fault | None
    examples: int
    rounds: int
    laws: tuple[str, ...]


def fuzz(
    subject: Subject = ours,
    *,
    laws: Sequence[str] = (),
    dialects: Sequence[str] = (),
    seed: int = 0,
    seconds: float | None = None,
    rounds: int | None = None,
    examples: int = EXAMPLES,
    patience: float = 10.0,
) -> Outcome:
    """Hold laws against a parser.

    Args:
        subject: the parser; see :func:`fallback.testing.targets.load` for one of your own.
        laws: names of laws; by default all that make sense for the subject.
        dialects: in which calls are written; by default all.
        seed: of the first round; each round's is one more.
        seconds: no round is begun after that long.
        rounds: no more rounds than this; one, if neither is given.
        examples: samples for each law in each round.
        patience: seconds after which one reading counts as a hang, where the platform can tell.

    Raises:
        ConfigurationError: a law or a dialect that does not exist, or a law that only our own
            parser can be held to.
    """
    chosen = _chosen(laws, only_calls=subject is not ours)
    spoken = _known(dialects, WRITERS, "dialect") or tuple(WRITERS)
    end = None if seconds is None else monotonic() + seconds
    limit = 1 if rounds is None and seconds is None else rounds
    names = tuple(law.name for law in chosen)
    tried = number = 0
    while (limit is None or number < limit) and (end is None or number == 0 or monotonic() < end):
        for law in chosen:
            hunt = _Hunt(subject, law, patience)
            count = min(FEW, examples) if law.name in _LONG else examples
            fault = hunt.run(spoken, seed + number, count)
            tried += hunt.tried
            if fault is not None or (end is not None and monotonic() >= end):
                return Outcome(fault=fault, examples=tried, rounds=number + 1, laws=names)
        number += 1
    return Outcome(fault=None, examples=tried, rounds=number, laws=names)


def _chosen(names: Sequence[str], *, only_calls: bool) -> list[Law]:
    laws = [LAWS[name] for name in _known(names, LAWS, "law") or LAWS]
    if only_calls and names and (odd := [law.name for law in laws if not law.any_parser]):
        able = ", ".join(law.name for law in LAWS.values() if law.any_parser)
        raise ConfigurationError(
            f"the law {odd[0]!r} needs more than calls, so only our own parser can be held to it;"
            f" for other parsers there are {able}"
        )
    return [law for law in laws if law.any_parser or not only_calls]


def _known(names: Sequence[str], known: Mapping[str, object], what: str) -> tuple[str, ...]:
    for name in names:
        if name not in known:
            raise ConfigurationError(f"no {what} is called {name!r}; there are {', '.join(known)}")
    return tuple(names)


class _Hunt:
    """One law, one seed."""

    def __init__(self, subject: Subject, law: Law, patience: float) -> None:
        self.subject, self.law, self.patience = subject, law, patience
        self.tried = 0
        self.sample: Sample | None = None

    def run(self, dialects: Sequence[str], seed: int, examples: int) -> Fault | None:
        """Draw samples; the last one that was tried is the smallest if the law broke."""
        from hypothesis import HealthCheck, Phase, Verbosity, given, settings
        from hypothesis import seed as seeded

        from fallback.testing.strategies import for_law

        @seeded(seed)
        @settings(
            max_examples=examples,
            database=None,
            deadline=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
            verbosity=Verbosity.quiet,
        )
        @given(sample=for_law(self.law.name, dialects))
        def hunt(sample: Sample) -> None:
            self._try(sample)

        try:
            hunt()
        except LawBroken as broken:
            assert self.sample is not None  # noqa: S101  # a law is broken by a sample
            return Fault(
                law=broken.law,
                detail=broken.detail,
                sample=self.sample,
                seed=seed,
                found_by=self.law.name,
            )
        return None

    def _try(self, sample: Sample) -> None:
        self.tried += 1
        self.sample = sample
        try:
            with _within(self.patience):
                self.law.check(self.subject, sample)
        except (LawBroken, ConfigurationError):
            raise
        except _Hangs:
            detail = f"no answer within {self.patience:g} seconds"
            raise LawBroken("never_raises", detail) from None
        except Exception as error:
            detail = f"raised {type(error).__name__}: {error!s:.300}"
            raise LawBroken("never_raises", detail) from error


class _Hangs(BaseException):
    """Raised into a reading that takes too long; no ``except Exception`` holds it back."""


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    """Interrupt what takes too long, where signals can: the main thread of a Unix process."""
    alarm: Any = getattr(signal, "setitimer", None)
    if alarm is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(_number: int, _frame: FrameType | None) -> None:
        raise _Hangs

    before: Callable[..., Any] | int | None = signal.signal(signal.SIGALRM, ring)
    alarm(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        alarm(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
