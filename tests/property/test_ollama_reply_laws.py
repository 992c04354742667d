"""How the bytes of a reply are cut on the way makes no difference."""

from __future__ import annotations

import itertools
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fallback.backend import Chunk
from fallback.errors import BackendError
from fallback.ollama.failures import Asked
from fallback.ollama.reply import ReplyReader

texts = st.text(max_size=8)
calls = st.lists(st.builds(lambda n: {"function": {"name": n, "arguments": {}}}, texts), max_size=2)
messages = st.fixed_dictionaries(
    {}, optional={"content": texts, "thinking": texts, "tool_calls": calls}
)
records = st.fixed_dictionaries(
    {"message": messages, "done": st.booleans()},
    optional={
        "done_reason": st.sampled_from(["stop", "length", "load"]),
        "error": st.sampled_from(["", "broken"]),
        "eval_count": st.integers(0, 9),
    },
)
# Mostly replies, and now and then something else altogether.
line = st.one_of(
    records.map(lambda record: json.dumps(record, ensure_ascii=False).encode()),
    st.sampled_from([b"", b"\r", b"  ", b"{", b"[]", b"\xff", b"x" * 300]),
    st.binary(max_size=6),
)
bodies = st.lists(line, max_size=6).map(b"\n".join)


def outcome(pieces: list[bytes]) -> tuple[list[Chunk], str]:
    reader = ReplyReader(
        "chat", path="p", asked=Asked(where="w", model="m"), limit=200, clock=lambda: 0.0
    )
    chunks: list[Chunk] = []
    try:
        for piece in pieces:
            for chunk in reader.feed(piece):
                chunks.append(chunk)  # noqa: PERF402 -- what came before an error counts
        chunks += reader.close()
    except BackendError as error:
        return chunks, str(error)
    return chunks, ""


@given(bodies, st.data())
def test_any_cut_gives_the_same_chunks_and_the_same_error(body: bytes, data: Any) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=5)))
    edges = [0, *cuts, len(body)]
    pieces = [body[a:b] for a, b in itertools.pairwise(edges)]
    assert outcome(pieces) == outcome([body])


@given(bodies)
def test_byte_by_byte_is_no_different(body: bytes) -> None:
    assert outcome([body[i : i + 1] for i in range(len(body))]) == outcome([body])


@given(st.binary(max_size=300))
def test_whatever_a_server_sends_only_our_own_errors_come_of_it(body: bytes) -> None:
    chunks, error = outcome([body])
    assert error or chunks[-1].done
