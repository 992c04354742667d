"""Lesson 7: the same, asynchronously: many conversations at a time in one thread.

A tool may be a coroutine function or a plain one; a plain one runs in a thread. Watching the events
shows what happens while it happens.
"""

import asyncio

from fallback import AsyncSession, tool
from fallback.loop.progress import ToolEnded
from fallback.testing import ScriptedBackend


@tool
async def population(city: str) -> int:
    """Number of inhabitants of a city.

    Args:
        city: the city's name.
    """
    await asyncio.sleep(0)
    return {"Oslo": 717_710, "Rome": 2_748_109}[city]


def model_for(city: str, answer: str) -> ScriptedBackend:
    call = f'{{"name": "population", "arguments": {{"city": "{city}"}}}}'
    return ScriptedBackend([f"```tool_call\n{call}\n```", answer], chunk_size=7)


async def ask(city: str, answer: str) -> str:
    seen = []
    backend = model_for(city, answer)
    async with AsyncSession("any", tools=[population], backend=backend) as session:
        async for event in session.stream(f"How many people live in {city}?"):
            if isinstance(event, ToolEnded):
                print("found:", event.result.value)
                seen.append(event.result.value)
    assert session.turn is not None
    assert seen == [session.turn.steps[0].results[0].value]
    return session.turn.answer


async def main() -> None:
    answers = await asyncio.gather(
        ask("Oslo", "Some 720,000 people live in Oslo."),
        ask("Rome", "Some 2.7 million people live in Rome."),
    )
    assert [answer.split()[-1] for answer in answers] == ["Oslo.", "Rome."]
    print("\n".join(answers))


asyncio.run(main())
