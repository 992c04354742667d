"""One generation as one request: which endpoint, in which form, with what. No I/O.

Prompt mode has three forms, best first:

``raw``
    The family is known: our own chat template writes the whole prompt, and the server neither
    renders nor parses. A model with a builtin ``PARSER`` loses call-like text on any other way.
``system``
    The family is not known: ``/api/generate`` renders one system text and one prompt with the
    model's template. An earlier conversation is told inside the prompt (:func:`folded`).
``chat``
    ``/api/chat`` without tools: at most one system message, then strictly alternating user and
    assistant, which every template takes.

A template may drop the system text without a word, so the last two are tried once with a marker
(:func:`probe_system`, :func:`probe_chat`); what is dropped goes into the user's text instead.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import dropwhile, groupby
from typing import Any, Literal, NamedTuple

from fallback.backend import GenerationRequest
from fallback.errors import CapabilityError
from fallback.families import Turns, neutralise, opens_reasoning, render, turns_of
from fallback.limits import Limits
from fallback.messages import Message
from fallback.ollama import exchange
from fallback.ollama.exchange import Answer, Exchange
from fallback.ollama.history import wire_messages, wire_tools
from fallback.ollama.profile import Profile

__all__ = [
    "GenerationPlan",
    "Sending",
    "Survival",
    "Way",
    "folded",
    "plan_chat",
    "plan_native",
    "plan_raw",
    "plan_system",
    "probe_chat",
    "probe_system",
    "survival",
    "think_field",
]

_SYSTEM_MARK, _USER_MARK = "The blue system marker is 7316.", "The red user marker is 9254."


class Sending(NamedTuple):
    """What is the same for every form of a request."""

    num_ctx: int
    limits: Limits
    keep_alive: str | float | None = None


class Way(NamedTuple):
    """How prompt mode asks a model whose family is not known.

    ``folded``: the system text goes into the user's, because the template drops it. ``opened``: the
    prompt ends inside reasoning.
    """

    form: Literal["system", "chat"]
    folded: bool = False
    opened: bool = False


class Survival(NamedTuple):
    """What a rendered prompt shows."""

    system: bool
    opened: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationPlan:
    """A request that is ready to be sent, and how its reply is to be read.

    Attributes:
        kind: which endpoint's reply it is.
        path: for :attr:`fallback.backend.Chunk.path`.
        opened: whether the prompt ends inside reasoning.
        prefill: beginning of the reply that stands at the end of the prompt.
        prompt_chars: size of everything the model is told.
    """

    exchange: Exchange
    kind: Literal["generate", "chat"]
    path: str
    opened: bool = False
    prefill: str = ""
    prompt_chars: int = 0


def think_field(request: GenerationRequest, profile: Profile) -> bool | str | None:
    """``think`` as it may be sent: Ollama refuses ``true`` for a model that does not think."""
    return request.think if profile.thinks else None


def plan_raw(request: GenerationRequest, profile: Profile, sending: Sending) -> GenerationPlan:
    """Write the prompt ourselves. The profile's family must be known."""
    family = profile.family
    if family is None:
        raise CapabilityError("the chat format is not known", status=400, missing="raw")
    think = None if request.think is None else bool(request.think)
    if request.prefill:
        think = False  # what has begun to answer has done its thinking
    prompt = render(
        family,
        _with_modelfile(request.messages, profile),
        prefill=request.prefill,
        think=think,
        bos=profile.bos,
    )
    # The server would split reasoning off, and then not always; unsplit, it is read in one place.
    fields = _fields(request, profile, sending, think=False if profile.thinks else None)
    return GenerationPlan(
        exchange=exchange.generate_raw(fields, prompt),
        kind="generate",
        path=f"generate/raw/{family.name}",
        opened=opens_reasoning(family, prefill=request.prefill, think=think),
        prefill=request.prefill,
        prompt_chars=len(prompt),
    )


def plan_system(
    request: GenerationRequest, profile: Profile, sending: Sending, way: Way
) -> GenerationPlan:
    """Let the server's template render a system text and one prompt."""
    _refuse_prefill(request)
    safe = _neutral(profile)
    turns = turns_of(request.messages)
    system = None if turns.system is None else safe(turns.system)
    prompt = safe(folded(turns))
    if way.folded and system:
        system, prompt = None, f"{system}\n\n{prompt}"
    fields = _fields(request, profile, sending, think=think_field(request, profile))
    return GenerationPlan(
        exchange=exchange.generate_system(fields, system, prompt),
        kind="generate",
        path="generate/system",
        opened=way.opened,
        prompt_chars=len(system or "") + len(prompt),
    )


