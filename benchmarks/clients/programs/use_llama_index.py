"""LlamaIndex's function agent over its Ollama and its OpenAI-like model."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import conversation
from conversation import IMPATIENCE, PICTURE, ROUNDS, URL, VARIANT, is_picture, serve, task


def _model(name: str) -> Any:
    patience = IMPATIENCE if task() == "impatient" else 60.0
    if VARIANT == "ollama":
        from llama_index.llms.ollama import Ollama

        return Ollama(model=name, base_url=URL, request_timeout=patience)
    from llama_index.llms.openai_like import OpenAILike

    return OpenAILike(
        model=name,
        api_base=f"{URL}/v1",
        api_key="none",
        timeout=patience,
        is_chat_model=True,
        is_function_calling_model=True,
    )


def add(a: int, b: int) -> Any:
    """Add two numbers."""
    from llama_index.core.llms import ImageBlock, TextBlock

    text = conversation.add(a, b)
    if is_picture(a, b):
        image = ImageBlock(image=base64.b64decode(PICTURE), image_mimetype="image/png")
        return [TextBlock(text=text), image]
    return text


async def _answer(model: str, prompt: str) -> str:
    from llama_index.core.agent.workflow import AgentOutput, FunctionAgent
    from llama_index.core.memory import ChatMemoryBuffer
    from llama_index.core.tools import FunctionTool

    llm = _model(model)
    memory = ChatMemoryBuffer.from_defaults(token_limit=100_000)
    offered: Any = [FunctionTool.from_defaults(add)]
    first = "add" if task() in ("required", "named") else None
    agent = FunctionAgent(tools=offered, llm=llm, initial_tool_choice=first)
    handler = agent.run(prompt, memory=memory, max_iterations=ROUNDS)
    events = [event async for event in handler.stream_events()]
    await handler
    said = [event.response.content or "" for event in events if isinstance(event, AgentOutput)]
    if task() == "later":
        talker = FunctionAgent(tools=[], llm=llm)
        said.append(str(await talker.run("What was it again?", memory=memory)))
    return "\n".join(said)


def answer(model: str, prompt: str) -> str:
    return asyncio.run(_answer(model, prompt))


if __name__ == "__main__":
    serve(answer)
