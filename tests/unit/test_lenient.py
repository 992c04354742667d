"""Each repair has cases that need it and cases where it must not fire."""

from __future__ import annotations

from typing import Any

import pytest

from fallback.parsing.lenient import read_arguments, read_value
from fallback.parsing.malformed import MalformedError
from fallback.parsing.strict import DuplicateKeyError

NEEDED: list[tuple[str, str, Any]] = [
    ("control_characters", '{"a": "one\ntwo\tend"}', {"a": "one\ntwo\tend"}),
    ("python_literals", "{'a': True, 'b': None}", {"a": True, "b": None}),
    ("python_literals", '{"a": (1, 2)}', {"a": [1, 2]}),
    ("python_literals", '{"a": .5, "b": 5.}', {"a": 0.5, "b": 5.0}),
    ("python_literals", '{"zip": 007}', {"zip": "007"}),
    ("comments", '{"a": 1 /* one */, "b": 2 // two\n}', {"a": 1, "b": 2}),
    ("comments", '{"a": 1, # one\n "b": 2}', {"a": 1, "b": 2}),
    ("trailing_comma", '{"a": [1, 2,],}', {"a": [1, 2]}),
    ("missing_comma", '{"a": 1 "b": 2}', {"a": 1, "b": 2}),
    ("missing_comma", '{"a": [{"x": 1} {"x": 2}]}', {"a": [{"x": 1}, {"x": 2}]}),
    ("missing_closers", '{"a": [1, {"b": "c"}', {"a": [1, {"b": "c"}]}),
    ("missing_closers", '{"a": [1, 2}', {"a": [1, 2]}),
    ("surplus_closers", '{"a": 1}}]', {"a": 1}),
    ("unquoted_keys", '{city: "Oslo"}', {"city": "Oslo"}),
    ("smart_quotes", "{“city”: “Oslo”}", {"city": "Oslo"}),
    ("lone_backslashes", r'{"tex": "\frac{a}{b} \sum x"}', {"tex": r"\frac{a}{b} \sum x"}),
    ("lone_backslashes", r'{"path": "C:\Users\new"}', {"path": r"C:\Users\new"}),
    ("escaped_apostrophes", r'{"a": "it\'s"}', {"a": "it's"}),
]
NOT_FIRED: list[tuple[str, str, Any]] = [
    ("control_characters", r'{"a": "one\ntwo", x: 1}', {"a": "one\ntwo", "x": 1}),
    ("python_literals", '{"a": "True, None and \'quotes\'", x: 1}', None),
    ("comments", '{"url": "http://x//y /* z */ # w", x: 1}', None),
    ("trailing_comma", '{"a": "1,}", x: 1}', {"a": "1,}", "x": 1}),
    ("missing_comma", "{\"a\": 'x', \"b\": 'y'}", {"a": "x", "b": "y"}),
    ("missing_closers", "{'a': '[{'}", {"a": "[{"}),
    ("surplus_closers", "{'a': '}}]'}", {"a": "}}]"}),
    ("unquoted_keys", "{'city': 'x: y'}", {"city": "x: y"}),
    ("smart_quotes", "{'a': '“quoted”'}", {"a": "“quoted”"}),
    ("lone_backslashes", r"{'path': 'C:\\Users', 'n': '\n'}", {"path": "C:\\Users", "n": "\n"}),
    ("escaped_apostrophes", r"{'a': 'it\'s'}", {"a": "it's"}),
]


@pytest.mark.parametrize(("repair", "text", "value"), NEEDED)
def test_a_repair_gives_the_one_value_it_can_mean(repair: str, text: str, value: Any) -> None:
    read, repairs = read_value(text, 0, len(text))
    assert read == value
    assert repair in repairs


@pytest.mark.parametrize(("repair", "text", "value"), NOT_FIRED)
def test_a_repair_leaves_alone_what_is_right(repair: str, text: str, value: Any) -> None:
    read, repairs = read_value(text, 0, len(text))
    if value is not None:
        assert read == value
    assert repair not in repairs


