"""How probable each of a few replies is, from servers that tell the likeliest next tokens."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallback.errors import CapabilityError
from fallback.ollama.exchange import Exchange
from fallback.ollama.plan import GenerationPlan
from fallback.ollama.scoring import Walked, follow, next_token, walk

Told = Mapping[str, float]


def answer(tokens: Told) -> dict[str, Any]:
    """One generated token, the likeliest, and its alternatives, as Ollama tells them."""
    entries = [{"token": t, "logprob": p, "bytes": list(t.encode())} for t, p in tokens.items()]
    best = max(entries, key=lambda entry: float(str(entry["logprob"])))
    return {"response": best["token"], "logprobs": [{**best, "top_logprobs": entries}]}


def walked(values: Sequence[str], told: Mapping[str, Told]) -> tuple[list[str], tuple[float, ...]]:
    """The places that were asked about, and the outcome."""
    places, found = asked(walk(values, where="here"), told)
    return places, found.logprobs


def asked(
    asking: Generator[str, Mapping[str, Any], Walked], told: Mapping[str, Told]
) -> tuple[list[str], Walked]:
    places = []
    try:
        place = next(asking)
        while True:
            places.append(place)
            place = asking.send(answer(told[place]))
    except StopIteration as stop:
        return places, stop.value


def test_values_that_begin_differently_cost_one_request() -> None:
    told = {"": {"get": -0.1, "search": -3.0, "x": -4.0}}
    assert walked(['get"', 'search"'], told) == ([""], (-0.1, -3.0))


def test_all_tokens_that_can_only_begin_one_value_count_for_it() -> None:
    told = {"": {"get": math.log(0.5), "ge": math.log(0.25), "s": math.log(0.125)}}
    _, (get, search) = walked(['get"', 'search"'], told)
    assert get == pytest.approx(math.log(0.75))
    assert search == pytest.approx(math.log(0.125))


def test_what_values_have_in_common_is_written_before_the_next_question() -> None:
    told = {"": {"fetch": -0.5, "none": -2.0}, "fetch_all": {"_cats": -0.25, "_dogs": -4.0}}
    places, scores = walked(['fetch_all_cats"', 'fetch_all_dogs"', 'none"'], told)
    assert places == ["", "fetch_all"]
    assert scores == pytest.approx((-0.75, -4.5, -2.0))


@pytest.mark.parametrize(
    ("names", "token", "place"),
    [
        (["get_weather", "get_time"], "get", "get"),
        (["legal_case.find", "legal_case.close"], "legal", "legal_case"),
        (["look_flights", "look_flips"], "look", "look"),
        (["cat-one", "cat-two"], "cat", "cat"),
        (["getWeather", "getWind"], "get", "get"),
        (["a_b1", "a_b2"], "a_b", "a_b"),
        (["über_uns", "über_sie"], "ü", "über"),
        (['{"name": "cat"}', '{"name": "dog"}'], "{", '{"name": "'),
        (["cat('x')", "cat('y')"], "cat", "cat('"),
    ],
)
def test_the_next_question_is_asked_where_a_token_may_end(
    names: list[str], token: str, place: str
) -> None:
    """Where the name is cut in the middle of a token, no model goes on with the rest of it."""
    asking = walk([f'{name}"' for name in names], where="here")
    next(asking)
    assert asking.send(answer({token: -0.5})) == place


def test_a_value_that_is_longer_than_another_is_told_from_it_by_its_end() -> None:
    told = {"": {"get": -0.5}, "get": {'"': -3.0, '",': -2.0, "_all": -1.0}}
    _, (short, long) = walked(['get", ', 'get_all", '], told)
    assert short == pytest.approx(-0.5 + math.log(math.exp(-3) + math.exp(-2)))
    assert long == pytest.approx(-1.5)


def test_a_value_that_is_nowhere_among_the_likeliest_has_the_most_that_it_can_have() -> None:
    told = {"": {"get": -0.1, "a": -5.0, "b": -7.0}}
    assert walked(['get"', 'none"'], told)[1] == (-0.1, -7.0)
    asking = walk(['get"', 'none"'], where="here")
    next(asking)
    with pytest.raises(StopIteration) as ended:
        asking.send(answer(told[""]))
    assert ended.value.value.unseen == {1}


def test_what_is_hardly_ever_written_is_not_asked_about() -> None:
    told = {"": {"get": -0.1, "g": -20.0}, "get": {"_a": -0.1, "_b": -3.0}}
    assert walked(['get_a"', 'get_b"'], told)[0] == ["", "get"]


def test_tokens_are_cut_where_bytes_are_cut() -> None:
    entries = [
        {"token": "\N{REPLACEMENT CHARACTER}", "logprob": -0.5, "bytes": [0xC3]},
        {"token": "z", "logprob": -1.5},
    ]
    asking = walk(['über"', 'zu"'], where="here")
    assert next(asking) == ""
    with pytest.raises(StopIteration) as ended:
        asking.send({"logprobs": [{**entries[0], "top_logprobs": entries}]})
    assert ended.value.value == ((-0.5, -1.5), frozenset())


@pytest.mark.parametrize(
    "reply",
    [
        {"response": "get"},
        {"logprobs": []},
        {"logprobs": "no"},
        {"logprobs": [None]},
        {"logprobs": [{"token": "x"}]},
        {"logprobs": [{"token": "x", "logprob": float("nan"), "top_logprobs": 3}]},
    ],
)
def test_a_server_that_tells_no_log_probabilities_is_told_what_is_missing(reply: Any) -> None:
    asking = walk(['get"', 'none"'], where="http://gpu:11434")
    next(asking)
    with pytest.raises(CapabilityError, match=r"http://gpu:11434 tells no log-prob.* 0\.12\.11"):
        asking.send(reply)


def test_one_token_is_asked_for_behind_what_is_written() -> None:
    body = {"prompt": "p", "raw": True, "stream": True, "options": {"temperature": 0.7, "seed": 1}}
    asked = Exchange("POST", "/api/generate", body)
    plan = GenerationPlan(exchange=asked, kind="generate", path="")
    assert next_token(plan, "get_").body == {
        "prompt": "pget_",
        "raw": True,
        "stream": False,
        "logprobs": True,
        "top_logprobs": 20,
        "options": {"temperature": 0.0, "seed": 1, "num_predict": 1},
    }
    assert body["prompt"] == "p"


NAMES = st.lists(st.text("ab_", min_size=1, max_size=5), min_size=2, max_size=6, unique=True)


@given(NAMES, st.dictionaries(st.text("ab_", max_size=5), st.integers(-30, 0), max_size=30))
def test_whatever_is_told_a_walk_ends_with_a_number_for_each_value(
    names: list[str], weights: dict[str, int]
) -> None:
    """Characters are the tokens here; how probable each is depends on what is written."""
    values = [f'{name}"' for name in names]
    asking, asked = walk(values, where="here"), 0
    try:
        place = next(asking)
        while True:
            asked += 1
            tokens = {c: float(weights.get((place + c)[:5], -9)) for c in 'ab_"'}
            place = asking.send(answer(tokens))
    except StopIteration as stop:
        scores = stop.value.logprobs
    assert asked <= 12
    assert len(scores) == len(values)
    assert all(math.isfinite(score) for score in scores)


def followed(value: str, told: Mapping[str, Told]) -> tuple[list[str], Walked]:
    return asked(follow([value], where="here"), told)


def test_where_others_may_begin_alike_a_value_counts_to_its_end() -> None:
    told = {"": {' "': -0.1, " 1": -3.0}, ' "': {"Act": -0.5}, ' "Act': {"ion": -0.25, "ive": -1.5}}
    places, found = followed(' "Action', told)
    assert places == ["", ' "', ' "Act']
    assert found.logprobs == pytest.approx((-0.85,))
    assert found.unseen == frozenset()


def test_all_tokens_that_may_be_its_next_piece_count() -> None:
    told = {"": {"Act": math.log(0.5), "A": math.log(0.25)}, "Act": {"ion": math.log(0.5)}}
    _, found = followed("Action", told)
    assert found.logprobs == pytest.approx((math.log(0.375),))


def test_a_token_may_end_behind_the_value() -> None:
    assert followed(" 1", {"": {" 1": -0.5, " 10": -1.5}})[1].logprobs == pytest.approx(
        (math.log(math.exp(-0.5) + math.exp(-1.5)),)
    )


def test_what_is_not_among_the_likeliest_has_the_least_of_them_at_most() -> None:
    told = {"": {"Act": -0.5}, "Act": {"or": -0.25, "ress": -4.0}}
    _, found = followed("Action", told)
    assert found == ((-4.5,), frozenset({0}))


def test_a_token_that_ends_within_a_character_is_gone_on_behind_it() -> None:
    entry = {"token": "\ufffd", "logprob": -0.5, "bytes": [0xC3]}
    asking = follow(["\u00fc"], where="here")
    assert next(asking) == ""
    with pytest.raises(StopIteration) as stop:
        asking.send({"logprobs": [{**entry, "top_logprobs": [entry]}]})
    assert stop.value.value.logprobs == (-0.5,)


@given(st.text(min_size=1, max_size=80))
def test_a_long_value_is_followed_so_far_and_no_further(value: str) -> None:
    """A model that knows nothing but characters, each as probable as not."""
    asking, places = follow([value], where="here"), []
    try:
        place = next(asking)
        while True:
            places.append(place)
            place = asking.send(answer({value[len(place)]: math.log(0.5)}))
    except StopIteration as stop:
        found: Walked = stop.value
    assert places == [value[:size] for size in range(min(len(value), 12))]
    assert found.logprobs == pytest.approx((len(places) * math.log(0.5),))
