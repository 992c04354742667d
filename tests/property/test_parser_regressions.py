"""Replies that once broke a law of the parser, each the smallest that did."""

from __future__ import annotations

import json

import pytest
from weather_kit import CATALOGUE

from fallback import Catalogue, Parser, Reading, parse
from fallback.testing.effort import effort

CALL = '<tool_call>{"name": "now"}</tool_call>'
DATA_OR_NOT = (
    f'{{"{"k" * 130}":11]TION|x[\n    "y, "tool_name": "now", "parameters": {{"path": "ac,py. '
    '""onte;t": "print(\\"```\\")\\n# {}          "}}\n]<|END_AC'
)


def read(*chunks: str) -> Reading:
    parser = Parser(CATALOGUE)
    for chunk in chunks:
        parser.feed(chunk)
    parser.close()
    return parser.reading


@pytest.mark.parametrize(
    "text",
    [
        # A line as long as the look-back was prose when it came at once, and itself in pieces.
        *(f'{"x" * size}{CALL}"' for size in range(198, 204)),
        *(f'\n{"x" * size}{CALL}"' for size in range(198, 204)),
        # The first key was no longer looked at once the first sixteen characters made no sense.
        '{"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00":"name":"now"',
        '{"my-configuration":"name":"now"',
        # One marker is the beginning of another.
        "<|start_of_role|>tool_response",
        f"{CALL}<|start_of_role|>tool_responses",
        # The fault of a block went as far as the text that had arrived.
        "```tool_code\n2\n\n)",
        # A marker inside the block was looked for before it was whole.
        "```tool_call<|GCML| calls>",
        f"```tool_call\n{CALL}",
        # The first key of an object in a sentence stood on the next line.
        ':{{\n"name":"get_weather""arguments":{',
        'x {"a": {\n"name": "now", "arguments": {}}',
        # A name in back-ticks was not one until its first letter had come.
        "[`now(",
        # A parenthesis in front of a name was judged before the name's own had come.
        '[now(),(get_weather(city="d")]',
        # The tags that end a call were not awaited by those of its parameters.
        "<invoke><tool_name>get_weather</tool_name><parameters><city>x</city></para></invoke>",
        # The key of a pair was read before the tag of its value had come.
        "<longcat_tool_call>now<longcat_arg_key>a</longcat_arg_key>\n<longcat_arg_value>x",
        # A marker behind the opening tag was looked at before it was whole.
        '<function=get_weather><<function>>{"city": "Oslo"}',
        # A flower that had only begun was passed over with the bracket in front of it.
        'x <a ✿FUNCTION✿: get_weather\n✿ARGS✿: {"city": "Oslo"}',
        # A line separator is no end of a line, so no fence closes behind it.
        "```python\nx\n\u2028```",
        # A quote between the label and the name let the label go.
        'Call:"now();',
        "Call: `now`()",
        # A marker that reaches beyond a piece was passed over with what came before it.
        "x [a </think>y",
        "x <a </think>",
        # A label in a block quote was seen only where it came with its colon.
        "> Action: now\n> Action Input: {}\n\nThat is all.",
        "> x Action: now\n> now()\n\nThat is all.",
        # The blank behind the sign of a block quote had to come with it.
        f"> ```tool_call\n> {CALL}\n> ```\n\nThat is all.",
        # A name on the line before its arguments had left before they came.
        "now\n{}",
        'get_weather \n\n {"city": "Oslo"}',
        'x\nget_weather\n{"city": "Oslo"}',
        "- Action: now\n{}",
        # Only a blank or a tab stands between a name and its arguments.
        'functions.now:0\u2028{"name": 1}',
        "\u2028functools[now()]",
        # A block of nonsense ended at its first empty line where its closing line had not come yet.
        "```tool_call\n]```json\nx\n\n```\n",
        "```tool_call\n]```json\nx\n  \n```\n[now()]",
        f"```tool_call\n{CALL}x\n  \n```\n",
        # A numbered label was not held until its colon came.
        "Action0:<channel|>",
        "Action 12: now\nAction 12 Input: {}",
        # A label behind a call begins a line, whatever was thought of it before.
        "[now()]Action: now\n",
        f"{CALL}Action: now",
        # A result behind a call without arguments was not waited for.
        "Action: now\nObservation: ",
        # What lay behind an object was looked at to tell whether it is data.
        DATA_OR_NOT,
        # The colon behind the first key of an object in a sentence stood on the next line.
        'x {{"name"\n:"now"<',
        'x {{"name"' + "\n" * 20 + ':"now"<',
        'x {{"nam"\n',
        # A word behind a value of Gemma's was taken for another value, of no key.
        '<tool_call>call:get_weather{y:<|"|><|"|>,days:{y:<|"|><|"|>o<',
        '<tool_call>call:get_weather{city:<|"|>x<|"|> y, days:[1 <|"|>a<|"|> b 2]}<tool_call|>',
        # The blank line that ends inline code was not seen where it came in pieces.
        '``js<ningool_name"\n[\n    \n``',
        "``(\n \t \n[now()]``",
        f"<tool_call>?\n{' ' * 60}\n[now()]",
        # Behind another flower one that had only begun was not held.
        '✿✿FUNCTION✿: get_weather\n✿ARGS✿: {"city": "Oslo"}',
        "[now()]✿✿RESULT✿: 3",
        # What had come while a tag was waited for was passed over with what stood before it.
        '<get_weather><L?</thought>"',
        # A backslash in front of a digit that is none in base eight was taken for an escape.
        r"""[get_weather(city="\809")]""",
        r"""```tool_code
get_weather(city='\9 \² \٣')
```""",
        # What nests too deep was given up as far as the line had arrived.
        f"<tool_call>x{'(' * 130}y\n{CALL}",
    ],
)
def test_chunks_do_not_matter(text: str) -> None:
    whole = read(text)
    assert read(*text) == whole
    for at in range(1, len(text), 7):
        assert read(text[:at], text[at:]) == whole


