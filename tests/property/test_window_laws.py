"""Whatever a conversation is, cutting it leaves a whole one that fits, or says that none does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fallback.loop.window import Cut, fit, shorten, shown
from fallback.messages import Message, ToolCall, ToolResult

TEXT = st.text("abc ", max_size=400)


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """Turns of a user, each with any number of steps; system messages may stand anywhere."""
    messages: list[Message] = []
    number = 0
    for _ in range(draw(st.integers(1, 6))):
        if draw(st.booleans()):
            messages.append(Message(role="system", content=draw(TEXT)))
        messages.append(Message(role="user", content=draw(TEXT)))
        for _ in range(draw(st.integers(0, 3))):
            ids = [f"call_{number + n}" for n in range(draw(st.integers(1, 3)))]
            number += len(ids)
            called = tuple(ToolCall(id=i, name="t", arguments={}) for i in ids)
            messages.append(Message(role="assistant", content=draw(TEXT), tool_calls=called))
            for i in ids:
                result = ToolResult(call_id=i, name="t", content=draw(TEXT))
                messages.append(Message(role="tool", content=result.content, result=result))
        if draw(st.booleans()):
            messages.append(Message(role="assistant", content=draw(TEXT)))
    return messages


def size(messages: tuple[Message, ...]) -> int:
    return sum(len(message.content) + 5 for message in messages)


ROOMS = st.integers(0, 4000)
CUTS = st.builds(
    lambda marks: Cut(shortened=tuple(marks)),
    st.lists(st.tuples(st.integers(0, 20), st.integers(50, 300)), max_size=2),
)


@given(conversations(), ROOMS, st.floats(0.3, 1.0), CUTS)
def test_it_fits_or_says_that_it_cannot(
    messages: list[Message], room: int, share: float, cut: Cut
) -> None:
    fitted = fit(messages, cut, size=size, room=room, goal=int(room * share), short=60)
    assert fitted.size == size(shown(messages, fitted.cut))
    assert fitted.fits == (fitted.size <= room)
    if not fitted.fits:  # nothing is left that could go
        last = max(i for i, m in enumerate(messages) if m.role == "user")
        left = shown(messages, fitted.cut)
        assert [m for m in left if m.role == "user"] == [messages[last]]
        assert all(len(m.content) <= 60 for m in left if m.role == "tool")


@given(conversations(), ROOMS, CUTS)
def test_what_must_stay_stays(messages: list[Message], room: int, cut: Cut) -> None:
    fitted = fit(messages, cut, size=size, room=room, goal=room // 2, short=60)
    left = shown(messages, fitted.cut)
    assert [m for m in left if m.role == "system"] == [m for m in messages if m.role == "system"]
    last = max(i for i, m in enumerate(messages) if m.role == "user")
    behind = [m for m in left if m.role != "system"][-len(_plain(messages[last:])) :]
    assert behind[0] == messages[last]
    assert [m.role for m in behind] == [m.role for m in _plain(messages[last:])]
    assert [m for m in left if m.role == "assistant"] == [
        m for m in messages[fitted.cut.dropped :] if m.role == "assistant"
    ]


def _plain(messages: list[Message]) -> list[Message]:
    return [m for m in messages if m.role != "system"]


@given(conversations(), ROOMS, CUTS)
def test_no_pair_is_ever_halved(messages: list[Message], room: int, cut: Cut) -> None:
    left = shown(messages, fit(messages, cut, size=size, room=room, goal=room // 2, short=60).cut)
    asked = [call.id for m in left for call in m.tool_calls]
    assert [m.result.call_id for m in left if m.result] == asked


@given(conversations(), ROOMS, CUTS)
def test_cutting_again_changes_nothing(messages: list[Message], room: int, cut: Cut) -> None:
    once = fit(messages, cut, size=size, room=room, goal=room // 2, short=60)
    again = fit(messages, once.cut, size=size, room=room, goal=room // 2, short=60)
    assert shown(messages, again.cut) == shown(messages, once.cut)
    assert again.size == once.size


@given(conversations(), conversations(), ROOMS)
def test_what_was_shown_is_shown_again_in_front_of_what_is_new(
    messages: list[Message], more: list[Message], room: int
) -> None:
    cut = fit(messages, Cut(), size=size, room=room, goal=room // 2, short=60).cut
    before = shown(messages, cut)
    assert shown([*messages, *more], cut)[: len(before)] == before


@given(conversations(), conversations(), ROOMS)
def test_a_cut_only_grows(messages: list[Message], more: list[Message], room: int) -> None:
    first = fit(messages, Cut(), size=size, room=room, goal=room // 2, short=60).cut
    longer = [*messages, *more]
    second = fit(longer, first, size=size, room=room, goal=room // 2, short=60).cut
    assert second.dropped >= first.dropped
    for shown_first, shown_second in zip(
        shown(longer, Cut(shortened=first.shortened)),
        shown(longer, Cut(shortened=second.shortened)),
        strict=True,
    ):
        assert len(shown_second.content) <= len(shown_first.content)


@given(conversations())
def test_what_fits_is_left_alone(messages: list[Message]) -> None:
    fitted = fit(messages, Cut(), size=size, room=size(tuple(messages)), goal=0, short=60)
    assert (fitted.cut, fitted.fits) == (Cut(), True)


@given(st.text(max_size=600), st.integers(0, 300))
def test_a_shortened_text_is_no_longer_than_asked_and_stays_so(text: str, wanted: int) -> None:
    short = shorten(text, wanted)
    assert len(short) <= max(wanted, 0) or short == text
    assert shorten(short, wanted) == short
