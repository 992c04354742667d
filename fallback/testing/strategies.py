"""Hypothesis strategies: tools, calls that fit them, replies in every dialect, and worse.

Everything is drawn as a :class:`~fallback.testing.laws.Sample`: a reply with the tools that were
offered and what is known about it. ``for_law`` gives the samples that a law can be held against.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Literal

from hypothesis import strategies as st

from fallback.catalogue import fold
from fallback.dialects import markers
from fallback.dialects.record import FENCED, HERMES, PYTHONIC
from fallback.messages import FinishReason, ToolResult
from fallback.rendering import result_text
from fallback.rendering.fences import fence_for
from fallback.testing.accidents import ACCIDENTS
from fallback.testing.grammars import ENVELOPES, texts_of
from fallback.testing.pieces import KEYS, OPENERS, SPOILERS, TRICKY, WORDS
from fallback.testing.samples import Sample
from fallback.testing.writers import WRITERS, Writer, Written

Tools = tuple[dict[str, Any], ...]
Strings = Literal["any", "tagged", "tokens", "elements"]


FINISH: st.SearchStrategy[FinishReason] = st.sampled_from(["stop", "length"])
CHUNKINGS: st.SearchStrategy[tuple[int, ...]] = st.lists(st.integers(0, 4000), max_size=8).map(
    tuple
)
"""Where a reply is cut; see :meth:`~fallback.testing.laws.Sample.chunks`."""

# The strategies below are made once each: to build one costs more than to draw from it.
#
# What a schema may take for the schema's own placeholder, ``<city>`` for ``city``, is refused by
# design, and so is not what a round trip is about.
_BRACKETS = str.maketrans("<[{\ud83d", "((((")


@cache
def texts(strings: Strings = "any") -> st.SearchStrategy[str]:
    """Strings that an argument may hold, as far as the dialect can carry them."""
    hostile = st.lists(st.sampled_from(TRICKY) | st.text(max_size=6), max_size=6).map("".join)
    plain = st.sampled_from(("", "Oslo", "12345", "007", "true", "2024-05-01"))
    drawn = hostile | st.sampled_from(SPOILERS) | plain
    # Half of a character has no UTF-8 form, so no argument may hold one.
    drawn = drawn.map(lambda text: text[:1].translate(_BRACKETS) + text[1:].replace("\ud83d", ""))
    if strings == "tagged":
        # Nothing is escaped, so what looks like a tag is one; line breaks at the ends are markup.
        return drawn.map(lambda text: text.replace("<", "(").replace("\r", "").strip())
    if strings in ("tokens", "elements"):
        return drawn.map(lambda text: text.replace("<", "("))
    return drawn


@cache
def json_values(strings: Strings = "any") -> st.SearchStrategy[Any]:
    """Any JSON value, integers beyond 64 bits included."""
    inner = texts(strings)
    keys = inner if strings == "any" else st.sampled_from(KEYS)
    if strings == "elements":
        return st.recursive(
            inner,
            lambda items: (
                st.lists(items, min_size=1, max_size=3)
                | st.dictionaries(keys, items, min_size=1, max_size=3)
            ),
            max_leaves=8,
        )
    return st.recursive(
        st.none() | st.booleans() | _integers() | _floats() | inner,
        lambda items: st.lists(items, max_size=3) | st.dictionaries(keys, items, max_size=3),
        max_leaves=8,
    )


def _integers() -> st.SearchStrategy[int]:
    return st.integers() | st.integers(10**30, 10**40)


def _floats() -> st.SearchStrategy[float]:
    return st.floats(allow_nan=False, allow_infinity=False)


@cache
def schemas_with_values(strings: Strings = "any") -> st.SearchStrategy[tuple[dict[str, Any], Any]]:
    """A JSON Schema of one parameter, and a value that satisfies it as it stands."""

    def of(schema: dict[str, Any], values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.tuples(st.just(schema), values)

    options = ["celsius", "fahrenheit", "Kelvin"]
    return st.one_of(
        of({"type": "string"}, texts(strings)),
        of({"type": "integer"}, _integers()),
        of({"type": "number"}, _floats() | st.integers(-100, 100)),
        of({"type": "boolean"}, st.booleans()),
        of({"enum": options}, st.sampled_from(options)),
        of({"type": "array", "items": {"type": "string"}}, st.lists(texts(strings), max_size=3)),
        of(
            {"type": "object", "additionalProperties": True},
            st.dictionaries(st.sampled_from(KEYS), json_values(strings), max_size=3),
        ),
    )


@cache
def names() -> st.SearchStrategy[str]:
    """Names of tools."""
    return st.sampled_from(WORDS) | st.from_regex(r"[a-z]{3,6}_[a-z0-9]{1,6}", fullmatch=True)


@st.composite
def tools_with_calls(
    draw: st.DrawFn, writer: Writer = WRITERS["fenced"], *, min_calls: int = 1
) -> tuple[Tools, tuple[Written, ...]]:
    """A catalogue in OpenAI's form, and calls of its tools that its schemas accept as they stand.

    Args:
        draw: given by Hypothesis.
        writer: the dialect that is to carry the calls.
        min_calls: the fewest calls.
    """
    strings = writer.strings
    chosen = draw(st.lists(names(), min_size=1, max_size=3, unique_by=fold))
    tools, values = [], []
    for name in chosen:
        keys = draw(st.lists(st.sampled_from(KEYS), max_size=3, unique=True))
        pairs = {key: draw(schemas_with_values(strings)) for key in keys}
        needed = [key for key in keys if draw(st.booleans())]
        tools.append(declared(name, {k: schema for k, (schema, _) in pairs.items()}, needed))
        given = [key for key in keys if key in needed or draw(st.booleans())]
        values.append({key: pairs[key][1] for key in given})
    which = draw(
        st.lists(
            st.integers(0, len(chosen) - 1),
            min_size=min_calls,
            max_size=3 if writer.many else 1,
        )
    )
    return tuple(tools), tuple(Written(chosen[i], values[i]) for i in which)


def declared(
    name: str, properties: Mapping[str, Any], required: Sequence[str] = ()
) -> dict[str, Any]:
    """A tool in OpenAI's form."""
    parameters = {"type": "object", "properties": dict(properties), "required": list(required)}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


