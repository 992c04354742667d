"""The window of each model: it fits, and then it stays."""

from __future__ import annotations

from fallback.messages import Message
from fallback.proxy.windows import Windows, estimate

MOST = 32_768


def windows() -> Windows:
    return Windows(most_wished=MOST)


def test_a_window_holds_the_prompt_and_an_answer_and_has_room_to_grow() -> None:
    chosen = windows().choose("m", 14_000, trained=131_072, answer_tokens=32_000)
    assert chosen == 32_768
    assert windows().choose("m", 100, trained=131_072) == 8192
    assert windows().choose("m", 30_000, trained=131_072) == 65_536


def test_a_window_never_shrinks_and_grows_only_when_it_must() -> None:
    made = windows()
    sizes = [made.choose("m", size, trained=None) for size in (9000, 100, 11_000, 15_000, 100)]
    assert sizes == [16_384, 16_384, 16_384, 32_768, 32_768]


def test_a_client_s_wish_counts_within_reason() -> None:
    assert windows().choose("m", 100, trained=131_072, wished=20_000) == 32_768
    assert windows().choose("m", 100, trained=131_072, wished=131_072) == MOST
    churning = windows()
    wishes = (9_125, 9_400, 9_911)
    assert len({churning.choose("m", 100, trained=None, wished=w) for w in wishes}) == 1


def test_the_model_s_own_limit_and_the_operator_s_word_are_the_last() -> None:
    assert windows().choose("m", 14_000, trained=8192) == 8192
    assert windows().choose("m", 14_000, trained=131_072, fixed=4096, wished=9000) == 4096


def test_the_modelfile_s_window_is_the_least_and_not_the_most() -> None:
    assert windows().choose("m", 14_000, trained=131_072, least=4096) == 32_768
    assert windows().choose("m", 100, trained=131_072, least=65_536) == 65_536


def test_what_the_server_counts_makes_the_next_guess_better() -> None:
    made = windows()
    messages = (Message(role="user", content="word " * 4000),)
    first = made.guess("m", messages)
    made.learn("m", first, 4000)
    assert 4000 <= made.guess("m", messages) < first
    assert made.guess("other", messages) == first


def test_characters_beyond_ascii_and_images_count_for_more() -> None:
    plain = estimate([Message(role="user", content="a" * 300)])
    wide = estimate([Message(role="user", content="語" * 300)])
    seen = estimate([Message(role="user", content="a" * 300, images=("x",))])
    assert plain < 150 < 300 <= wide
    assert seen > plain + 500
