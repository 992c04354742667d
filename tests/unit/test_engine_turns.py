from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from fallback.engine.cancel import Cancellation, CancelledError
from fallback.engine.pump import Pump, SilenceError
from fallback.engine.turns import QueueFullError, Turns


def in_thread(function: object) -> threading.Thread:
    thread = threading.Thread(target=function)  # type: ignore[arg-type] # a callable
    thread.start()
    return thread


def wait_in_line(turns: Turns, cancellation: Cancellation, came: list[int], number: int) -> None:
    try:
        turns.take(cancellation)
    except CancelledError:
        came.append(-number)
        return
    came.append(number)
    turns.release()


def queue_up(
    turns: Turns, came: list[int], count: int
) -> list[tuple[threading.Thread, Cancellation]]:
    """Let ``count`` threads wait, in a known order: each is in line before the next one starts."""
    queue = []
    for number in range(1, count + 1):
        cancellation = Cancellation()
        thread = threading.Thread(target=wait_in_line, args=(turns, cancellation, came, number))
        thread.start()
        while turns.waiting < number:
            assert thread.is_alive()
        queue.append((thread, cancellation))
    return queue


def test_whoever_asked_first_comes_first() -> None:
    turns, came = Turns(10), []
    turns.take()
    queue = queue_up(turns, came, 4)

    turns.release()
    for thread, _ in queue:
        thread.join()

    assert came == [1, 2, 3, 4]
    assert turns.try_take()


def test_one_who_gives_up_does_not_hold_up_the_rest() -> None:
    turns, came = Turns(10), []
    turns.take()
    queue = queue_up(turns, came, 3)

    queue[1][1].cancel()
    queue[1][0].join()
    assert came == [-2]
    turns.release()
    queue[0][0].join()
    queue[2][0].join()

    assert came == [-2, 1, 3]


def test_a_turn_may_be_given_back_by_another_thread() -> None:
    turns = Turns(1)
    turns.take()

    in_thread(turns.release).join()

    assert turns.try_take()
    assert not turns.try_take()


def test_a_full_queue_refuses_at_once() -> None:
    turns, came = Turns(1), []
    turns.take()
    queue = queue_up(turns, came, 1)

    with pytest.raises(QueueFullError):
        turns.take(Cancellation())

    turns.release()
    queue[0][0].join()


def test_a_request_that_was_given_up_before_does_not_even_wait() -> None:
    cancellation = Cancellation()
    cancellation.cancel()

    with pytest.raises(CancelledError):
        Turns(1).take(cancellation)


def test_actions_run_once_and_late_ones_at_once() -> None:
    cancellation, ran = Cancellation(), []
    cancellation.on_cancel(lambda: ran.append("early"))

    cancellation.cancel()
    cancellation.cancel()
    cancellation.on_cancel(lambda: ran.append("late"))

    assert ran == ["early", "late"]
    assert cancellation.cancelled


def test_a_pump_hands_over_what_its_source_makes() -> None:
    ended: list[BaseException | None] = []
    pump = Pump(range(3), Cancellation(), on_end=ended.append)

    assert list(pump) == [0, 1, 2]
    assert list(pump) == []
    assert ended == [None]


def test_what_the_source_raises_is_raised_where_it_is_read() -> None:
    def source() -> Iterator[int]:
        yield 1
        raise ValueError("broken")

    ended: list[BaseException | None] = []
    pump = Pump(source(), Cancellation(), on_end=ended.append)

    assert next(pump) == 1
    with pytest.raises(ValueError, match="broken"):
        next(pump)
    assert isinstance(ended[0], ValueError)


def test_a_source_runs_to_its_end_though_nobody_reads() -> None:
    done = threading.Event()
    pump = Pump(range(1000), Cancellation(), on_end=lambda _: done.set())

    assert done.wait(60)
    assert next(pump) == 0


def test_giving_up_wakes_a_reader_that_waits() -> None:
    cancellation, hold = Cancellation(), threading.Event()

    def source() -> Iterator[int]:
        hold.wait()
        yield 1

    pump = Pump(source(), cancellation, on_end=lambda _: None)
    in_thread(cancellation.cancel)

    with pytest.raises(CancelledError):
        next(pump)
    hold.set()


def test_silence_beyond_the_timeout_gives_the_request_up() -> None:
    cancellation, hold = Cancellation(), threading.Event()
    cancellation.on_cancel(hold.set)

    def source() -> Iterator[int]:
        hold.wait()
        yield 1

    pump = Pump(source(), cancellation, on_end=lambda _: None, timeout=0.01)

    with pytest.raises(SilenceError, match=r"0\.01 seconds"):
        next(pump)
    assert cancellation.cancelled


def test_the_engine_itself_is_never_refused_a_turn() -> None:
    turns, took = Turns(0), []
    turns.take()

    def close() -> None:
        turns.take()
        took.append(True)

    thread = in_thread(close)
    while not turns.waiting:
        assert thread.is_alive()
    turns.release()
    thread.join()

    assert took == [True]
