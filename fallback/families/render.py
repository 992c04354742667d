"""A conversation as the raw prompt of a family."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from fallback import templating
from fallback.errors import UsageError
from fallback.families.neutral import neutralise
from fallback.families.record import Family
from fallback.families.styles import style_of
from fallback.families.table import FAMILIES, RENDERERS, SIGNS
from fallback.messages import Message, Role

__all__ = ["Turns", "opens_reasoning", "recognise", "render", "turns_of"]

_OPEN, _CLOSE = "<think>", "</think>"


def recognise(template: str, *, renderer: str = "") -> Family | None:
    """Tell the family of a model.

    Args:
        template: the model's own, Go or Jinja, as ``/api/show`` gives it.
        renderer: name of Ollama's builtin renderer, from the line ``RENDERER`` of the Modelfile;
            the template of such a model says nothing.

    Returns:
        The family with this model's style, or ``None`` where only the server can write the prompt.
    """
    if renderer:
        known = RENDERERS.get(renderer)
        return replace(FAMILIES[known[0]], style=known[1]) if known else None
    plain = template.replace("｜", "|")
    name = next((sign.family for sign in SIGNS if sign.fits(plain)), None)
    if name is None:
        return None
    family = FAMILIES[name]
    return replace(family, style=style_of(family, template))


class Turns(NamedTuple):
    """A conversation in the only form that every template takes.

    ``turns`` alternate, beginning and ending with ``user``; ``system`` is ``None`` if there is
    none.
    """

    system: str | None
    turns: tuple[tuple[Role, str], ...]


def turns_of(messages: Iterable[Message]) -> Turns:
    """Join leading ``system`` messages, and neighbours of the same role, with an empty line.

    Raises:
        UsageError: another role, a later ``system``, or a conversation that does not begin or end
            with the user.
    """
    system: list[str] = []
    turns: list[tuple[Role, str]] = []
    for message in messages:
        if message.role == "system" and not turns:
            system.append(message.content)
        elif message.role not in ("user", "assistant"):
            raise UsageError(
                f"a prompt holds one leading system message, then user and assistant; "
                f"found role {message.role!r} at message {len(system) + len(turns) + 1}"
            )
        elif turns and turns[-1][0] == message.role:
            turns[-1] = (message.role, f"{turns[-1][1]}\n\n{message.content}")
        else:
            turns.append((message.role, message.content))
    if not turns or turns[0][0] != "user" or turns[-1][0] != "user":
        raise UsageError("a prompt must begin and end with a message of the user")
    return Turns("\n\n".join(system) if system else None, tuple(turns))


def render(
    family: Family,
    messages: Iterable[Message],
    *,
    prefill: str = "",
    think: bool | None = None,
    bos: bool = False,
) -> str:
    """Write the conversation down, up to and including the opener of the reply.

    Args:
        family: from :func:`recognise`.
        messages: optional ``system``, then ``user`` and ``assistant``, ending with ``user``.
        prefill: beginning of the reply, put into the model's mouth.
        think: ``False`` closes the reasoning that the model's template opens.
        bos: write the BOS token. Only where the tokenizer does not: llama.cpp adds it itself if
            ``tokenizer.ggml.add_bos_token`` says so, and two of them harm the reply.

    Returns:
        The prompt. Every text in it is neutralised, so its control tokens are the family's own.

    Raises:
        UsageError: the messages are not such a conversation.
        TemplateError: the family's template is missing or broken.
    """
    system, turns = turns_of(messages)
    # The template's own words are not foreign text; some hold tokens on purpose.
    head = family.style.default_system if system is None else _text(family, "system", system)
    last_reply = len(turns) - 2 if family.style.keep_last else -1
    texts = [
        {"role": role, "content": _text(family, role, text, whole=index == last_reply)}
        for index, (role, text) in enumerate(turns)
    ]
    body = templating.render(
        f"chat/{family.template}",
        system=head,
        turns=texts,
        style=family.style,
    )
    # The file ends with a line break, the prompt does not.
    opener = (family.bos if bos else "") + body.removesuffix("\n") + _tail(family, think)
    return opener + (family.gap + neutralise(prefill, family.special) if prefill else "")


def opens_reasoning(family: Family, *, prefill: str = "", think: bool | None = None) -> bool:
    """Whether the prompt ends inside reasoning, so that the reply begins with it untagged."""
    end = _tail(family, think) + prefill
    return _OPEN in end and end.rfind(_OPEN) > end.rfind(_CLOSE)


def _tail(family: Family, think: bool | None) -> str:
    return family.style.closed if think is False else family.style.opening


def _text(family: Family, role: Role, text: str, *, whole: bool = False) -> str:
    style = family.style
    if role == "assistant" and style.drop != "keep" and _CLOSE in text and not whole:
        text = text.rsplit(_CLOSE, 1)[1]
        if style.drop != "cut":
            text = text.lstrip("\n") if style.drop == "lines" else text.strip()
    if style.trim and role in family.trims:
        text = text.strip()
    return neutralise(text, family.special)