@st.composite
def rendered(draw: st.DrawFn, dialects: Sequence[str] = tuple(WRITERS)) -> Sample:
    """Calls as a dialect writes them, and nothing else."""
    dialect = draw(st.sampled_from(dialects))
    tools, calls = draw(tools_with_calls(WRITERS[dialect]))
    text = WRITERS[dialect].write(calls)
    return Sample(text=text, tools=tools, calls=calls, dialect=dialect, places=draw(CHUNKINGS))


@st.composite
def quoted(draw: st.DrawFn, dialects: Sequence[str] = tuple(WRITERS)) -> Sample:
    """A call that is shown and not made: in a fence, in a quote, in code, or in a thought."""
    sample = draw(rendered(dialects))
    frame = draw(st.sampled_from(_FRAMES))
    return replace(sample, text=frame(_printable(sample.text)), calls=())


def _printable(text: str) -> str:
    """Without what ends a line or a thought unseen: those are other laws' business."""
    for end in ("\r", "\u2028", "</think>", "<think>"):
        text = text.replace(end, " ")
    return text


def _in_a_fence(text: str) -> str:
    fence = fence_for(text)
    return f"An example:\n\n{fence}text\n{text}\n{fence}\n\nI have called nothing."


def _in_a_quote(text: str) -> str:
    lines = text.replace("\n", "\n> ")
    return f"The form is this:\n\n> {lines}\n\nThat is all."


def _in_a_thought(text: str) -> str:
    return f"<think>\nI might write\n\n{text}\n</think>\n\nIt is sunny."


def _in_code(text: str) -> str:
    text = " ".join(text.split())
    ticks = "`" * max(2, len(fence_for(text)))
    return f"I could write {ticks} {text} {ticks} but I will not."


_FRAMES: tuple[Callable[[str], str], ...] = (_in_a_fence, _in_a_quote, _in_a_thought, _in_code)


@st.composite
def truncated(draw: st.DrawFn, dialects: Sequence[str] = tuple(WRITERS)) -> Sample:
    """One call that ends in the middle of a string argument."""
    dialect = draw(st.sampled_from(dialects))
    before = draw(texts(WRITERS[dialect].strings))
    value = f"{before} and the rest of it is told here"
    name = draw(names())
    text = WRITERS[dialect].write([Written(name, {"content": value})])
    at = text.index("the rest of it") + draw(st.integers(0, 14))
    tools = (declared(name, {"content": {"type": "string"}}, ["content"]),)
    return Sample(
        text=text[:at],
        tools=tools,
        dialect=dialect,
        finish_reason=draw(FINISH),
        places=draw(CHUNKINGS),
    )


@st.composite
def undeclared(draw: st.DrawFn, dialects: Sequence[str] = tuple(WRITERS)) -> Sample:
    """Calls of tools that were never offered."""
    sample = draw(rendered(dialects))
    offered = declared("another_tool", {"city": {"type": "string"}})
    called = {call.name for call in sample.calls or ()}
    kept = tuple(t for t in sample.tools if t["function"]["name"] not in called)
    return replace(sample, tools=(*kept, offered), calls=None)


@st.composite
def results(draw: st.DrawFn, dialects: Sequence[str] = tuple(WRITERS)) -> Sample:
    """A tool's result that holds calls, alone or behind the call that it answers."""
    sample = draw(rendered(dialects))
    content = draw(st.sampled_from(["", "Sunny.\n\n"])) + sample.text
    style = draw(st.sampled_from([FENCED, PYTHONIC, HERMES]))
    block = result_text(ToolResult(call_id="c1", name="f", content=content), style)
    if draw(st.booleans()):
        return replace(sample, text=block, calls=())
    first = (sample.calls or ())[:1]
    text = f"{WRITERS['fenced'].write(first)}\n\n{block}"
    return replace(sample, text=text, calls=first, dialect="fenced")


