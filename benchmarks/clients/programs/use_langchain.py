"""LangChain's three chat models, invoked and streamed, with the loop of its documentation."""

from __future__ import annotations

from typing import Any

from conversation import (
    IMPATIENCE,
    PICTURE,
    ROUNDS,
    URL,
    VARIANT,
    add,
    is_picture,
    ran,
    serve,
    task,
)

_WIRE = VARIANT.split()[0]
_CHOICES: dict[str, dict[str, Any]] = {
    "required": {"tool_choice": "any"},
    "named": {"tool_choice": "add"},
    "none": {"tool_choice": {"type": "none"} if _WIRE == "messages" else "none"},
    "single": {"parallel_tool_calls": False},
}


def _model(name: str) -> Any:
    patience = {"timeout": IMPATIENCE} if task() == "impatient" else {}
    if _WIRE == "ollama":
        from langchain_ollama import ChatOllama

        return ChatOllama(
            model=name, base_url=URL, validate_model_on_init=True, client_kwargs=patience
        )
    if _WIRE == "messages":
        from langchain_anthropic import ChatAnthropic

        return ChatAnthropic(model=name, base_url=URL, api_key="none", max_tokens=1000, **patience)
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(
        model=name,
        base_url=f"{URL}/v1",
        api_key="none",
        use_responses_api=_WIRE == "responses",
        **patience,
    )


def _reply(chat: Any, messages: list[Any]) -> Any:
    if not VARIANT.endswith("stream"):
        return chat.invoke(messages)
    pieces = list(chat.stream(messages))
    reply = pieces[0]
    for piece in pieces[1:]:
        reply = reply + piece
    return reply


def _said(reply: Any) -> str:
    return reply.text if isinstance(reply.text, str) else reply.text()


def _result(offered: Any, call: Any) -> Any:
    from langchain_core.messages import ToolMessage

    if is_picture(**call["args"]):
        ran.append([call["args"]["a"], call["args"]["b"]])
        shown = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}}
        content: Any = [{"type": "text", "text": "a picture"}, shown]
        return ToolMessage(content, tool_call_id=call["id"], name=call["name"])
    try:
        return offered.invoke(call)
    except ValueError as failure:
        return ToolMessage(str(failure), tool_call_id=call["id"], name=call["name"], status="error")


def answer(model: str, prompt: str) -> str:
    from langchain_core.messages import HumanMessage
    from langchain_core.tools import tool

    offered = tool(add)
    bare = _model(model)
    chat = bare.bind_tools([offered], **_CHOICES.get(task(), {}))
    messages: list[Any] = [HumanMessage(prompt)]
    said = []
    for _ in range(ROUNDS):
        reply = _reply(chat, messages)
        said.append(_said(reply))
        messages.append(reply)
        if not reply.tool_calls:
            break
        messages += [_result(offered, call) for call in reply.tool_calls]
        chat = bare.bind_tools([offered])  # a choice binds only the first reply
    if task() == "later":
        said.append(_said(_reply(bare, [*messages, HumanMessage("What was it again?")])))
    return "\n".join(said)


if __name__ == "__main__":
    serve(answer)
