"""LangChain's three chat models, invoked and streamed, with the loop of its documentation."""

from __future__ import annotations

from typing import Any

from conversation import URL, VARIANT, add, serve

_ROUNDS = 6


def _model(name: str) -> Any:
    wire = VARIANT.split()[0]
    if wire == "ollama":
        from langchain_ollama import ChatOllama

        return ChatOllama(model=name, base_url=URL, validate_model_on_init=True)
    if wire == "messages":
        from langchain_anthropic import ChatAnthropic

        return ChatAnthropic(model=name, base_url=URL, api_key="none", max_tokens=1000)
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(
        model=name,
        base_url=f"{URL}/v1",
        api_key="none",
        use_responses_api=wire == "responses",
    )


def answer(model: str, prompt: str) -> str:
    from langchain_core.messages import HumanMessage
    from langchain_core.tools import tool

    offered = tool(add)
    chat = _model(model).bind_tools([offered])
    messages: list[Any] = [HumanMessage(prompt)]
    said = []
    for _ in range(_ROUNDS):
        if VARIANT.endswith("stream"):
            pieces = list(chat.stream(messages))
            reply = pieces[0]
            for piece in pieces[1:]:
                reply = reply + piece
        else:
            reply = chat.invoke(messages)
        said.append(reply.text if isinstance(reply.text, str) else reply.text())
        messages.append(reply)
        if not reply.tool_calls:
            break
        messages += [offered.invoke(call) for call in reply.tool_calls]
    return "\n".join(said)


if __name__ == "__main__":
    serve(answer)
