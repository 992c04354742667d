"""The OpenAI Agents SDK on both of its wires, at once and streamed."""

from __future__ import annotations

import asyncio
from typing import Any

from conversation import URL, VARIANT, add, serve


async def _answer(model: str, prompt: str) -> str:
    import agents
    import openai

    agents.set_tracing_disabled(disabled=True)
    client = openai.AsyncOpenAI(base_url=f"{URL}/v1", api_key="none")
    kind: Any = (
        agents.OpenAIResponsesModel
        if VARIANT.startswith("responses")
        else agents.OpenAIChatCompletionsModel
    )
    agent = agents.Agent(
        name="adder",
        model=kind(model=model, openai_client=client),
        tools=[agents.function_tool(add)],
    )
    if VARIANT.endswith("stream"):
        result: Any = agents.Runner.run_streamed(agent, prompt)
        async for _ in result.stream_events():
            pass
    else:
        result = await agents.Runner.run(agent, prompt)
    messages = [item for item in result.new_items if item.type == "message_output_item"]
    return "\n".join(agents.ItemHelpers.text_message_output(message) for message in messages)


def answer(model: str, prompt: str) -> str:
    return asyncio.run(_answer(model, prompt))


if __name__ == "__main__":
    serve(answer)
