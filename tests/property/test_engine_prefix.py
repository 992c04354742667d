"""Laws of reusing an evaluated prefix, against a simulated memory that behaves like llama.cpp's."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fallback.engine.prefix import BLOCK, PrefixMemory

# Few different tokens and lengths around the size of a block make prefixes meet.
PROMPT = st.integers(0, 5).flatmap(
    lambda seed: st.lists(st.integers(0, 2), max_size=6).map(
        lambda tail: [*([seed % 2] * (BLOCK * (seed // 2) + seed)), *tail, 1]
    )
)
REQUEST = st.tuples(PROMPT, st.lists(st.integers(0, 2), max_size=70))


def common(left: list[int], right: list[int]) -> int:
    count = 0
    while count < min(len(left), len(right)) and left[count] == right[count]:
        count += 1
    return count


def evaluate(start: int, length: int) -> list[tuple[int, int]]:
    """For each token the block it is evaluated in, when evaluation begins at ``start``."""
    batches = []
    while start < length:
        end = min(start + BLOCK, length)
        batches += [(start, end)] * (end - start)
        start = end
    return batches


class Memory:
    """Tokens and how each was evaluated; the longest common prefix is reused, as llama.cpp does."""

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.batches: list[tuple[int, int]] = []

    def prompt(self, ids: list[int], *, reuse: bool) -> None:
        start = min(common(self.tokens, ids), len(ids) - 1) if reuse else 0
        self.batches = self.batches[:start] + evaluate(start, len(ids))
        self.tokens = list(ids)

    def generate(self, ids: list[int]) -> None:
        for token in ids:
            self.batches.append((len(self.tokens), len(self.tokens) + 1))
            self.tokens.append(token)


@given(st.lists(REQUEST, min_size=1, max_size=8))
def test_a_prompt_is_always_evaluated_in_the_same_blocks(
    requests: list[tuple[list[int], list[int]]],
) -> None:
    memory, plan_of = Memory(), PrefixMemory()
    for ids, written in requests:
        reuse = plan_of.plan(ids)
        assert reuse.keep % BLOCK == 0
        assert reuse.keep < len(ids)
        if reuse.cut and reuse.keep:
            memory.prompt([*ids[: reuse.keep], 0 if ids[reuse.keep] != 0 else 1], reuse=True)
        memory.prompt(ids, reuse=reuse.keep > 0 or not reuse.cut)

        assert memory.batches == evaluate(0, len(ids))

        plan_of.remember(ids)
        memory.generate(written)


@given(st.lists(st.integers(0, 1), min_size=1, max_size=200), st.integers(0, 200))
def test_all_whole_blocks_of_a_common_prefix_are_kept(ids: list[int], length: int) -> None:
    memory = PrefixMemory()
    memory.remember([*ids[:length], 7])

    keep = memory.plan([*ids, 8, 8]).keep

    assert keep == min(length, len(ids)) // BLOCK * BLOCK


def test_what_is_unknown_is_not_reused() -> None:
    memory = PrefixMemory()
    memory.remember([1] * 200)
    memory.forget()

    assert memory.plan([1] * 200).keep == 0
    assert memory.plan([1] * 200).cut


def test_an_empty_memory_needs_no_cutting() -> None:
    assert not PrefixMemory().plan([1] * 200).cut
