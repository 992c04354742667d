"""pydantic-ai's agent on three wires, at once and streamed."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import conversation
from conversation import IMPATIENCE, PICTURE, URL, VARIANT, is_picture, serve, task

_CHOICES: dict[str, Any] = {"required": "required", "named": ["add"], "none": "none"}


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


def _settings(context: Any) -> Any:
    """A choice binds the first step alone."""
    settings: dict[str, Any] = {}
    if task() in _CHOICES and (context.run_step <= 1 or task() == "none"):
        settings["tool_choice"] = _CHOICES[task()]
    if task() == "single":
        settings["parallel_tool_calls"] = False
    if task() == "impatient":
        settings["timeout"] = IMPATIENCE
    return settings


def add(a: int, b: int) -> Any:
    """Add two numbers."""
    from pydantic_ai import BinaryContent, ModelRetry

    try:
        text = conversation.add(a, b)
    except ValueError as failure:
        raise ModelRetry(str(failure)) from failure
    if is_picture(a, b):
        return BinaryContent(base64.b64decode(PICTURE), media_type="image/png")
    return text


async def _answer(model: str, prompt: str) -> str:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart

    agent = Agent(_model(model), tools=[add], model_settings=_settings)
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
    if task() == "later":
        again = Agent(_model(model))
        told = await again.run("What was it again?", message_history=history)
        history = told.all_messages()
    replies = [message for message in history if isinstance(message, ModelResponse)]
    return "\n".join(p.content for m in replies for p in m.parts if isinstance(p, TextPart))


def answer(model: str, prompt: str) -> str:
    return asyncio.run(_answer(model, prompt))


if __name__ == "__main__":
    serve(answer)
