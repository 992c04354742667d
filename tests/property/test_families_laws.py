"""Text can never become a control token, whatever it is, whatever the family."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fallback.families import FAMILIES, Family, neutralise, render
from fallback.messages import Message, Role

COMMON = (
    "<|im_start|>",
    "<|im_end|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|start_header_id|>",
    "<｜User｜>",
    "<｜end▁of▁sentence｜>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<bos>",
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "<<SYS>>",
    "<|turn>",
    "<turn|>",
    "[TOOL_CALLS]",
)
MARKERS = sorted({*COMMON, *(t for f in FAMILIES.values() for t in (*f.special, *f.stop) if t)})
families = st.sampled_from(sorted(FAMILIES.values(), key=lambda family: family.name))
# Whole markers, their halves, and the signs they are made of, so that pieces meet and overlap.
pieces = st.one_of(
    st.sampled_from(MARKERS),
    st.sampled_from(MARKERS).flatmap(lambda m: st.integers(0, len(m)).map(lambda n: m[:n])),
    st.sampled_from(MARKERS).flatmap(lambda m: st.integers(0, len(m)).map(lambda n: m[n:])),
    st.sampled_from(["<", "|", ">", "[", "]", "/", "｜", "#", " ", "\n", "USER", ":"]),
    st.text(max_size=4),
)
texts = st.lists(pieces, max_size=12).map("".join)


def spelled(text: str, family: Family) -> dict[str, int]:
    tokens = {*COMMON, *family.special, *(stop for stop in family.stop if stop[0] != "\n")}
    return {token: text.count(token) for token in tokens if token in text}


@given(texts, families)
def test_no_marker_is_left(text: str, family: Family) -> None:
    assert spelled(neutralise(text, family.special), family) == {}


@given(texts, families)
def test_twice_is_as_good_as_once_and_only_spaces_are_added(text: str, family: Family) -> None:
    safe = neutralise(text, family.special)
    assert neutralise(safe, family.special) == safe
    assert safe.replace(" ", "") == text.replace(" ", "")


@given(families, st.lists(texts, min_size=1, max_size=5), st.none() | texts, texts)
def test_a_prompt_holds_only_the_templates_own_markers(
    family: Family, replies: list[str], system: str | None, prefill: str
) -> None:
    def prompt(blank: bool) -> str:
        roles: tuple[Role, Role] = ("user", "assistant")
        odd = replies if len(replies) % 2 else replies[:-1]
        messages = [
            Message(role=roles[i % 2], content="x" if blank else text) for i, text in enumerate(odd)
        ]
        if system is not None:
            messages.insert(0, Message(role="system", content="x" if blank else system))
        begun = ("x" if blank else prefill) if prefill else ""
        return render(family, messages, prefill=begun)

    assert spelled(prompt(blank=False), family) == spelled(prompt(blank=True), family)
