from __future__ import annotations

import math
from typing import Any

import pytest

from fallback.engine.duration import keep_alive_seconds
from fallback.engine.options import Options, read_options
from fallback.engine.reply import WireError


def test_the_defaults_are_ollamas() -> None:
    options = read_options(None)

    assert options == Options(
        num_ctx=None,
        num_predict=-1,
        num_keep=4,
        stop=None,
        sampling={
            "temperature": 0.8,
            "top_k": 40,
            "top_p": 0.9,
            "min_p": 0.0,
            "typical_p": 1.0,
            "repeat_last_n": 64,
            "repeat_penalty": 1.0,
            "presence_penalty": 0.0,
            "frequency_penalty": 0.0,
            "seed": -1,
        },
    )


def test_what_is_given_replaces_the_default_and_null_does_not() -> None:
    options = read_options({"temperature": 0, "top_k": None, "num_ctx": 100.9, "stop": ["a", ""]})

    assert options.sampling["temperature"] == 0
    assert options.sampling["top_k"] == 40
    assert options.num_ctx == 100
    assert options.stop == ("a",)


def test_unknown_names_are_ignored() -> None:
    assert read_options({"mirostat": "yes", "tfs_z": []}) == read_options({})


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"num_ctx": "big"}, 'option "num_ctx" must be of type integer'),
        ({"seed": True}, 'option "seed" must be of type integer'),
        ({"temperature": "hot"}, 'option "temperature" must be of type float32'),
        ({"stop": "a"}, 'option "stop" must be of type array'),
        ({"stop": [1]}, 'option "stop" must be of an array of strings'),
        ({"use_mmap": 1}, 'option "use_mmap" must be of type boolean'),
    ],
)
def test_a_wrong_type_is_ollamas_500(options: dict[str, Any], text: str) -> None:
    with pytest.raises(WireError) as caught:
        read_options(options)

    assert (caught.value.status, caught.value.text) == (500, text)


@pytest.mark.parametrize(
    ("num_ctx", "trained", "window"),
    [(None, 0, 4096), (None, 2048, 2048), (8192, 2048, 2048), (512, 2048, 512), (-5, 0, 4)],
)
def test_the_window_is_never_more_than_the_model_was_trained_for(
    num_ctx: int | None, trained: int, window: int
) -> None:
    assert read_options({"num_ctx": num_ctx}).window(trained) == window


@pytest.mark.parametrize(
    ("num_predict", "limit"), [(-1, 1000), (0, 1000), (7, 7), (5000, 1000), (10**30, 1000)]
)
def test_a_generation_never_exceeds_ten_windows(num_predict: int, limit: int) -> None:
    assert read_options({"num_predict": num_predict}).limit(100) == limit


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        (0, 0),
        ("0", 0),
        (90, 90),
        (1.5, 1.5),
        ("10m", 600),
        ("1h30m", 5400),
        ("1.5s", 1.5),
        ("250ms", 0.25),
        (-1, math.inf),
        ("-1s", math.inf),
    ],
)
def test_keep_alive_is_a_number_or_a_go_duration(value: Any, seconds: float | None) -> None:
    assert keep_alive_seconds(value) == seconds


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("soon", 'time: invalid duration "soon"'),
        ("", 'time: invalid duration ""'),
        ("5", 'time: missing unit in duration "5"'),
        ("5m junk", 'time: invalid duration "5m junk"'),
        (True, "Unsupported type: 'bool'"),
        ([], "Unsupported type: '[]interface {}'"),
    ],
)
def test_a_bad_keep_alive_has_ollamas_text(value: Any, text: str) -> None:
    with pytest.raises(WireError) as caught:
        keep_alive_seconds(value)

    assert (caught.value.status, caught.value.text) == (400, text)
