"""Every named repair: a reply that needs it, and one that looks alike and must be left alone.

The names are read off the sources, so a repair that is added without both fails here.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import fallback
from fallback import Catalogue, parse

PACKAGE = Path(fallback.__file__).parent
SOURCES = [
    *sorted((PACKAGE / "parsing").glob("*.py")),
    PACKAGE / "validation.py",
    PACKAGE / "schema" / "coercion.py",
]
NAMED = re.compile(
    r"""_repair\(f?"([a-z_]+)|repairs\["([a-z_]+)"|repairs=\("([a-z_]+)"|[ (]\("([a-z_]+)",\)"""
    r"""|append\(f"([a-z_]+) \{path|f"([a-z_]+) \$\.|\(option, "([a-z_]+)"|f"(string_to)_\{kind"""
)
CATALOGUE = Catalogue(
    [
        {
            "name": "note",
            "parameters": {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "days": {"type": "integer"},
                    "unit": {"enum": ["celsius", "fahrenheit"]},
                    "sure": {"enum": ["True", "False", "maybe"]},
                    "free_text": {"type": "string"},
                    "more": {"type": "object", "additionalProperties": True},
                    "list": {"type": "array"},
                },
            },
        },
        {"name": "now", "parameters": {"type": "object", "properties": {}}},
    ]
)


def tagged(arguments: str) -> str:
    """A call of ``note`` with these arguments, written as they are."""
    return f'<tool_call>{{"name": "note", "arguments": {arguments}}}</tool_call>'


CASES: dict[str, tuple[str, dict[str, Any], str]] = {
    "control_characters": (
        tagged('{"text": "a\nb"}'),
        {"text": "a\nb"},
        tagged(r'{"text": "a\nb"}'),
    ),
    "python_literals": (
        tagged("{'text': 'x', 'more': {'a': None}}"),
        {"text": "x", "more": {"a": None}},
        tagged('{"text": "\'None\'", days: 1}'),
    ),
    "comments": (
        tagged('{"days": 1 /* one */}'),
        {"days": 1},
        tagged('{text: "http://x /* y */"}'),
    ),
    "trailing_comma": (tagged('{"days": 1,}'), {"days": 1}, tagged('{text: "1,}"}')),
    "missing_comma": (
        tagged('{"text": "a" "days": 1}'),
        {"text": "a", "days": 1},
        tagged("{'text': 'a \"b\": c'}"),
    ),
    "missing_closers": (
        '<tool_call>{"name": "note", "arguments": {"days": 1}</tool_call>',
        {"days": 1},
        tagged("{'text': '{['}"),
    ),
    "surplus_closers": ("note(days=1]))", {"days": 1}, tagged("{'text': '}}]'}")),
    "unquoted_keys": (tagged("{days: 1}"), {"days": 1}, tagged("{'text': 'days: 1'}")),
    "smart_quotes": (tagged("{“text”: “x”}"), {"text": "x"}, tagged("{'text': '“x”'}")),
    "lone_backslashes": (
        tagged(r'{"text": "C:\Work\new"}'),
        {"text": r"C:\Work\new"},
        tagged(r'{text: "C:\\Work\n"}'),
    ),
    "escaped_apostrophes": (
        tagged(r'{"text": "it\'s"}'),
        {"text": "it's"},
        tagged(r"{'text': 'it\'s'}"),
    ),
    "colon_arguments": ('note(text: "x")', {"text": "x"}, 'note(text="a: b")'),
    "unquoted_text": ("note(text=New York)", {"text": "New York"}, 'note(text="New York")'),
    "unquoted_name": ("[note(text=my_note)]", {"text": "my_note"}, '[note(text="my_note")]'),
    "bracketed_name": ("[note](days=1)", {"days": 1}, "[note(days=1)]"),
    "call_in_string": ("['note(days=1)']", {"days": 1}, "[note(text='note(days=1)')]"),
    "name_as_key": (
        '{"note": {"days": 1}}',
        {"days": 1},
        tagged('{"more": {"note": {"days": 1}}}'),
    ),
    "name_and_arguments_pair": (
        "['note', {'days': 1}]",
        {"days": 1},
        tagged('{"list": ["note", {}]}'),
    ),
    "flat_arguments": (
        '<tool_call>{"name": "note", "days": 1}</tool_call>',
        {"days": 1},
        tagged('{"days": 1}'),
    ),
    "stringified_arguments": (
        tagged(r'"{\"days\": 1}"'),
        {"days": 1},
        tagged(r'{"text": "{\"days\": 1}"}'),
    ),
    "nested_arguments": (
        tagged('{"arguments": {"days": 1}}'),
        {"days": 1},
        tagged('{"more": {"arguments": {"days": 1}}}'),
    ),
    "markdown_escapes": (
        r"note(free\_text='x', days=1)",
        {"free_text": "x", "days": 1},
        r"note(free_text='a\_b')",
    ),
    "null_left_out": (
        tagged('{"text": "x", "days": null}'),
        {"text": "x"},
        tagged('{"more": {"days": null}}'),
    ),
    "string_to": (tagged('{"days": "1"}'), {"days": 1}, tagged('{"text": "1"}')),
    "enum_case": (
        tagged('{"unit": "Celsius"}'),
        {"unit": "celsius"},
        tagged('{"text": "Celsius"}'),
    ),
    "float_to_integer": (tagged('{"days": 1.0}'), {"days": 1}, tagged('{"more": {"days": 1.0}}')),
    "boolean_to_enum": (
        tagged('{"sure": true}'),
        {"sure": "True"},
        tagged('{"more": {"sure": true}}'),
    ),
}


def fired(repairs: tuple[str, ...], name: str) -> bool:
    return any(repair.startswith(name) for repair in repairs)


def test_every_repair_that_the_sources_name_has_its_two_cases() -> None:
    named = {
        next(filter(None, found))
        for path in SOURCES
        for found in NAMED.findall(path.read_text("utf-8"))
    }
    assert named - set(CASES) == set()
    # Those of strings are put together from what was found in them.
    assert set(CASES) - named <= {"escaped_apostrophes", "control_characters", "smart_quotes"}


@pytest.mark.parametrize("name", CASES)
def test_a_repair_makes_of_a_slip_what_was_meant_and_says_so(name: str) -> None:
    text, arguments, _ = CASES[name]
    reading = parse(text, CATALOGUE)
    assert [call.arguments for call in reading.calls] == [arguments], reading.problems
    assert fired(reading.calls[0].repairs, name)


@pytest.mark.parametrize("name", CASES)
def test_a_repair_leaves_alone_what_only_looks_alike(name: str) -> None:
    (call,) = parse(CASES[name][2], CATALOGUE).calls
    assert not fired(call.repairs, name)
