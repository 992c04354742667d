"""Lesson 5: only the parser: text in, calls out, every character accounted for.

Nothing is run and no server is needed. The same parser reads a reply whole or as it streams in.
"""

from fallback import Catalogue, Parser, parse
from fallback.parsing.events import CallReady, TextDelta

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Current weather in a city",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
                "required": ["city"],
            },
        },
    }
]

# A call as a small model writes it: a trailing comma, and a number in quotes.
reading = parse(
    "Let me see.\n```tool_call\n"
    '{"name": "get_weather", "arguments": {"city": "Oslo", "days": "3",}}\n```',
    TOOLS,
)
assert reading.calls[0].name == "get_weather"
assert reading.calls[0].arguments == {"city": "Oslo", "days": 3}
assert reading.calls[0].repairs  # each fix of form is named, none is a guess
assert reading.text.strip() == "Let me see."

# Talking about a call is not making one.
reading = parse('You could write `get_weather(city="Oslo")` to ask for it. Shall I?', TOOLS)
assert reading.calls == ()

# What is wrong is said, with the place.
reading = parse('```tool_call\n{"name": "get_weather", "arguments": {"days": "soon"}}\n```', TOOLS)
assert reading.calls == ()
assert reading.problems[0].kind == "invalid_arguments"
assert "city" in reading.problems[0].message

# Streaming: any split gives the same reading. What is prose comes as it arrives; a call is
# announced once it is whole, and only ``CallReady`` means that it may run.
parser = Parser(Catalogue(TOOLS))
events = parser.feed("One moment, ")
assert events == [TextDelta("One moment, ")]
for piece in ("please.\n```tool_", 'call\n{"name": "get_weather", "argu', 'ments": {"city"'):
    events += parser.feed(piece)
assert not any(isinstance(event, CallReady) for event in events)
for piece in (': "Os', 'lo"}}\n``', "`\n"):
    events += parser.feed(piece)
events += parser.close("stop")
assert any(isinstance(event, CallReady) for event in events)
assert parser.reading.text.strip() == "One moment, please."

print(parser.reading.calls[0].arguments)
