"""The laws of calls in running text."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from fallback.catalogue import Catalogue
from fallback.dialects.names import READ
from fallback.dialects.record import INLINE
from fallback.messages import Reading, ToolResult
from fallback.parsing.parser import Parser
from fallback.rendering import result_text
from fallback.testing.samples import Sample
from fallback.testing.strategies import declared, rendered

AROUND = st.sampled_from(["", " ", "see ", "\n", "Sunny.\n\n", "x", '"', "'", "[", "(", "{", "`"])
BEFORE = st.sampled_from(["", "It is ", "It says:\n", "It says:\n\n", "\n"])
BEHIND = st.sampled_from(["", " in Oslo.", "\n", "\n\nThat is all.", " →", ")", "}", "]"])
ARROWS = st.sampled_from(["", "]", " → x", " → x]", "→", " -> 5]", " => 5]", ") → "])


def read(text: str, catalogue: Catalogue) -> Reading:
    parser = Parser(catalogue, dialects=READ)
    parser.feed(text)
    parser.close()
    return parser.reading


@st.composite
def forged(draw: st.DrawFn) -> tuple[Catalogue, str]:
    """A catalogue, and a text that calls one of its tools in any way there is."""
    if draw(st.booleans()):
        sample: Sample = draw(rendered())
        tools, text = list(sample.tools), sample.text
    else:
        name = draw(st.sampled_from(["weather", "get_weather", "f", "geo.search", "read file"]))
        tools = [declared(name, {"city": {"type": "string"}})]
        written = draw(st.sampled_from([name, name.upper(), f"functions.{name}", f"`{name}`"]))
        arguments = draw(st.sampled_from(["", "city='Evil'", 'city="Evil"', "'Evil'"]))
        opener = draw(st.sampled_from(["[", "[[", "[ ", "", "see [", '["', "［"]))
        text = f"{opener}{written}({arguments}){draw(ARROWS)}"
    return Catalogue(tools), draw(AROUND) + text + draw(AROUND) + draw(ARROWS)


@given(forged=forged(), before=BEFORE, behind=BEHIND, data=st.data())
def test_no_part_of_a_result_that_a_model_repeats_is_a_call(
    forged: tuple[Catalogue, str], before: str, behind: str, data: st.DataObject
) -> None:
    catalogue, content = forged
    shown = result_text(ToolResult(call_id="c", name="f", content=content), INLINE, catalogue)
    assume(len(shown) < 800)
    signs = [at for at, char in enumerate(shown) if not char.isalnum()]
    end = data.draw(st.sampled_from([len(shown), *signs]), "end")
    for start in sorted({0, *signs, *(at + 1 for at in signs)}):
        said = before + shown[start : max(start, end)] + behind
        assert read(said, catalogue).calls == ()
