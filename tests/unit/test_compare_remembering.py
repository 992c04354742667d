from __future__ import annotations

from typing import Any

from compare_kit import MAIL, WEATHER, case_of, fenced, model

from fallback.backend import Chunk, GenerationRequest, ModelInfo
from fallback.catalogue import Catalogue
from fallback.compare.remembering import MOST, Remembering
from fallback.compare.units import Sampling, Unit, run_unit
from fallback.messages import Message, Usage
from fallback.ways import ways_of

INFO = ModelInfo(name="m", digest="d1", family="chatml", template="t")


class Counting:
    """Answers, says how long that took, and counts how often it was asked."""

    def __init__(self, seconds: float = 2.5) -> None:
        self.asked = 0
        self._seconds = seconds

    def __call__(self, _: GenerationRequest) -> Any:
        self.asked += 1
        usage = Usage(prompt_tokens=9, completion_tokens=5, seconds=self._seconds)
        return {"content": fenced("get_weather", city="Oslo"), "usage": usage}


def records(counting: Counting, temperature: float) -> list[dict[str, Any]]:
    backend = Remembering(model(counting))
    sampling = Sampling(temperature=temperature)
    return [
        run_unit(Unit(model="m", way=way, case=case_of(), sampling=sampling), backend, INFO)
        for way in ways_of(["native", "native+read"])
    ]


def request(**given: Any) -> GenerationRequest:
    told: dict[str, Any] = {
        "model": "m",
        "mode": "native",
        "messages": (Message(role="user", content="hi"),),
        "catalogue": Catalogue([WEATHER]),
        "options": {"temperature": 0.0},
    }
    return GenerationRequest(**told | given)


def text(chunks: list[Chunk]) -> str:
    return "".join(chunk.text for chunk in chunks)


def test_both_native_ways_count_one_reply_with_its_tokens_and_seconds() -> None:
    counting = Counting()
    native, read = records(counting, 0.0)
    assert counting.asked == 1
    assert native["steps"][0]["raw"] == read["steps"][0]["raw"] != ""
    assert native["steps"][0]["usage"] == read["steps"][0]["usage"]
    assert native["steps"][0]["usage"]["seconds"] == 2.5
    assert not native["steps"][0]["calls"]
    assert read["steps"][0]["calls"]


def test_a_reply_that_the_sampler_may_write_otherwise_is_made_each_time() -> None:
    counting = Counting()
    records(counting, 0.7)
    assert counting.asked == 2


def test_a_reply_that_nobody_says_the_time_of_is_made_each_time() -> None:
    counting = Counting(seconds=0.0)
    records(counting, 0.0)
    assert counting.asked == 2


def test_another_catalogue_with_the_same_names_is_another_request() -> None:
    counting = Counting()
    backend = Remembering(model(counting))
    other = WEATHER | {"description": "Forecast for a town."}
    for tools in ([WEATHER], [other], [WEATHER, MAIL], [WEATHER]):
        assert text(list(backend.stream(request(catalogue=Catalogue(tools)))))
    assert counting.asked == 3


def test_a_reply_that_was_broken_off_is_made_anew() -> None:
    counting = Counting()
    backend = Remembering(model(counting))
    stream = backend.stream(request())
    next(stream)
    stream.close()
    assert text(list(backend.stream(request())))
    assert counting.asked == 2


def test_the_oldest_replies_are_forgotten() -> None:
    counting = Counting()
    backend = Remembering(model(counting))
    for number in range(MOST + 1):
        list(backend.stream(request(options={"temperature": 0, "seed": number})))
    list(backend.stream(request(options={"temperature": 0, "seed": 0})))
    assert counting.asked == MOST + 2
