"""CrewAI's agent with its provider for Ollama, at once and streamed."""

from __future__ import annotations

import os

import conversation
from conversation import IMPATIENCE, ROUNDS, URL, VARIANT, serve, task

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true"}


def answer(model: str, prompt: str) -> str:
    from crewai import LLM, Agent
    from crewai.tools import tool

    @tool("add")
    def add(a: int, b: int) -> str:
        """Add two numbers."""
        return conversation.add(a, b)

    patience = {"timeout": IMPATIENCE, "max_retries": 0} if task() == "impatient" else {}
    agent = Agent(
        role="adder",
        goal="Add numbers.",
        backstory="You like sums.",
        tools=[add],
        llm=LLM(model=f"ollama/{model}", base_url=URL, stream=VARIANT == "stream", **patience),
        max_iter=ROUNDS,
    )
    result = agent.kickoff(prompt)
    said = [m["content"] for m in result.messages if m["role"] == "assistant"]
    return "\n".join([*(str(text or "") for text in said), result.raw])


if __name__ == "__main__":
    serve(answer)
