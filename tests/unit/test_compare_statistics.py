from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallback.compare.intervals import bootstrap, holm, mean, percentile, sign_test, wilson


@pytest.mark.parametrize(
    ("good", "n", "low", "high"),
    [  # R: binom::binom.wilson
        (0, 10, 0.0, 0.2775),
        (5, 10, 0.2366, 0.7634),
        (10, 10, 0.7225, 1.0),
        (45, 50, 0.7864, 0.9565),
        (1, 1, 0.2065, 1.0),
    ],
)
def test_wilsons_interval_is_the_published_one(good: int, n: int, low: float, high: float) -> None:
    found = wilson(good, n)
    assert found.value == good / n
    assert (found.low, found.high) == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))


@given(st.integers(1, 10_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilsons_interval_holds_the_share_and_stays_inside(pair: tuple[int, int]) -> None:
    found = wilson(*pair)
    assert 0 <= found.low <= found.value <= found.high <= 1


@pytest.mark.parametrize(
    ("better", "worse", "p"),
    [  # R: binom.test(better, better + worse)
        (0, 0, 1.0),
        (1, 0, 1.0),
        (5, 0, 0.0625),
        (6, 0, 0.03125),
        (10, 2, 0.03857),
        (8, 8, 1.0),
        (15, 5, 0.04139),
    ],
)
def test_the_sign_test_is_exact(better: int, worse: int, p: float) -> None:
    assert sign_test(better, worse) == pytest.approx(p, abs=1e-5)
    assert sign_test(worse, better) == sign_test(better, worse)


def test_the_sign_test_stands_large_numbers() -> None:
    assert 0 < sign_test(1200, 1000) < 0.001
    assert sign_test(5000, 0) >= 0


def test_holms_correction_is_the_published_one() -> None:
    # R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm")
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


@given(st.lists(st.floats(0, 1), max_size=20))
def test_a_corrected_p_is_never_smaller_and_keeps_the_order(p_values: list[float]) -> None:
    corrected = holm(p_values)
    assert all(after >= before for before, after in zip(p_values, corrected, strict=True))
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    ranked = [corrected[i] for i in order]
    assert ranked == sorted(ranked)


def test_percentiles_lie_between_the_values() -> None:
    assert percentile(0.5)([4.0, 1.0, 3.0]) == 3.0
    assert percentile(0.5)([1.0, 2.0]) == 1.5
    assert percentile(0.95)([7.0]) == 7.0
    assert percentile(0.95)([float(n) for n in range(101)]) == pytest.approx(95.0)


def test_the_bootstrap_is_repeatable_and_near_the_textbook() -> None:
    values = {str(n): [float(n % 10)] for n in range(200)}
    found = bootstrap(values, mean, seed=1)
    assert found == bootstrap(values, mean, seed=1)
    assert found.value == 4.5
    half = 1.96 * math.sqrt(8.25 / 200)
    assert found.low == pytest.approx(4.5 - half, abs=0.08)
    assert found.high == pytest.approx(4.5 + half, abs=0.08)


def test_repeats_of_a_case_do_not_make_an_interval_narrower() -> None:
    once = {str(n): [float(n % 2)] for n in range(20)}
    often = {case: values * 10 for case, values in once.items()}
    first, second = bootstrap(once, mean), bootstrap(often, mean)
    assert (second.low, second.high) == (first.low, first.high)
    assert second.n == first.n == 20