def test_an_open_string_does_not_carry_a_quoted_call_out_of_its_fence() -> None:
    call = '{"name": "get_weather", "arguments": {"city": ""}}'
    text = f'An example:\n\n```text\n{call}{{"""\n```\n\nI have called nothing.'
    for reading in (read(text), read(*text)):
        assert reading.calls == ()
        assert reading.text == text


def test_a_list_that_is_written_between_tags_is_no_placeholder() -> None:
    tags = {"type": "array", "items": {"type": "string"}}
    catalogue = Catalogue(
        [{"name": "f", "parameters": {"type": "object", "properties": {"tags": tags}}}]
    )
    for value in ([""], ["tags"], ["name"]):
        text = f"<function=f>\n<parameter=tags>\n{json.dumps(value)}\n</parameter>\n</function>"
        (call,) = parse(text, catalogue).calls
        assert call.arguments == {"tags": value}
    placeholder = "<function=f>\n<parameter=tags>\n[your tags]\n</parameter>\n</function>"
    assert parse(placeholder, catalogue).calls == ()


@pytest.mark.parametrize("head", ["", "It is ", '{"name": "now", "arguments": '])
def test_openers_in_a_row_cost_what_they_are_long(head: str) -> None:
    parse("", CATALOGUE)  # what is made once is no part of it
    few, many = (effort(lambda n=n: read(head + "<tool_call>" * n)) for n in (200, 800))
    assert many < 5 * few


@pytest.mark.parametrize(
    "unit",
    [
        "it's{\"name\":",
        "{\"name\": \"get_weather\", it's}",
        '~{"name": "now", "arguments": {',
        '```json\n{"name":\n',
        "`now(",
        "\n```\n(",
        "</s>",
        "Action: now\n",
    ],
)  # fmt: skip
def test_what_comes_to_nothing_is_given_up_after_a_while(unit: str) -> None:
    few, many = (read("> " + unit * n + "\nx " + unit * n) for n in (400, 4000))
    assert few.calls == many.calls == ()
    parse("", CATALOGUE)
    cost = [effort(lambda n=n: read("x " + unit * n)) for n in (4000, 16000)]
    assert cost[1] < 4.6 * cost[0]


def test_behind_too_many_false_starts_everything_is_text() -> None:
    text = "`now(` " + 'x {"name": "now", "arguments": {}} y\n' * 400 + f"\n{CALL}"
    whole, pieces = read(text), read(*text)
    assert whole == pieces
    assert (whole.calls, whole.text) == ((), text)
    assert whole.suppressed[-1].reason == "too_many_false_starts"
    assert read(f"a `b`, a [c](d)\n\n{text[:700]}\n\n{CALL}").calls != ()


def test_a_comment_without_an_end_hides_nothing() -> None:
    reading = read('<tool_call>{"name": "now", "arguments": {} /* no end, "x": 1}</tool_call>')
    assert (reading.calls, len(reading.problems)) == ((), 1)


@pytest.mark.parametrize("escape", ["\\8", "\\9", "\\²", "\\٣"])
def test_a_digit_that_is_none_in_base_eight_is_no_escape(escape: str) -> None:
    (call,) = read(f'[get_weather(city="Oslo {escape}")]').calls
    assert call.arguments == {"city": f"Oslo {escape}"}
    assert call.repairs == ("lone_backslashes",)


def test_a_pair_of_tags_without_anything_in_it_calls_a_tool_that_needs_nothing() -> None:
    properties = {"path": {"type": "string"}}
    free = {"name": "list_files", "parameters": {"type": "object", "properties": properties}}
    needs = {**free, "parameters": {**free["parameters"], "required": ["path"]}}
    text = "<list_files>\n</list_files>"
    assert [call.arguments for call in parse(text, [free]).calls] == [{}]
    assert parse(text, [needs]).calls == ()
