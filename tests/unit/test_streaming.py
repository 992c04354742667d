"""Arguments leave while they arrive, only what is certain leaves, and only a ready call may run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fallback import Catalogue, Parser
from fallback.parsing.events import (
    ArgumentsDelta,
    CallReady,
    CallStarted,
    CallSuppressed,
    CallWithdrawn,
    Event,
    ProblemFound,
    TextDelta,
)
from fallback.testing.streaming import Told, told
from fallback.testing.writers import WRITERS, Written


def tool(name: str, properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": name, "parameters": {"type": "object", "properties": properties, **more}}


TEXT = {"type": "string"}
EDIT = {"type": "object", "properties": {"old": TEXT, "new": TEXT, "line": {"type": "integer"}}}
CATALOGUE = Catalogue(
    [
        tool("write", {"path": TEXT, "content": TEXT, "mode": {"enum": ["w", "a"]}}),
        tool("wait", {"seconds": {"type": "integer"}, "note": TEXT}, required=["seconds"]),
        tool(
            "edit",
            {"edits": {"type": "array", "items": {"$ref": "#/$defs/Edit"}}, "why": TEXT},
            **{"$defs": {"Edit": EDIT}},
        ),
        tool("remember", {"text": {"anyOf": [TEXT, {"type": "null"}]}, "tags": {"type": "array"}}),
        tool("send", {"body": {"anyOf": [TEXT, {"type": "object"}]}, "to": {"items": TEXT}}),
        tool("look", {"query": TEXT}),
        tool("now", {}),
    ]
)


def events_of(*chunks: str, finish: Any = "stop") -> list[Event]:
    parser = Parser(CATALOGUE)
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    return events + parser.close(finish)


def so_far(text: str) -> list[Told]:
    """What has been told when the text has arrived, one character at a time, and may go on."""
    parser = Parser(CATALOGUE)
    events = [event for char in text for event in parser.feed(char)]
    calls: dict[int, Told] = {}
    for event in events:
        if isinstance(event, CallStarted):
            calls[event.index] = Told(event.name)
        elif isinstance(event, ArgumentsDelta):
            calls[event.index].pieces.append(event.fragment)
        elif isinstance(event, CallWithdrawn):
            calls[event.index].withdrawn = event.reason
    return list(calls.values())


def pieces(text: str) -> str:
    (call,) = so_far(text)
    assert call.withdrawn is None
    return "".join(call.pieces)


@pytest.mark.parametrize("dialect", WRITERS)
def test_a_long_string_is_told_as_it_is_written_in_every_dialect(dialect: str) -> None:
    content = 'def f():\n    return "x"  # {a: [1, 2]}\n' * 20
    text = WRITERS[dialect].write([Written("write", {"path": "a.py", "content": content})])
    middle = text.index("# {a", len(text) // 2)
    expected = json.dumps({"path": "a.py", "content": content}, ensure_ascii=False)
    got = pieces(text[:middle])
    assert expected.startswith(got)
    assert len(got) > len(expected) // 2 - 100
    (call,) = told(events_of(*text))
    assert "".join(call.pieces) == expected


FORMS = (
    '<|open|>call tool="write" index="1"<|sep|><|open|>argument key="path" type="string"<|sep|>',
    '<|open|>tools<|sep|><|open|>call tool="write"<|sep|><|open|>argument key="path"<|sep|>',
    "<start_function_call>call:write{path:<escape>",
    '<|tool_call|>[{"name": "write", "arguments": {"path": "',
    '<|python_tag|>{"name": "write", "parameters": {"path": "',
    '<|python_tag|>write.call(path="',
    '<|python_start|>[write(path="',
    '<|tool_call_start|>[write(path="',
    '<|action_start|><|plugin|>{"name": "write", "parameters": {"path": "',
    '<|plugin|>{"name": "write", "parameters": {"path": "',
    '<tool_calls>[{"name": "write", "arguments": {"path": "',
    '<minimax:tool_call>\n<invoke name="write">\n<parameter name="path">',
    "<seed:tool_call>\n<function=write>\n<parameter=path>",
    '<function=write>{"path": "',
    "<function=write><parameter=path>",
    '<invoke name="write"><parameter name="path">',
    '<function_calls>\n<invoke name="write">\n<parameter name="path">',
    '<|tool_call_begin|>functions.write:0<|tool_call_argument_begin|>{"path": "',
    "<write>\n<path>",
    '✿FUNCTION✿: write\n✿ARGS✿: {"path": "',
    'Action: write\nAction Input: {"path": "',
    'Action:\n```json\n{"action": "write", "action_input": {"path": "',
    '```json\n{"name": "write", "arguments": {"path": "',
    '```python\nwrite(path="',
    '```tool_code\nprint(write(path="',
    '[TOOL_CALLS]write[CALL_ID]abc123def[ARGS]{"path": "',
    'functools[{"name": "write", "arguments": {"path": "',
    '[Calling tool: write({"path": "',
    '<|channel|>commentary to=functions.write <|constrain|>json<|message|>{"path": "',
    'commentary to=functions.write json{"path": "',
    'write\n{"path": "',
    'write{"path": "',
    "<tool_call>write\n<arg_key>path</arg_key>\n<arg_value>",
    '<tool_call>{"name": "write", "arguments": {"path": "',
    '[TOOL_REQUEST]{"name": "write", "arguments": {"path": "',
    '<|function_call|>{"name": "write", "arguments": {"path": "',
    '<|tools_prefix|>[{"write": {"path": "',
    '[unused11]{"name": "write", "arguments": {"path": "',
    '<think>x</think>\n<tool_call>{"name": "write", "arguments": {"path": "',
    '<think>x</think>\n{"name": "write", "arguments": {"path": "',
    'json\n{"name": "write", "arguments": {"path": "',
    'tool_call\n{"name": "write", "arguments": {"path": "',
    '<tool_call>\n```json\n{"name": "write", "arguments": {"path": "',
    '<tool_call>{"type": "function", "function": {"name": "write", "arguments": {"path": "',
    '<tool_call>{"tool_calls": [{"name": "write", "args": {"path": "',
    'Here you go:\n```tool_call\n{"name": "write", "arguments": {"path": "',
    'I call it: <tool_call>{"name": "write", "arguments": {"path": "',
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>write<｜tool▁sep｜>{"path": "',
    'now()\nwrite(path="',
    '<tool_call>{"name": "now"}</tool_call>\n<tool_call>{"name": "write", "args": {"path": "',
    '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "write", "parameters": {"path": "',
    '<｜DSML｜invoke name="write">\n<｜DSML｜parameter name="path" string="true">',
    '<TOOLCALL>[{"name": "write", "arguments": {"path": "',
    '<tool_call>write({"path": "',
    "<tool_call>write(path='''",
    '[write(path="',
    'write(**{"path": "',
    '{"name": "write", "parameters": {"path": "',
)  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_call_is_told_while_it_is_written(form: str) -> None:
    calls = so_far(f"{form}The quick brown fox")
    assert "".join(calls[-1].pieces).startswith('{"path": "The quick brown')


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('<tool_call>{"name": "wait", "arguments": {"seconds": "12', "{"),
        ('<tool_call>{"name": "wait", "arguments": {"seconds": "12", ', '{"seconds": 12'),
        ('<tool_call>{"name": "wait", "arguments": {"seconds": 12', "{"),
        ('<tool_call>{"name": "wait", "arguments": {"seconds": 12.0,', '{"seconds": 12'),
        ('<tool_call>{"name": "write", "arguments": {"mode": "A', "{"),
        ('<tool_call>{"name": "write", "arguments": {"mode": "A"', '{"mode": "a"'),
        ('<tool_call>{"name": "write", "arguments": {"path": null, "content": "x', "{"),
        ("<function=remember><parameter=text>\nNon", ""),
        ("<function=remember><parameter=text>\nNone of them", '{"text": "None of them'),
        ("<function=write><parameter=path>\na.txt\n", '{"path": "a.txt'),
        ('<tool_call>{"name": "send", "arguments": {"body": "12', '{"body": "12'),
        ("Action: look\nAction Input:  '\"Os", '{"query": "Os'),
        ("Action: look\nAction Input: it's \" ", '{"query": "it\'s'),
        ('<tool_call>{"name": "send", "arguments": {"body": {"a": 1', "{"),
        ('<tool_call>{"name": "send", "arguments": {"to": ["x", "y"', '{"to": ["x", "y"'),
    ],
)
def test_a_value_that_the_schema_may_still_change_is_held_until_it_is_there(
    text: str, expected: str
) -> None:
    assert pieces(text) == expected


def test_strings_inside_lists_and_objects_are_told_too() -> None:
    text = '<tool_call>{"name": "edit", "arguments": {"edits": [{"line": "7", "old": "a", "new": "b'
    assert pieces(text) == '{"edits": [{"line": 7, "old": "a", "new": "b'


def test_an_escape_that_may_be_a_path_is_held_and_the_call_is_told_once() -> None:
    body = r'{"name": "write", "arguments": {"path": "C:\new\folder\qux"}}'
    assert pieces(f"<tool_call>{body[:-2]}") == '{"path": "C:'
    (call,) = told(events_of(*f"<tool_call>{body}</tool_call>"))
    assert call.call
    assert call.call.arguments == {"path": r"C:\new\folder\qux"}
    assert call.call.repairs == ("lone_backslashes",)


def test_a_call_whose_pieces_turn_out_wrong_is_withdrawn_and_told_again() -> None:
    body = r'{"name": "write", "arguments": {"path": "the \nabla and \sum of it"}}'
    first, second = told(events_of(*f"<tool_call>{body}</tool_call>"))
    assert (first.withdrawn, "".join(first.pieces)) == ("restated", '{"path": "the \\nabla and ')
    assert second.call
    assert second.call.arguments == {"path": r"the \nabla and \sum of it"}


@pytest.mark.parametrize(
    ("text", "finish", "reason"),
    [
        ('<tool_call>{"name": "write", "arguments": {"path": "a', "length", "truncated"),
        ('<tool_call>{"name": "write", "arguments": {"path": "a', "stop", "truncated"),
        ('write(path="a", content="b', "stop", "truncated"),
        ("<function=write><parameter=path>a.tx", "length", "truncated"),
        ('<tool_call>{"name": "wait", "arguments": {"note": "x"}}', "stop", "invalid_arguments"),
        ('<tool_call>{"name": "write", "arguments": {"path": "a", "path": "b"}}', "stop",
         "invalid_json"),
    ],
)  # fmt: skip
def test_a_call_that_fails_after_it_began_is_withdrawn_and_its_problem_follows(
    text: str, finish: str, reason: str
) -> None:
    events = events_of(*text, finish=finish)
    kinds = [type(event) for event in events]
    assert CallReady not in kinds
    at = kinds.index(CallWithdrawn)
    withdrawn, found = events[at : at + 2]
    assert isinstance(withdrawn, CallWithdrawn)
    assert isinstance(found, ProblemFound)
    assert (withdrawn.index, withdrawn.reason) == (0, reason)
    assert (found.index, found.problem.kind) == (0, reason)


def test_a_bare_call_that_a_sentence_goes_on_behind_is_withdrawn_and_shown() -> None:
    text = 'write(path="a.txt") is how a file is written.'
    events = events_of(*text)
    assert [event.reason for event in events if isinstance(event, CallWithdrawn)] == [
        "inside_a_sentence"
    ]
    assert any(isinstance(event, CallSuppressed) for event in events)
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == text


@pytest.mark.parametrize(
    "text",
    [
        'Use `write(path="a", content="bcdefgh',
        '> write(path="a", content="bcdefgh',
        'An example:\n```python\nwrite(path="a", content="bcdefgh',
        '<think>write(path="a", content="bcdefgh',
        'Here it is:\n\nwrite(path="a", content="bcdefgh',
        'The tag <tool_call>{"name": "write", "arguments": {"path": "abcdefgh',
        'I know {"name": "write", "arguments": {"path": "abcdefgh',
        '```json\n{"temperature": 3, "name": "write", "arguments": {"path": "abcdefgh',
        '<tool_call>{"name": "unknown", "arguments": {"path": "abcdefgh',
    ],
)
def test_nothing_starts_where_it_may_still_be_no_call(text: str) -> None:
    assert so_far(text) == []


@pytest.mark.parametrize("choice", ["none", "now"])
def test_a_tool_that_may_not_be_called_is_not_started(choice: str) -> None:
    parser = Parser(CATALOGUE, tool_choice=choice)
    text = '<tool_call>{"name": "write", "arguments": {"path": "abcdef'
    assert not any(isinstance(e, CallStarted) for char in text for e in parser.feed(char))


def test_the_text_before_a_call_comes_before_its_beginning() -> None:
    events = events_of(*'Let me see.\n<tool_call>{"name": "write", "arguments": {"path": "a"}}')
    started = next(i for i, event in enumerate(events) if isinstance(event, CallStarted))
    before = "".join(e.text for e in events[:started] if isinstance(e, TextDelta))
    assert before == "Let me see.\n"


def test_calls_of_one_body_start_in_their_order_however_they_arrive() -> None:
    first, second = '{"name": "now", "arguments": {}}', '{"name": "write", "arguments": {"path": "'
    chunks = (f"[TOOL_CALLS][{first}, ", second, "ab")
    parser = Parser(CATALOGUE)
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    assert events == [
        CallStarted(0, "now"),
        CallStarted(1, "write"),
        ArgumentsDelta(1, "{"),
        ArgumentsDelta(1, '"path": "ab'),
    ]
    ended = parser.feed('"}}]') + parser.close()
    assert [event.index for event in ended if isinstance(event, CallReady)] == [0, 1]


def test_a_piece_of_nothing_tells_nothing() -> None:
    parser = Parser(CATALOGUE)
    parser.feed('<tool_call>{"name": "write", "arguments": {"path": "ab')
    assert parser.feed("") == []
    assert parser.feed("cd") == [ArgumentsDelta(0, "cd")]


def test_a_call_that_arrives_in_one_piece_is_told_in_one_piece() -> None:
    events = events_of('<tool_call>{"name": "write", "arguments": {"path": "a"}}</tool_call>')
    assert events[:2] == [CallStarted(0, "write"), ArgumentsDelta(0, '{"path": "a"}')]
    assert isinstance(events[2], CallReady)


@pytest.mark.parametrize(
    "text",
    [
        r'<tool_call>{"name": "write", "args": {"path": "\u00e9\ud83d\ude00\/\"\\", "x": [[]]}}',
        "<tool_call>{'name': 'write', 'arguments': {'path': 'it\\'s \\x41', 'n': None}}",
        'write("a.txt", "some \\\ntext", mode=\'w\')',
        'write(path="""one "two"\nthree""", content=\'\'\'x\'\'\', mode="")',
        'write({"path": "a"})',
        'write(**{"path": "a", "x": {"y": 1}}, content="b", **{"z": [2]})',
        'write(content="b", **{"path": "a"}, mode="w")',
        'write(path="a", **{"path": "b"})',
        '{"name": "write", "arguments": {path: "a", "content": "b",}}',
        '{"type": "function", "function": {"name": "write", "arguments": {"path": "a"}}}',
        '{"calls": [{"function": {"name": "write", "args": {}}}, {"name": "now", "args": {}}]}',
        '<tool_call>{"name": "write", "arguments": "{\\"path\\": \\"a\\"}"}</tool_call>',
        '<tool_call>{"name": "write", "arguments": {"arguments": {"path": "a"}}}</tool_call>',
        '<|tool_call>call:write{path:<|"|>a "b" <|<|"|>,content:word,n:[1,{x:true}]}<tool_call|>',
        'write(path=New York, content="x")',
        'write(path="a", content=str(5))',
        "<tool_call>write<arg_key>path</arg_key><arg_value>a<b</arg_value></tool_call>",
        "<write><path>\na.txt\n</path><content>\nx < y\n</content></write>",
        "<write>\npath: a.txt\ncontent: |\n  one\n  two\n</write>",
        'Action: write\nAction Input: {"path": "a"}\nObservation: done',
        "Action: look\nAction Input:  \"it's so\" ' \nObservation: done",
        "Action: look\nAction Input: ' \"' ",
        "Action: look\nAction Input: \nObservation: done",
        "Action: look\nAction Input: Oslo",
    ],
)  # fmt: skip
def test_pieces_are_the_final_arguments_in_every_way_of_writing_them(text: str) -> None:
    for chunks in ([text], list(text), [text[i : i + 3] for i in range(0, len(text), 3)]):
        parser = Parser(CATALOGUE)
        events = [event for chunk in chunks for event in parser.feed(chunk)] + parser.close()
        calls = [call for call in told(events) if call.call]
        assert tuple(call.call for call in calls) == parser.reading.calls
        for call in calls:
            assert call.call is not None
            final = json.dumps(call.call.arguments, ensure_ascii=False)
            assert "".join(call.pieces) == final
