"""smolagents' agent that calls tools; it demands a call for every reply, the answer's too."""

from __future__ import annotations

import conversation
from conversation import URL, serve


def answer(model: str, prompt: str) -> str:
    from smolagents import ActionStep, OpenAIServerModel, ToolCallingAgent, tool

    @tool
    def add(a: int, b: int) -> str:
        """Add two numbers.

        Args:
            a: one
            b: the other
        """
        return conversation.add(a, b)

    chat = OpenAIServerModel(model_id=model, api_base=f"{URL}/v1", api_key="none")
    agent = ToolCallingAgent(tools=[add], model=chat, max_steps=6, verbosity_level=0)
    last = str(agent.run(prompt))
    steps = [step for step in agent.memory.steps if isinstance(step, ActionStep)]
    return "\n".join([*(str(step.model_output or "") for step in steps), last])


if __name__ == "__main__":
    serve(answer)
