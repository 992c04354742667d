"""What a server of Ollama's wire has to be asked, in which order: written once, as *procedures*.

A procedure is a generator that yields an :class:`Exchange`, is sent its :class:`Answer`, and
returns what was found out. Whoever drives it does the exchanges.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar

from fallback.backend import GenerationRequest, Scores
from fallback.errors import BackendError, CapabilityError, ModelNotFoundError
from fallback.limits import Limits
from fallback.messages import Usage
from fallback.ollama import exchange
from fallback.ollama.exchange import Answer, Exchange
from fallback.ollama.failures import Asked, failure
from fallback.ollama.memory import Memory
from fallback.ollama.plan import (
    GenerationPlan,
    Sending,
    Way,
    plan_chat,
    plan_native,
    plan_raw,
    plan_system,
    probe_chat,
    probe_system,
    survival,
    think_field,
)
from fallback.ollama.profile import Profile, digest_in, names_in, read_profile
from fallback.ollama.reply import Guard, ReplyReader, decode_line, usage_of
from fallback.ollama.scoring import follow, forced, log_probabilities, next_token, walk
from fallback.routing import refuse_without_completion

__all__ = ["Endpoint", "Procedure", "Procedures"]

T = TypeVar("T")
Procedure = Generator[Exchange, Answer, T]
Endpoint = Literal["auto", "generate", "chat"]


class Procedures:
    """The procedures of one server, and what has been found out about its models.

    Args:
        where: the server, for people to read.
        embedded: whether it is the engine in this process.
        endpoint: which one prompt mode uses; ``auto`` is the best that works for the model.
        limits: the window, the timeouts and the sizes that are asked for.
        keep_alive: how long the server keeps the model loaded; ``None`` leaves it to the server.
    """

    def __init__(
        self,
        where: str,
        *,
        embedded: bool,
        endpoint: Endpoint,
        limits: Limits,
        keep_alive: str | float | None,
    ) -> None:
        self._where, self._embedded, self._endpoint = where, embedded, endpoint
        self._limits, self._keep_alive = limits, keep_alive
        self.memory = Memory()

    def _asked(self, model: str, **more: Any) -> Asked:
        embedded = self._embedded
        return Asked(where=self._where, embedded=embedded, model=model, **more)

    def json(self, request: Exchange, model: str = "") -> Procedure[dict[str, Any]]:
        """The object that an exchange is answered with."""
        answer = yield request
        if answer.status != 200:
            raise (yield from self._failure(answer, self._asked(model, path=request.path)))
        return decode_line(answer.body, self._where)

    def _failure(self, answer: Answer, asked: Asked) -> Procedure[BackendError]:
        """The error for an answer; an unknown model is told together with those that are known."""
        error = failure(answer.status, answer.body, asked)
        if isinstance(error, ModelNotFoundError):
            listing = yield from self._listing()
            if listing is not None:
                asked = replace(asked, models=names_in(listing))
                error = failure(answer.status, answer.body, asked)
        return error

    def _listing(self) -> Procedure[dict[str, Any] | None]:
        """The list of models, or ``None`` where a server (a proxy, say) does not give it."""
        answer = yield exchange.tags()
        if answer.status != 200:
            return None
        return decode_line(answer.body, self._where)

    def profile(self, model: str, *, check: bool) -> Procedure[Profile]:
        """What the model is. ``check`` asks whether it is still the same one."""
        known = self.memory.profile(model)
        if known is not None and not check:
            return known
        listing = yield from self._listing()
        digest = digest_in(listing, model) if listing else ""
        if known is not None and digest and known.info.digest == digest:
            return known
        shown = yield from self.json(exchange.show(model), model)
        return self.memory.learn(read_profile(model, shown, digest))

    def _guard(self) -> Procedure[bool]:
        """Whether the server is too old to know ``truncate``; it would cut prompts silently."""
        if self.memory.version is None:
            answer = yield exchange.version()
            self.memory.hear_version(answer)
        return self.memory.cuts_silently

    def plan(self, request: GenerationRequest) -> Procedure[tuple[GenerationPlan, Asked]]:
        """How a generation is sent."""
        profile = yield from self.profile(request.model, check=False)
        refuse_without_completion(profile.info)
        num_ctx = self.memory.window(request, profile, self._limits)
        sending = Sending(num_ctx, self._limits, self._keep_alive)
        trained = profile.info.context_length
        asked = self._asked(request.model, num_ctx=num_ctx, trained=trained)
        if request.mode == "native":
            return plan_native(request, profile, sending), asked
        if self._endpoint_of(request) != "chat" and profile.family and not _has_images(request):
            return plan_raw(request, profile, sending), asked
        way = yield from self._way(request, profile, sending)
        make = plan_system if way.form == "system" else plan_chat
        return make(request, profile, sending, way), asked

    def _endpoint_of(self, request: GenerationRequest) -> Endpoint:
        """Which one prompt mode uses: as we were told, or else as the request would like."""
        return request.endpoint if self._endpoint == "auto" else self._endpoint

    def _way(
        self, request: GenerationRequest, profile: Profile, sending: Sending
    ) -> Procedure[Way]:
        """How to ask a model whose family is not known; found out once."""
        endpoint = self._endpoint_of(request)
        only_chat = endpoint == "chat" or _has_images(request)
        key = (only_chat, endpoint, think_field(request, profile))
        way = self.memory.way(profile, key)
        if way is not None:
            return way
        seen = None
        if not only_chat:
            seen = survival((yield probe_system(request, profile, sending)))
            if seen is not None and (seen.system or endpoint == "generate"):
                way = Way("system", folded=not seen.system, opened=seen.opened)
            elif endpoint == "generate":
                way = Way("system", folded=True)
        if way is None:
            # A server that showed no prompt just now would generate in place of showing this one.
            if only_chat or seen is not None:
                seen = survival((yield probe_chat(request, profile, sending)))
            way = Way("chat", folded=seen is not None and not seen.system)
        return self.memory.keep_way(profile, key, way)

    def _reader(self, plan: GenerationPlan, asked: Asked, *, guarded: bool) -> ReplyReader:
        guard = Guard(asked.num_ctx or 0, plan.prompt_chars) if guarded else None
        return ReplyReader(
            plan.kind,
            path=plan.path,
            asked=asked,
            opened=plan.opened,
            prefill=plan.prefill,
            guard=guard,
            limit=self._limits.max_line_bytes,
            clock=time.perf_counter,
        )

    def stream(
        self, request: GenerationRequest
    ) -> Procedure[tuple[GenerationPlan, Asked, ReplyReader]]:
        """How a generation is sent, and who reads the reply."""
        plan, asked = yield from self.plan(request)
        asked = replace(asked, path=plan.exchange.path)
        guarded = yield from self._guard()
        return plan, asked, self._reader(plan, asked, guarded=guarded)

    def refused(self, answer: Answer, asked: Asked) -> Procedure[BackendError]:
        """The error for an answer to a generation."""
        error = yield from self._failure(answer, asked)
        if isinstance(error, CapabilityError) and error.missing == "tools":
            self.memory.refuse_tools(asked.model)
        return error

    def score(
        self, request: GenerationRequest, values: Sequence[str], *, whole: bool = False
    ) -> Procedure[Scores]:
        """One request where the values begin differently; later ones find the prompt cached.

        Of whole values it is one for each token.
        """
        plan, asked, _ = yield from self.stream(request)
        usage = Usage()
        asking = (follow if whole else walk)(values, where=self._where)
        try:
            written = next(asking)
            while True:
                told = yield from self._told(next_token(plan, written), asked)
                usage += usage_of(told)
                written = asking.send(told)
        except StopIteration as stop:
            return Scores(logprobs=stop.value.logprobs, unseen=stop.value.unseen, usage=usage)

    def forced(self, request: GenerationRequest, text: str) -> Procedure[tuple[float, ...]]:
        """The log-probability of each token of a given reply."""
        plan, asked, _ = yield from self.stream(request)
        told = yield from self._told(forced(plan, text), asked)
        return log_probabilities(told, text, where=self._where)

    def _told(self, request: Exchange, asked: Asked) -> Procedure[dict[str, Any]]:
        answer = yield request
        if answer.status != 200:
            raise (yield from self.refused(answer, asked))
        return decode_line(answer.body, self._where)


def _has_images(request: GenerationRequest) -> bool:
    return any(message.images for message in request.messages)
