"""Lesson 1: a model without tools calls one.

The "model" is a script, so this runs anywhere: what a small model would write is written down. With
a real one, drop ``backend=`` and name the model: ``Session("gemma3", tools=[get_weather])``.
"""

from typing import Literal

from fallback import Session, tool
from fallback.testing import ScriptedBackend


@tool
def get_weather(city: str, unit: Literal["celsius", "fahrenheit"] = "celsius") -> str:
    """Current weather in a city.

    Args:
        city: the city's name.
        unit: of the temperature.
    """
    return f"4 degrees {unit} and rain in {city}"


model = ScriptedBackend(
    [
        '```tool_call\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n```',
        "It is 4 degrees and raining in Oslo.",
    ]
)

with Session("any", tools=[get_weather], backend=model) as session:
    turn = session.run("What is the weather in Oslo?")

assert turn.answer == "It is 4 degrees and raining in Oslo."
assert turn.tools_used == ("get_weather",)
assert turn.steps[0].results[0].content == "4 degrees celsius and rain in Oslo"

# What the model was shown: the tool in the system prompt, and then its own call with the result.
first, second = model.requests
assert "get_weather" in first.messages[0].content
assert "4 degrees celsius and rain in Oslo" in second.messages[-1].content

print(turn.answer)
