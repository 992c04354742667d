"""AutoGen's assistant agent over its Ollama and its OpenAI client."""

from __future__ import annotations

import asyncio
from typing import Any

from conversation import ROUNDS, URL, VARIANT, add, serve, task

_INFO: dict[str, Any] = {
    "vision": False,
    "function_calling": True,
    "json_output": False,
    "family": "unknown",
    "structured_output": False,
}


def _client(name: str) -> Any:
    if VARIANT == "ollama":
        from autogen_ext.models.ollama import OllamaChatCompletionClient

        return OllamaChatCompletionClient(model=name, host=URL, model_info=_INFO)
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    return OpenAIChatCompletionClient(
        model=name, base_url=f"{URL}/v1", api_key="none", model_info=_INFO
    )


async def _answer(model: str, prompt: str) -> str:
    from autogen_agentchat.agents import AssistantAgent
    from autogen_agentchat.messages import TextMessage, ThoughtEvent

    client = _client(model)
    agent = AssistantAgent(
        "adder",
        model_client=client,
        tools=[add],
        reflect_on_tool_use=True,
        max_tool_iterations=ROUNDS,
    )
    told = list((await agent.run(task=prompt)).messages)
    if task() == "later":
        # An agent without tools goes on with what the other has seen.
        talker = AssistantAgent("talker", model_client=client, model_context=agent.model_context)
        told += (await talker.run(task="What was it again?")).messages
    await client.close()
    said = [m for m in told if isinstance(m, TextMessage | ThoughtEvent)]
    return "\n".join(m.content for m in said if m.source != "user")


def answer(model: str, prompt: str) -> str:
    return asyncio.run(_answer(model, prompt))


if __name__ == "__main__":
    serve(answer)
