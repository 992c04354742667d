"""Calls that are quoted over several lines in other ways than Markdown's are not made."""

from __future__ import annotations

import pytest
from weather_kit import CATALOGUE

from fallback import Parser, Reading, parse
from fallback.messages import FinishReason
from fallback.testing.effort import effort

OBJECT = '{"name": "get_weather", "arguments": {"city": "Oslo"}}'
CALLS = {
    "tag": f"<tool_call>\n{OBJECT}\n</tool_call>",
    "tags": (
        "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n"
        "</tool_call>"
    ),
    "invoke": (
        '<function_calls>\n<invoke name="get_weather">\n<parameter name="city">Oslo</parameter>\n'
        "</invoke>\n</function_calls>"
    ),
    "alone": "<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>",
    "named": "<get_weather>\n<city>Oslo</city>\n</get_weather>",
    "list": f"[TOOL_CALLS][{OBJECT}]",
    "token": f"<|tool_call|>[{OBJECT}]<|/tool_call|>",
    "fence": f"```tool_call\n{OBJECT}\n```",
    "labels": 'Action: get_weather\nAction Input: {"city": "Oslo"}',
    "flowers": '✿FUNCTION✿: get_weather\n✿ARGS✿: {"city": "Oslo"}',
}
TAGGED = CALLS["tag"]
QUOTED = [
    ("<pre>", "</pre>"),
    ('<PRE class="x">', "</PRE>"),
    ('<pre><code class="language-xml">', "</code></pre>"),
    ("- <code>", "</code>"),
    ("<example>", "</example>"),
    ("<example_call id='1'>", "</example_call>"),
    ('<code-block lang="xml">', "</code-block>"),
    ("<blockquote>", "</blockquote>"),
    ("<textarea>", "</textarea>"),
    ("<syntaxhighlight lang=xml>", "</syntaxhighlight>"),
    ("It is written so: <samp>", "</samp>"),
    ("<!--", "-->"),
    ("<![CDATA[", "]]>"),
    ("\\begin{verbatim}", "\\end{verbatim}"),
    ("\\begin{lstlisting}[language=XML]", "\\end{lstlisting}"),
    ("\\begin{minted}{xml}", "\\end{minted}"),
    ("----", "----"),
    ("[source,xml]\n----", "----"),
    (".The form\n....", "...."),
    ("#+BEGIN_SRC xml", "#+END_SRC"),
    ("#+begin_example", "#+end_example"),
    ("[code=xml]", "[/code]"),
    ("[quote]", "[/quote]"),
    ("{code:xml}", "{code}"),
    ("{noformat}", "{noformat}"),
    ('"""', '"""'),
]


def read(text: str, finish: FinishReason = "stop") -> Reading:
    """Read it whole, one character at a time and in chunks: all have to be the same."""
    whole = parse(text, CATALOGUE, finish_reason=finish)
    for chunks in (list(text), [text[i : i + 7] for i in range(0, len(text), 7)]):
        parser = Parser(CATALOGUE)
        for chunk in chunks:
            parser.feed(chunk)
        parser.close(finish)
        assert parser.reading == whole
    return whole


def indented(text: str, by: str = "    ") -> str:
    return "\n".join(by + line for line in text.split("\n"))


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize(("opener", "closer"), QUOTED, ids=[opener for opener, _ in QUOTED])
def test_a_call_in_a_block_that_is_closed_is_text(opener: str, closer: str, call: str) -> None:
    text = f"The form is:\n\n{opener}\n{call}\n{closer}\n\nI have called nothing."
    reading = read(text)
    assert (reading.calls, reading.problems, reading.text) == ((), (), text)
    # Behind a brace the paragraph is one without a marker, and so text for another reason.
    reason = "prose_on_both_sides" if opener[0] + call[:10] == "{<function=" else "quoted_block"
    assert [found.reason for found in reading.suppressed] == [reason]


@pytest.mark.parametrize(("opener", "closer"), QUOTED, ids=[opener for opener, _ in QUOTED])
def test_a_call_beside_such_a_block_is_made(opener: str, closer: str) -> None:
    quotation = f"{opener}\n{TAGGED}\n{closer}"
    real = TAGGED.replace("Oslo", "Rome")
    after = read(f"The form is:\n\n{quotation}\n\nSo I call it.\n\n{real}")
    assert [call.arguments for call in after.calls] == [{"city": "Rome"}]
    assert len(after.suppressed) == 1
    before = read(f"I call it.\n\n{real}\n\nThe form was:\n\n{quotation}\n\nNo more.")
    assert [call.arguments for call in before.calls] == [{"city": "Rome"}]


