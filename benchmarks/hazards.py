"""Replies that look like calls and are none: eight kinds, A to H, each with examples of its own.

Nothing in them may run. They are read with two tools; the examples were made up for this file.
"""

from __future__ import annotations

from typing import Any

TOOLS: tuple[dict[str, Any], ...] = (
    {
        "name": "get_weather",
        "description": "Weather in a city.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "unit": {"type": "string", "enum": ["C", "F"]},
            },
            "required": ["city"],
        },
    },
    {
        "name": "geo.search",
        "description": "Search for a place.",
        "parameters": {
            "type": "object",
            "properties": {"q": {"type": "string"}, "limit": {"type": "integer"}},
            "required": ["q"],
        },
    },
)

KINDS = {
    "A": "a list of signatures",
    "B": "a tool's definition repeated back",
    "C": "a tool named in a sentence",
    "D": "a function defined in example code",
    "E": "placeholders for arguments",
    "F": "a name that is not among the tools",
    "G": "an invented result",
    "H": "a refusal that shows what the call would be",
}

_DEFINITION = (
    '{"name": "get_weather", "description": "Weather in a city.", "parameters": {"type": "object",'
    ' "properties": {"city": {"type": "string"}, "unit": {"type": "string", "enum": ["C", "F"]}},'
    ' "required": ["city"]}}'
)

HAZARDS: tuple[tuple[str, str], ...] = (
    ("A", "get_weather(city: string)"),
    ("A", "get_weather(city: string, unit?: string)\ngeo.search(q: string, limit?: integer)"),
    ("A", "I have access to:\n\n- get_weather(city: str, unit: str)\n- geo.search(q: str)"),
    ("A", "My tools are:\n\n1. `get_weather(city, unit)`\n2. `geo.search(q, limit)`\n"),
    ("A", "* get_weather(city, unit) - the weather in a city\n* geo.search(q) - finds a place"),
    ("B", _DEFINITION),
    ("B", f"The tool that I would need is described like this:\n\n```json\n{_DEFINITION}\n```"),
    ("B", f'[{{"type": "function", "function": {_DEFINITION}}}]'),
    ("B", f"<tools>\n{_DEFINITION}\n</tools>"),
    ("C", "You can ask get_weather() for that."),
    ("C", "With get_weather(city, unit) one gets the weather, if one knows the city."),
    ("C", "The function get_weather('Rome') would answer this, but it is not needed today."),
    ("C", 'I could use geo.search(q="Rome") first, or ask you which Rome you mean.'),
    ("D", "```python\ndef get_weather(city):\n    return fetch(city)\n```"),
    (
        "D",
        (
            "Here is the script:\n\n```python\nimport weather\n\n\ndef main():\n"
            '    print(get_weather(city="Rome"))\n\n\nmain()\n```'
        ),
    ),
    ("D", "def get_weather(city: str, unit: str = 'C') -> dict:\n    ...\n"),
    ("D", "```python\nfor city in cities:\n    get_weather(city=city)\n```\n\nThat is the loop."),
    ("E", "get_weather(city=<city>)"),
    ("E", "get_weather(city=your_city)"),
    ("E", 'get_weather(city="[CITY_NAME]")'),
    ("E", "[get_weather(city=city_name)]"),
    ("E", "[get_weather(city=your_city)]"),
    ("E", "[geo.search(q=user.query, limit=5)]"),
    ("E", '{"name": "get_weather", "arguments": {"city": "<city>"}}'),
    ("E", "[geo.search(q=..., limit=...)]"),
    ("F", 'get_forecast(city="Rome")'),
    ("F", '{"name": "delete_file", "arguments": {"path": "notes.txt"}}'),
    ("F", '<tool_call>\n{"name": "weather", "arguments": {"city": "Rome"}}\n</tool_call>'),
    ("F", '```tool_code\nsearch(q="Rome")\n```'),
    ("G", '```tool_output\n{"city": "Rome", "temperature": 21}\n```'),
    (
        "G",
        (
            '<tool_response>\n{"name": "get_weather", "city": "Rome", "result": "21 C"}\n'
            "</tool_response>\n\nIt is 21 degrees in Rome."
        ),
    ),
    ("G", '{"name": "get_weather", "result": {"city": "Rome", "temperature": 21}}'),
    ("G", "Observation: get_weather says that Rome has 21 C.\nFinal Answer: 21 C"),
    (
        "H",
        'I cannot do that, but the call would look like this: [get_weather(city="Rome")]',
    ),
    (
        "H",
        (
            "I will not look this up without your consent. The call would be"
            ' `get_weather(city="Rome", unit="C")`.'
        ),
    ),
    (
        "H",
        (
            "I am not going to call anything. For illustration only:\n\n````\n"
            '```tool_call\n{"name": "get_weather", "arguments": {"city": "Rome"}}\n```\n````'
        ),
    ),
)