@st.composite
def mutated(draw: st.DrawFn, dialects: Sequence[str] = tuple(WRITERS)) -> Sample:
    """A reply with calls after a few accidents: cut, doubled, joined, wrapped, stuffed."""
    sample = draw(rendered(dialects))
    text = sample.text
    for _ in range(draw(st.integers(1, 4))):
        text = draw(st.sampled_from(ACCIDENTS))(text, draw)
    return replace(sample, text=text, calls=None, finish_reason=draw(FINISH))


@st.composite
def floods(
    draw: st.DrawFn, *, size: int = 2000, pieces: Sequence[str] = (*OPENERS, *markers.table())
) -> Sample:
    """One or two openers, over and over; ``longer`` is the same four times as long.

    Args:
        draw: given by Hypothesis.
        size: characters of the shorter one, about.
        pieces: what may be repeated.
    """
    unit = "".join(draw(st.lists(st.sampled_from(pieces), min_size=1, max_size=2)))
    head = draw(st.sampled_from(["", "Well:\n", "<tool_call>", '{"name": "now", "arguments": ']))
    times = max(1, size // len(unit))
    return Sample(
        text=head + unit * times,
        tools=(declared("now", {}), declared("find", {"a": {"type": "string"}}, ["a"])),
        finish_reason=draw(FINISH),
        longer=head + unit * (4 * times),
    )


def deep(size: int = 50_000) -> st.SearchStrategy[Sample]:
    """Nesting without end, closed or not."""

    def built(parts: tuple[tuple[str, str], bool, str]) -> Sample:
        (opener, closer), closed, head = parts
        text = head + opener * size + (closer * size if closed else "")
        return Sample(text=text, tools=(declared("now", {"a": {}}),))

    nests = st.sampled_from([("[", "]"), ('{"a":', "}"), ("(", ")"), ("now(a=", ")"), ("{", "}")])
    heads = st.sampled_from(["", "<tool_call>", '{"name": "now", "arguments": {"a": ', "now(a="])
    return st.tuples(nests, st.booleans(), heads).map(built)


def garbage(dialects: Sequence[str] = tuple(WRITERS)) -> st.SearchStrategy[Sample]:
    """Any text at all, made of the pieces that readers look for."""
    tools = (declared("now", {}), declared("get_weather", {"city": {"type": "string"}}, ["city"]))
    pieces = (*TRICKY, *OPENERS, *markers.table())
    text = st.lists(st.sampled_from(pieces) | st.text(max_size=8), max_size=14).map("".join)
    return st.builds(
        lambda text, finish, places: Sample(
            text=text, tools=tools, finish_reason=finish, places=places
        ),
        text,
        FINISH,
        CHUNKINGS,
    )


@st.composite
def described(draw: st.DrawFn, dialects: Sequence[str] = tuple(WRITERS)) -> Sample:
    """What a grammar of a payload generates, in an envelope of that payload."""
    name = draw(st.sampled_from(tuple(ENVELOPES)))
    text = draw(_described(name))
    tools = (declared("now", {}), declared("a", {"a": {"type": "string"}, "b": {}}))
    return Sample(
        text=ENVELOPES[name].replace("{}", text),
        tools=tools,
        finish_reason=draw(FINISH),
        places=draw(CHUNKINGS),
    )


@cache
def _described(name: str) -> st.SearchStrategy[str]:
    return texts_of(name)


def replies(dialects: Sequence[str] = tuple(WRITERS)) -> st.SearchStrategy[Sample]:
    """Replies of every kind but the endless: good, quoted, cut, mutated and senseless."""
    kinds = (
        rendered, quoted, truncated, undeclared, results, mutated, mutated, garbage, described,
    )  # fmt: skip
    return st.one_of([kind(dialects) for kind in kinds])


_BY_LAW: Mapping[str, Callable[[Sequence[str]], st.SearchStrategy[Sample]]] = {
    "round_trip": rendered,
    "no_complaints": rendered,
    "clean_calls_are_told_once": rendered,
    "strings_arrive_in_time": rendered,
    "quoted_never_called": quoted,
    "truncated_never_called": truncated,
    "undeclared_never_called": undeclared,
    "results_never_called": results,
    "never_raises": lambda dialects: replies(dialects) | floods() | deep(2000),
    "work_is_linear": lambda dialects: floods(),
    "depth_is_bounded": lambda dialects: deep(),
}


def for_law(law: str, dialects: Sequence[str] = tuple(WRITERS)) -> st.SearchStrategy[Sample]:
    """The samples that a law can be held against.

    Args:
        law: its name, see :data:`fallback.testing.laws.LAWS`.
        dialects: those in which calls are written.
    """
    return _BY_LAW.get(law, replies)(dialects)
