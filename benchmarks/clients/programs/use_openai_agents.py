"""The OpenAI Agents SDK on both of its wires, at once and streamed."""

from __future__ import annotations

import asyncio
from typing import Any

import conversation
from conversation import IMPATIENCE, PICTURE, ROUNDS, URL, VARIANT, is_picture, serve, task

_CHOICES: dict[str, dict[str, Any]] = {  # the SDK itself lets a choice bind the first reply alone
    "required": {"tool_choice": "required"},
    "named": {"tool_choice": "add"},
    "none": {"tool_choice": "none"},
    "single": {"parallel_tool_calls": False},
}


def add(a: int, b: int) -> Any:
    """Add two numbers."""
    import agents

    text = conversation.add(a, b)
    if is_picture(a, b):
        return agents.ToolOutputImage(image_url=f"data:image/png;base64,{PICTURE}")
    return text


async def _run(agent: Any, told: Any) -> Any:
    import agents

    if not VARIANT.endswith("stream"):
        return await agents.Runner.run(agent, told, max_turns=ROUNDS)
    result: Any = agents.Runner.run_streamed(agent, told, max_turns=ROUNDS)
    async for _ in result.stream_events():
        pass
    return result


async def _answer(model: str, prompt: str) -> str:
    import agents
    import openai

    agents.set_tracing_disabled(disabled=True)
    patience = {"timeout": IMPATIENCE} if task() == "impatient" else {}
    client = openai.AsyncOpenAI(base_url=f"{URL}/v1", api_key="none", **patience)
    kind: Any = (
        agents.OpenAIResponsesModel
        if VARIANT.startswith("responses")
        else agents.OpenAIChatCompletionsModel
    )
    chat = kind(model=model, openai_client=client)
    settings = agents.ModelSettings(**_CHOICES.get(task(), {}))
    offered = [agents.function_tool(add, failure_error_function=lambda _, failure: str(failure))]
    agent = agents.Agent(name="adder", model=chat, tools=offered, model_settings=settings)
    result = await _run(agent, prompt)
    items = list(result.new_items)
    if task() == "later":
        history = [*result.to_input_list(), {"role": "user", "content": "What was it again?"}]
        items += (await _run(agents.Agent(name="talker", model=chat), history)).new_items
    messages = [item for item in items if item.type == "message_output_item"]
    return "\n".join(agents.ItemHelpers.text_message_output(message) for message in messages)


def answer(model: str, prompt: str) -> str:
    return asyncio.run(_answer(model, prompt))


if __name__ == "__main__":
    serve(answer)
