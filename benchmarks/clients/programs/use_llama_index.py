"""LlamaIndex's function agent over its Ollama and its OpenAI-like model."""

from __future__ import annotations

import asyncio
from typing import Any

from conversation import URL, VARIANT, add, serve


def _model(name: str) -> Any:
    if VARIANT == "ollama":
        from llama_index.llms.ollama import Ollama

        return Ollama(model=name, base_url=URL, request_timeout=60)
    from llama_index.llms.openai_like import OpenAILike

    return OpenAILike(
        model=name,
        api_base=f"{URL}/v1",
        api_key="none",
        is_chat_model=True,
        is_function_calling_model=True,
    )


async def _answer(model: str, prompt: str) -> str:
    from llama_index.core.agent.workflow import AgentOutput, FunctionAgent

    agent = FunctionAgent(tools=[add], llm=_model(model))
    handler = agent.run(prompt)
    events = [event async for event in handler.stream_events()]
    await handler
    said = [event.response for event in events if isinstance(event, AgentOutput)]
    return "\n".join(message.content or "" for message in said)


def answer(model: str, prompt: str) -> str:
    return asyncio.run(_answer(model, prompt))


if __name__ == "__main__":
    serve(answer)
