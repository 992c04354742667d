"""How sure a number is: intervals of 95 % and exact tests. Everything is repeatable.

* Shares have Wilson's score interval (E. B. Wilson, JASA 22, 1927), which keeps inside 0 and 1 and
  holds for small numbers.
* Means and percentiles have the percentile interval of the bootstrap (Efron 1979) with a fixed
  seed; the values that belong to one case are drawn together.
* Two ways are compared on the same cases with the exact sign test on the cases where they differ;
  with one repeat that is McNemar's exact test. Many comparisons at once are corrected by Holm's
  method (Scand. J. Statist. 6, 1979).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import NamedTuple

__all__ = ["Interval", "bootstrap", "holm", "mean", "percentile", "sign_test", "wilson"]

_Z = 1.959963984540054
"""The 97.5th percentile of the normal distribution."""

RESAMPLES = 500
"""Draws of a bootstrap: enough for two digits of a bound, and a large report in seconds."""


class Interval(NamedTuple):
    """An estimate, its bounds, and how many cases it is made of."""

    value: float
    low: float
    high: float
    n: int


def wilson(good: float, n: int) -> Interval:
    """A share and Wilson's interval; ``n`` is at least 1."""
    share = good / n
    centre = share + _Z * _Z / (2 * n)
    spread = _Z * math.sqrt(share * (1 - share) / n + _Z * _Z / (4 * n * n))
    scale = 1 + _Z * _Z / n
    low, high = (centre - spread) / scale, (centre + spread) / scale
    # Rounding would leave a share of 0 or 1 a little outside its own interval.
    return Interval(share, min(max(low, 0.0), share), max(min(high, 1.0), share), n)


def mean(values: Sequence[float]) -> float:
    """The mean of at least one value."""
    return math.fsum(values) / len(values)


def percentile(share: float) -> Callable[[Sequence[float]], float]:
    """A function that gives a percentile, between values by linear interpolation."""

    def of(values: Sequence[float]) -> float:
        ordered = sorted(values)
        place = share * (len(ordered) - 1)
        below = math.floor(place)
        above = min(below + 1, len(ordered) - 1)
        return ordered[below] + (ordered[above] - ordered[below]) * (place - below)

    return of


def bootstrap(
    groups: Mapping[str, Sequence[float]],
    statistic: Callable[[Sequence[float]], float],
    *,
    seed: int = 0,
) -> Interval:
    """A statistic of all values and its interval.

    Args:
        groups: the values by case; a case is drawn as a whole. At least one value in all.
        statistic: such as :func:`mean`.
        seed: of the draws.
    """
    cases = [list(values) for values in groups.values() if values]
    everything = [value for values in cases for value in values]
    estimate = statistic(everything)
    if min(everything) == max(everything):
        return Interval(estimate, estimate, estimate, len(cases))
    chance = random.Random(seed)  # noqa: S311  # repeatable, keeps no secret
    found = sorted(
        statistic([value for values in chance.choices(cases, k=len(cases)) for value in values])
        for _ in range(RESAMPLES)
    )
    low = found[int(0.025 * (RESAMPLES - 1))]
    high = found[math.ceil(0.975 * (RESAMPLES - 1))]
    return Interval(estimate, min(low, estimate), max(high, estimate), len(cases))


@cache
def sign_test(better: int, worse: int) -> float:
    """The two-sided p-value of so uneven a split of the cases that differ; 1 if none do."""
    n = better + worse
    tail = sum(math.comb(n, k) for k in range(min(better, worse) + 1))
    return float(min(Fraction(1), Fraction(2 * tail, 2**n)))


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values corrected for their number, in the same order."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    corrected = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = highest
    return corrected