def test_every_documented_repair_has_both_kinds_of_case() -> None:
    from fallback.parsing import lenient

    documented = {
        line.split("``")[1] for line in (lenient.__doc__ or "").splitlines() if line[:2] == "``"
    }
    only_in_calls = {"colon_arguments", "unquoted_text", "unquoted_name", "markdown_escapes"}
    assert {name for name, *_ in NEEDED} == documented - only_in_calls
    assert {name for name, *_ in NOT_FIRED} == documented - only_in_calls


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('{"content": "env.get("KEY", "x")"}', "content"),
        ('{"a": open("x")}', "a"),
        ('{"a": NaN}', "a"),
        ('{"a": undefined}', "a"),
        ('{"a": 1,, "b": 2}', "a"),
        ("{'a': b'bytes'}", "a"),
        ("{'a': f'{x}'}", "a"),
        ('{"a": }', "a"),
        ('{"a" "b"}', "a"),
        ('{"a": 12abc}', "a"),
        ('{"a": "x" + "y"}', "a"),
        ('{"a": 1} {"b": 2}', "a"),
    ],
)
def test_what_would_be_a_guess_is_refused_and_says_where(text: str, key: str) -> None:
    with pytest.raises(MalformedError) as caught:
        read_value(text, 0, len(text))
    assert caught.value.key == key


def test_a_string_that_never_closes_is_cut_off_and_not_mended() -> None:
    with pytest.raises(MalformedError) as caught:
        read_value('{"a": "no end', 0, 13)
    assert caught.value.truncated


def test_a_key_that_stands_twice_is_no_value() -> None:
    with pytest.raises(DuplicateKeyError):
        read_value("{'a': 1, 'a': 1}", 0, 16)


@pytest.mark.parametrize(
    ("text", "positional", "keywords"),
    [
        ('(city="Rome", days=2)', (), {"city": "Rome", "days": 2}),
        ("('Rome', limit=3)", ("Rome",), {"limit": 3}),
        ("(**{'a-b': 1}, c=dict(x=1))", (), {"a-b": 1, "c": {"x": 1}}),
        ("(a=[1,(2,3)], b=-1.5e3, c=true)", (), {"a": [1, [2, 3]], "b": -1500.0, "c": True}),
        ('(c="""Use:\n```\nmake "x"\n```\n""")', (), {"c": 'Use:\n```\nmake "x"\n```\n'}),
        (r"(s=r'a\d', t='\x41\u00e9\101')", (), {"s": r"a\d", "t": "AéA"}),
        ("(from='x', class=1)", (), {"from": "x", "class": 1}),
        ("(n=1_000)", (), {"n": 1000}),
        ("()", (), {}),
    ],
)  # fmt: skip
def test_python_arguments_are_read_as_literals(
    text: str, positional: tuple[Any, ...], keywords: dict[str, Any]
) -> None:
    arguments, repairs = read_arguments(text, 0, len(text))
    assert (arguments.positional, arguments.keywords) == (positional, keywords)
    assert repairs == ()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("(city=New York)", "New York"),
        ("(city=Rome, days=2)", "Rome"),
        ("(city=gluten-free)", "gluten-free"),
        ("(city=Trinidad and Tobago)", "Trinidad and Tobago"),
        ("(city=24h)", "24h"),
    ],
)  # fmt: skip
def test_plain_words_are_a_string(text: str, value: str) -> None:
    arguments, repairs = read_arguments(text, 0, len(text))
    assert arguments.keywords["city"] == value
    assert repairs == ("unquoted_text",)


def test_a_colon_may_stand_for_the_sign_of_equality() -> None:
    arguments, repairs = read_arguments('(city: "Rome")', 0, 14)
    assert arguments.keywords == {"city": "Rome"}
    assert repairs == ("colon_arguments",)


@pytest.mark.parametrize(
    "text",
    [
        "(a=__import__('os').system('id'))",
        "(a=5*3)",
        "(city=city)",
        "(city: string)",
        "(city=string)",
        "(a=<city>)",
        "(body='Let's meet')",
        "(a=lambda: 1)",
        "(a=[x for x in y])",
        "(a=b if c else d)",
        "(**x)",
        "(a={1, 2})",
    ],
)
def test_nothing_is_evaluated_and_nothing_is_guessed(text: str) -> None:
    with pytest.raises(MalformedError):
        read_arguments(text, 0, len(text))


@pytest.mark.parametrize("text", ["(a=x.y)", "(a=my_variable)", "(a=x)"])
def test_what_could_be_a_variable_is_marked_for_the_schema_to_decide(text: str) -> None:
    arguments, repairs = read_arguments(text, 0, len(text))
    assert arguments.keywords == {"a": text[3:-1]}
    assert repairs == ("unquoted_name a",)