@pytest.mark.parametrize(
    "head",
    [
        "<pre>\nnothing",
        "Write it between <code>\n",
        "<example>",
        "\\begin{verbatim}\nx\n",
        "The tags <pre> and </pre> frame it.",
        "<!-- nothing -->",
        "<pre>\nx\n</pre>",
        "First\n----",
        "It goes on:\n\n----\n\nand ends.\n\n----",
        "Not `<pre>`",
        "```html\n<pre>\n```",
        "> <pre>",
        "[code] is a tag",
    ],
)
def test_what_is_never_closed_quotes_nothing(head: str) -> None:
    assert len(read(f"{head}\n\n{TAGGED}").calls) == 1
    assert len(read(f"{head}\n\n{TAGGED}\n\nIt is sunny.").calls) == 1


def test_a_block_that_is_cut_off_still_quotes() -> None:
    text = f"The form is:\n\n<pre>\n{TAGGED}\n"
    assert read(text, "length").calls == ()
    assert len(read(text).calls) == 1


@pytest.mark.parametrize("name", ["tag", "tags", "invoke", "list", "token"])
def test_a_call_in_the_row_of_a_table_is_text(name: str) -> None:
    call = " ".join(CALLS[name].split())
    for end in ("\n| stop | x |\n\nThat is all.", "", "\n"):
        text = f"| form | example |\n|---|---|\n| call | {call} |{end}"
        reading = read(text)
        assert (reading.calls, reading.problems, reading.text) == ((), (), text)
        assert [found.reason for found in reading.suppressed] == ["table_row"]
    assert len(read(f"| a | b |\n|---|---|\n| 1 | 2 |\n\n{CALLS[name]}").calls) == 1
    assert len(read(f"|{CALLS[name]}").calls) == 1


@pytest.mark.parametrize("name", ["tag", "tags", "invoke", "alone", "named", "token", "labels"])
@pytest.mark.parametrize("by", ["    ", "\t", "      "])
def test_an_indented_call_with_prose_on_both_sides_is_text(name: str, by: str) -> None:
    block = indented(CALLS[name], by)
    text = f"The form is:\n\n{block}\n\nThat is all."
    reading = read(text)
    assert (reading.calls, reading.problems, reading.text) == ((), (), text)
    assert [found.reason for found in reading.suppressed] == ["indented_code"]


@pytest.mark.parametrize(
    "text",
    [
        f"I look it up:\n\n{indented(TAGGED)}",
        f"I look it up:\n\n{indented(TAGGED)}\n\n{TAGGED}",
        f"I look it up:\n\n{indented(TAGGED)}\n\n```tool_result\nsunny\n```",
        f"1. I look it up:\n\n    {indented(TAGGED)}\n\n2. I tell it.".replace("        ", "    "),
        f"I look it up:\n{indented(TAGGED)}\n\nThat is all.",
        f"I look it up:\n\n{indented(TAGGED, '   ')}\n\nThat is all.",
        f"{indented(TAGGED)}\n\nThat is all.",
        f"I look it up:\n\n    <tool_call>\n{OBJECT}\n</tool_call>\n\nThat is all.",
    ],
)
def test_an_indented_call_that_is_no_code_block_is_made(text: str) -> None:
    assert [call.name for call in read(text).calls][:1] == ["get_weather"]


@pytest.mark.parametrize("intro", ["The form is::", ".. code-block:: xml", "  Like this::"])
def test_a_call_in_a_literal_block_is_text(intro: str) -> None:
    for end in ("\n\nThat is all.", "", "\n\nSo I call it.\n\n" + TAGGED):
        reading = read(f"{intro}\n\n{indented(TAGGED)}{end}")
        assert len(reading.calls) == end.count("<tool_call>")
        assert [found.reason for found in reading.suppressed] == ["indented_code"]


@pytest.mark.parametrize(
    "unit",
    ["<pre>", "<pre><code>", "<pre>\n<tool_call>x\n", "\n\n    <tool_call>x\n", "| <tool_call>",
     "\\begin{verbatim}", "----\n", "<example><tool_call>{", "a::\n\n    <tool_call>\n", "[code]"],
)  # fmt: skip
def test_openers_of_blocks_cost_what_they_are_long(unit: str) -> None:
    parse("", CATALOGUE)  # what is made once is no part of it
    for size in (None, 4):

        def cost(n: int, size: int | None = size) -> int:
            text = f"x {unit * n}"
            parser = Parser(CATALOGUE)
            step = size or len(text)
            chunks = [text[i : i + step] for i in range(0, len(text), step)]

            def run() -> None:
                for chunk in chunks:
                    parser.feed(chunk)
                parser.close()

            return effort(run)

        assert cost(800) < 5 * cost(200) + 2000