def plan_chat(
    request: GenerationRequest, profile: Profile, sending: Sending, way: Way
) -> GenerationPlan:
    """Let the server's template render a conversation without tools."""
    _refuse_prefill(request)
    system, turns = turns_of(request.messages)
    messages = [
        Message(role=role, content=text, images=images)
        for (role, text), images in zip(turns, _images(request.messages), strict=True)
    ]
    if system and way.folded:
        messages[0] = replace(messages[0], content=f"{system}\n\n{messages[0].content}")
    elif system:
        messages.insert(0, Message(role="system", content=system))
    fields = _fields(request, profile, sending, think=think_field(request, profile))
    return GenerationPlan(
        exchange=exchange.chat(fields, wire_messages(messages, _neutral(profile))),
        kind="chat",
        path="chat",
        prompt_chars=sum(len(message.content) for message in messages),
    )


def _images(messages: Iterable[Message]) -> Iterator[tuple[str, ...]]:
    """Those of each turn: an image that moved would change the beginning of the next prompt."""
    spoken = dropwhile(lambda message: message.role == "system", messages)
    for _, turn in groupby(spoken, key=lambda message: message.role):
        yield tuple(image for message in turn for image in message.images)


def plan_native(request: GenerationRequest, profile: Profile, sending: Sending) -> GenerationPlan:
    """Let the server render the tools and read the calls."""
    _refuse_prefill(request)
    tools = wire_tools(request.catalogue or ())
    messages = wire_messages(request.messages, _neutral(profile))
    fields = _fields(request, profile, sending, think=think_field(request, profile))
    return GenerationPlan(
        exchange=exchange.chat(fields, messages, tools),
        kind="chat",
        path="chat+tools" if tools else "chat",
        prompt_chars=len(repr([messages, tools])),
    )


def folded(turns: Turns) -> str:
    """A conversation as one text. A single question stays as it is; otherwise every turn is headed
    by ``User:`` or ``Assistant:`` on a line of its own, and an empty line stands between turns.
    """
    if len(turns.turns) == 1:
        return turns.turns[0][1]
    return "\n\n".join(f"{role.capitalize()}:\n{text}" for role, text in turns.turns)


def probe_system(request: GenerationRequest, profile: Profile, sending: Sending) -> Exchange:
    """Ask how ``/api/generate`` would render a system text and a prompt."""
    fields = _fields(request, profile, sending, think=think_field(request, profile))
    return exchange.render_only(exchange.generate_system(fields, _SYSTEM_MARK, _USER_MARK))


def probe_chat(request: GenerationRequest, profile: Profile, sending: Sending) -> Exchange:
    """Ask how ``/api/chat`` would."""
    fields = _fields(request, profile, sending, think=think_field(request, profile))
    marked = [{"role": "system", "content": _SYSTEM_MARK}, {"role": "user", "content": _USER_MARK}]
    return exchange.render_only(exchange.chat(fields, marked))


def survival(answer: Answer) -> Survival | None:
    """What the answer to a probe shows; ``None`` if the server does not show prompts."""
    try:
        rendered = json.loads(answer.body)["_debug_info"]["rendered_template"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    if answer.status != 200 or not isinstance(rendered, str) or _USER_MARK not in rendered:
        return None
    tail = rendered[rendered.rindex(_USER_MARK) :]
    return Survival(
        system=_SYSTEM_MARK in rendered,
        opened=tail.rfind("<think>") > tail.rfind("</think>"),
    )


def _fields(
    request: GenerationRequest,
    profile: Profile,
    sending: Sending,
    *,
    think: bool | str | None,
) -> dict[str, Any]:
    family_stop = profile.family.stop if profile.family else ()
    options = exchange.options_for(
        request,
        num_ctx=sending.num_ctx,
        stop=exchange.stops(family_stop, profile.stop),
        limits=sending.limits,
    )
    return exchange.common_fields(
        request.model,
        options,
        think=think,
        response_format=request.format,
        keep_alive=sending.keep_alive if request.keep_alive is None else request.keep_alive,
    )


def _with_modelfile(messages: tuple[Message, ...], profile: Profile) -> tuple[Message, ...]:
    """Add what a raw prompt does not get from the server: the Modelfile's system and messages."""
    heads = tuple(message for message in messages if message.role == "system")
    rest = messages[len(heads) :]
    if not heads and profile.system:
        heads = (Message(role="system", content=profile.system),)
    starts = profile.history[:1] and profile.history[0].role == "user"
    return (*heads, *(profile.history if starts else ()), *rest)


def _neutral(profile: Profile) -> Callable[[str], str]:
    return partial(neutralise, special=profile.family.special if profile.family else ())


def _refuse_prefill(request: GenerationRequest) -> None:
    if request.prefill:
        raise CapabilityError(
            f"the reply of {request.model!r} cannot be begun for it: its chat format is not known",
            status=400,
            missing="prefill",
        )
