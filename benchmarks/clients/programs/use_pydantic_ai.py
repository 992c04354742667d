"""pydantic-ai's agent on three wires, at once and streamed."""

from __future__ import annotations

import asyncio
from typing import Any

from conversation import URL, VARIANT, add, serve


def _model(name: str) -> Any:
    wire = VARIANT.split()[0]
    if wire == "messages":
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        return AnthropicModel(name, provider=AnthropicProvider(api_key="none", base_url=URL))
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    kind = OpenAIResponsesModel if wire == "responses" else OpenAIChatModel
    return kind(name, provider=OpenAIProvider(api_key="none", base_url=f"{URL}/v1"))


async def _answer(model: str, prompt: str) -> str:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart

    agent = Agent(_model(model), tools=[add])
    if VARIANT.endswith("stream"):
        async with agent.iter(prompt) as run:
            async for node in run:
                if Agent.is_model_request_node(node):
                    async with node.stream(run.ctx) as stream:
                        async for _ in stream:
                            pass
        history = run.result.all_messages() if run.result else []
    else:
        history = (await agent.run(prompt)).all_messages()
    replies = [message for message in history if isinstance(message, ModelResponse)]
    return "\n".join(p.content for m in replies for p in m.parts if isinstance(p, TextPart))


def answer(model: str, prompt: str) -> str:
    return asyncio.run(_answer(model, prompt))


if __name__ == "__main__":
    serve(answer)
