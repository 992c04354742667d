"""Qwen-Agent: the reader that belongs to its ``nous`` prompt (Hermes tags)."""

from __future__ import annotations

from protocol import Calls, Reply, serve
from qwen_agent.llm.fncall_prompts.nous_fncall_prompt import (  # type: ignore[import-not-found]  # own environment
    NousFnCallPrompt,
)
from qwen_agent.llm.schema import (  # type: ignore[import-not-found]  # own environment
    ContentItem,
    Message,
)


def read(reply: Reply) -> Calls:
    message = Message(role="assistant", content=[ContentItem(text=reply["text"])])
    read_back = NousFnCallPrompt().postprocess_fncall_messages(
        [message], thought_in_content=bool(reply.get("reasoning_open"))
    )
    calls = [message.function_call for message in read_back if message.function_call]
    return [(call.name, call.arguments) for call in calls]


if __name__ == "__main__":
    serve(read)
