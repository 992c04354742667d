"""A conversation with calls and results as plain turns: at most one ``system``, then users and
assistants strictly by turns.

Chat templates drop or mangle the role ``tool`` and an assistant's ``tool_calls``; here they
become ordinary text, written in the very form that the system prompt asks for, because a model
copies the form it sees. Nothing depends on the number of messages, so what was sent once is sent
again unchanged in front of whatever is new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest

from fallback.catalogue import Catalogue
from fallback.dialects.record import Dialect
from fallback.messages import Message, Role, ToolResult
from fallback.rendering.examples import Example
from fallback.rendering.running import running_messages
from fallback.rendering.text import answer_text, call_text, result_text, system_text

__all__ = ["prompt_messages"]


def prompt_messages(
    messages: Iterable[Message],
    catalogue: Catalogue,
    dialect: Dialect,
    *,
    tool_choice: str = "auto",
    instructions: str = "",
    parallel: bool = True,
    asked: Callable[[str], str] = str.strip,
    examples: tuple[Example, ...] = (),
) -> tuple[Message, ...]:
    """Render a conversation for a model that knows no tools.

    Neighbours of one role are merged, empty messages vanish, images stay on the user's message.
    System messages at the start join the system prompt; later ones are told as the user's words,
    where they stand, since moving them would change the beginning of the prompt.

    Args:
        messages: the conversation.
        catalogue: the tools to offer.
        dialect: how calls are written.
        tool_choice: ``auto``, ``none``, ``required`` or the name of the only tool to offer.
        instructions: what the application has to say.
        parallel: whether one reply may hold several calls.
        asked: gives the question in what a user has said; empty where it holds none.

    Returns:
        Messages of the roles ``system`` (at most one, first), ``user`` and ``assistant``, without
        ``tool_calls`` and results. The first after ``system`` is the user's unless the conversation
        itself begins with the assistant. Where calls stand in running text the last one is the
        assistant's if it ends with a result: the beginning of the reply.
    """
    opening, rest = _split(messages)
    system = system_text(
        catalogue,
        dialect,
        tool_choice=tool_choice,
        parallel=parallel,
        instructions="\n\n".join(filter(None, (instructions.strip(), *opening))),
        examples=examples,
    )
    head = (Message(role="system", content=system),) if system else ()
    if dialect.inline:
        told = running_messages(rest, catalogue, dialect)
    else:
        told = _with_reminders(rest, dialect, asked)
    return (*head, *_merged(told))


def _split(messages: Iterable[Message]) -> tuple[list[str], list[Message]]:
    opening: list[str] = []
    rest: list[Message] = []
    for message in messages:
        if message.role == "system" and not rest:
            opening.append(message.content.strip())
        else:
            rest.append(message)
    return opening, rest


def _with_reminders(
    messages: list[Message], dialect: Dialect, asked: Callable[[str], str]
) -> Iterator[Message]:
    """The messages as text; behind the results of a reply, the question is asked again.

    It stands there in every later request too, so that the beginning of a prompt never changes.
    """
    question = ""
    for message, following in zip_longest(messages, messages[1:]):
        yield _plain(message, dialect)
        if message.role == "user":
            question = asked(message.content) or question
        more = following is not None and _is_good(following)
        if _is_good(message) and question and not more:
            yield Message(role="user", content=answer_text(question, dialect))


def _is_good(message: Message) -> bool:
    return message.role == "tool" and (message.result is None or message.result.ok)


def _plain(message: Message, dialect: Dialect) -> Message:
    if message.role == "assistant":
        text = (_kept(message.content), call_text(message.tool_calls, dialect))
        return Message(role="assistant", content="\n\n".join(filter(None, text)))
    if message.role == "tool":
        result = message.result or ToolResult(call_id="", name="", content=message.content)
        return Message(role="user", content=result_text(result, dialect), images=message.images)
    return Message(role="user", content=_kept(message.content), images=message.images)


def _kept(text: str) -> str:
    """The text as it is, its indentation too; nothing if it is blank."""
    return text if text.strip() else ""


def _merged(messages: Iterable[Message]) -> Iterator[Message]:
    role: Role = "user"
    texts: list[str] = []
    images: list[str] = []
    for message in messages:
        if not message.content and not message.images:
            continue
        if message.role != role:
            yield from _turn(role, texts, images)
            role, texts, images = message.role, [], []
        texts.append(message.content)
        images.extend(message.images)
    yield from _turn(role, texts, images)


def _turn(role: Role, texts: list[str], images: list[str]) -> Iterator[Message]:
    content = "\n\n".join(filter(None, texts))
    if content or images:
        yield Message(role=role, content=content, images=tuple(images))
