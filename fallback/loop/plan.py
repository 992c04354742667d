"""What a turn is to do, fixed before it begins, and what is left when it has ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from fallback.backend import GenerationRequest
from fallback.catalogue import Catalogue
from fallback.dialects.record import FENCED, Dialect
from fallback.errors import FallbackError
from fallback.limits import DEFAULT_LIMITS, Limits
from fallback.loop.deciding import Baseline, Decide
from fallback.loop.gauge import Window
from fallback.loop.paused import Paused
from fallback.messages import Message, Mode, Turn
from fallback.policy import DEFAULT_POLICY, NOBODY, ExecutionContext, Policy
from fallback.rendering import prompt_messages
from fallback.rendering.examples import Example
from fallback.rendering.text import offered
from fallback.results import GroundingCheck
from fallback.routing import Route

__all__ = ["Ended", "Plan"]

_ADVISED = ("dialect", "endpoint", "read_text", "think", "num_ctx", "decide")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything about a turn but the conversation.

    Attributes:
        mode: ``auto`` asks the backend what the model can do and falls back to ``prompt``.
        route: what an earlier turn found out about this model; spares asking again.
        own: names of the settings that the caller has made himself; no advice changes them.
        endpoint: where prompts are sent in prompt mode, if the backend has the choice.
        instructions: the application's system prompt.
        examples: questions with their right calls, shown in prompt mode.
        tool_choice: ``auto``, ``none``, ``required`` or the name of one tool.
        parallel: whether one reply may hold several calls; otherwise only the first one counts.
        respond: whether the catalogue holds the tool for answering, see
            :mod:`fallback.loop.respond`.
        decide: how it is decided before the reply to a question which tool it calls; ``None``
            leaves that to the reply.
        baseline: what an earlier turn found out for that.
        eager: whether a call that only reads may start while the reply is still being written.
        window: what earlier turns found out about the window.
        read_text: whether a reply in which the server reports no calls is searched for them.
        policy: what runs at once, and what needs a person.
        context: who it is for, and what he may do.
        turn_id: names the turn.
        tainted: whether the question itself holds untrusted text.
        masks: applied to the text of every result before the model is shown it.
        grounding: finds what an answer has from nowhere.
        options: for the server, such as ``temperature``; absent ones are the model's own.
    """

    model: str
    catalogue: Catalogue
    dialect: Dialect = FENCED
    mode: Literal["auto", "native", "prompt"] = "auto"
    route: Route | None = None
    own: frozenset[str] = frozenset()
    endpoint: Literal["auto", "generate", "chat"] = "auto"
    instructions: str = ""
    examples: tuple[Example, ...] = ()
    tool_choice: str = "auto"
    parallel: bool = True
    respond: bool = False
    decide: Decide | None = None
    baseline: Baseline | None = None
    eager: bool = False
    window: Window = field(default_factory=Window)
    read_text: bool = True
    limits: Limits = DEFAULT_LIMITS
    policy: Policy = DEFAULT_POLICY
    context: ExecutionContext = NOBODY
    turn_id: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    tainted: bool = False
    masks: tuple[Callable[[str], str], ...] = ()
    grounding: GroundingCheck | None = None
    num_ctx: int | None = None
    think: bool | str | None = None

    def advised(self, route: Route) -> Plan:
        """The plan with what the route's advice says, but for the caller's own settings."""
        said = {name: getattr(route.advice, name, None) for name in _ADVISED}
        given = {n: v for n, v in said.items() if v is not None and n not in self.own}
        if "decide" in given:
            given["decide"] = Decide(margin=given["decide"])
        if "num_ctx" in given:  # sizes are relative to the real window
            given["limits"] = replace(self.limits, num_ctx=given["num_ctx"])
        return replace(self, **given) if given else self

    def request(
        self, mode: Mode, messages: tuple[Message, ...], *, tool_choice: str
    ) -> GenerationRequest:
        """What the backend is sent for one generation.

        Both modes offer the same tools and say the same things; they differ in who renders them.
        """
        tools = offered(self.catalogue, tool_choice)
        if mode == "prompt":
            rendered = prompt_messages(
                messages,
                self.catalogue,
                self.dialect,
                tool_choice=tool_choice,
                instructions=self.instructions,
                parallel=self.parallel,
                examples=self.examples,
            )
            return self._request(mode, rendered, None, self.dialect.stop if tools else ())
        if self.instructions.strip():
            messages = (Message(role="system", content=self.instructions.strip()), *messages)
        return self._request(mode, messages, tools or None, ())

    def _request(
        self,
        mode: Mode,
        messages: tuple[Message, ...],
        catalogue: Catalogue | None,
        stop: tuple[str, ...],
    ) -> GenerationRequest:
        return GenerationRequest(
            model=self.model,
            mode=mode,
            messages=messages,
            catalogue=catalogue,
            stop=stop,
            options=self.options,
            num_ctx=self.num_ctx,
            think=self.think,
            endpoint=self.endpoint,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A turn and what it leaves behind.

    Attributes:
        messages: the conversation to go on with; without this turn if nothing came of it.
        route: the mode that worked, and why; ``None`` if that was never found out.
        window: what has been found out about the window, for the next turn.
        baseline: what has been found out about the catalogue, for the next turn.
        error: what the outside world did wrong, for the driver to raise.
        paused: the turn as it has to be kept, if it waits for a person.
    """

    turn: Turn
    messages: tuple[Message, ...]
    route: Route | None = None
    window: Window = field(default_factory=Window)
    baseline: Baseline | None = None
    error: FallbackError | None = None
    paused: Paused | None = None
