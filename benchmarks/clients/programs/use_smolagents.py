"""smolagents' agents: one calls tools and demands a call for every reply, the answer's too; one
writes Python, without tools."""

from __future__ import annotations

from typing import Any

import conversation
from conversation import IMPATIENCE, URL, VARIANT, serve, task

_CHOICES: dict[str, dict[str, Any]] = {
    "required": {"tool_choice": "required"},  # as it is without a word
    "single": {"parallel_tool_calls": False},
}


def answer(model: str, prompt: str) -> str:
    from smolagents import ActionStep, CodeAgent, OpenAIServerModel, ToolCallingAgent, tool

    @tool
    def add(a: int, b: int) -> str:
        """Add two numbers.

        Args:
            a: one
            b: the other
        """
        return conversation.add(a, b)

    chosen = _CHOICES.get(task(), {})
    if task() == "impatient":
        chosen = {"client_kwargs": {"timeout": IMPATIENCE, "max_retries": 0}}
    chat = OpenAIServerModel(model_id=model, api_base=f"{URL}/v1", api_key="none", **chosen)
    kind: Any = CodeAgent if VARIANT.startswith("code") else ToolCallingAgent
    streamed = {"stream_outputs": True} if VARIANT.endswith("stream") else {}
    agent = kind(tools=[add], model=chat, max_steps=12, verbosity_level=0, **streamed)
    last = str(agent.run(prompt))
    steps = [step for step in agent.memory.steps if isinstance(step, ActionStep)]
    return "\n".join([*(str(step.model_output or "") for step in steps), last])


if __name__ == "__main__":
    serve(answer)
