"""How the model is asked for its next reply: what it is shown, and how its reply is begun.

Where a call is required the reply is begun for the model: the opening of a call is put into its
mouth (:mod:`fallback.rendering.opening`), and the rest is held to the schema of a call of the tool,
or of any of them, if the server can do that. A server that can do neither is asked without; what
is required is checked in the reply in any case.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from fallback.backend import GenerationRequest
from fallback.errors import (
    BackendError,
    BackendStatusError,
    CapabilityError,
    ContextWindowError,
)
from fallback.loop.actions import Generation
from fallback.loop.asides import GO_ON
from fallback.loop.begun import begun_call
from fallback.loop.gauge import characters
from fallback.loop.plan import Plan
from fallback.loop.window import Fitted, fit, shown
from fallback.messages import Message, Mode
from fallback.rendering.opening import Opening
from fallback.rendering.text import offered
from fallback.templating import to_json

__all__ = ["Asking"]

_NOTHING = Opening("")


class Asking:
    """The requests of one turn.

    Args:
        plan: of the turn; its window is what earlier turns found out.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._tools = offered(plan.catalogue, plan.tool_choice)
        self._may_begin = self._may_format = True
        self._size = 0
        self._aside, self._offered = "", plan.tool_choice
        self.window = plan.window
        self.opening = _NOTHING
        self.continues = False

    def request(
        self,
        mode: Mode,
        conversation: tuple[Message, ...],
        aside: str,
        *,
        withdrawn: bool,
        required: bool,
        tool: str = "",
        written: str = "",
    ) -> tuple[GenerationRequest, str]:
        """What is sent next, and a note on what had to be left out; usually empty.

        Args:
            mode: how calls are made.
            conversation: all of it; what is shown of it is decided here.
            aside: said to the model in this request alone.
            withdrawn: whether no tool is offered any more.
            required: whether the reply has to be a call.
            tool: the tool that it has to call, if that is decided already.
            written: a reply of calls that is to go on with that one.
        """
        self._aside = aside
        self._offered = "none" if withdrawn else self._plan.tool_choice
        request = self._render(mode, shown(conversation, self.window.cut))
        note = ""
        room = self.window.gauge.room(self._plan.limits)
        if room is not None and self._measure(request) > room:
            note = self._make_room(mode, conversation)
            request = self._render(mode, shown(conversation, self.window.cut))
        self._size = self._measure(request)
        self.continues = bool(request.prefill)
        begins = (required or bool(tool)) and not self.continues
        self.opening, schema = self._begin(mode, tool) if begins else (_NOTHING, None)
        if self.opening.prefill:
            prefill = self.opening.behind(written) if written else self.opening.prefill
            request = replace(request, prefill=prefill, format=schema)
        return request, note

    def heard(self, generation: Generation) -> None:
        """Learn from a reply how much fits."""
        gauge = self.window.gauge.heard(self._size, generation)
        self.window = replace(self.window, gauge=gauge)

    def another_way(
        self, error: BackendError, mode: Mode, conversation: tuple[Message, ...]
    ) -> str:
        """Change what can be changed about the last request, so that it may be sent again.

        Returns:
            What was changed; nothing if the same would happen again.
        """
        if isinstance(error, ContextWindowError):
            gauge = self.window.gauge.refused(self._size, error)
            self.window = replace(self.window, gauge=gauge)
            return self._make_room(mode, conversation)
        if isinstance(error, CapabilityError) and error.missing == "prefill":
            self._may_begin = False
            return "its reply cannot be begun: asked without"
        held = bool(self.opening.closing) and self._may_format
        if held and isinstance(error, BackendStatusError) and error.status in (400, 500):
            self._may_format = False
            return "the server does not take the schema of the call: asked without"
        return ""

    # What is shown ------------------------------------------------------------------------------

    def _make_room(self, mode: Mode, conversation: tuple[Message, ...]) -> str:
        limits = self._plan.limits
        room = self.window.gauge.room(limits)
        if room is None:
            return ""

        def size(messages: tuple[Message, ...]) -> int:
            return self._measure(self._render(mode, messages))

        fitted = fit(
            conversation,
            self.window.cut,
            size=size,
            room=room,
            goal=int(room * limits.window_goal),
            short=limits.shortened_result_chars,
        )
        if fitted.cut == self.window.cut:
            return ""
        note = self._note(conversation, fitted)
        self.window = replace(self.window, cut=fitted.cut)
        return note

    def _note(self, conversation: tuple[Message, ...], fitted: Fitted) -> str:
        before, after = self.window.cut, fitted.cut
        gone = conversation[before.dropped : after.dropped]
        turns = sum(message.role == "user" for message in gone)
        parts = []
        longer = replace(after, shortened=before.shortened)
        if shown(conversation, after) != shown(conversation, longer):
            parts.append("tool results are shortened")
        if turns:
            parts.append(f"earlier turns are left out ({turns})")
        what = ", ".join(parts) or "earlier messages are left out"
        return f"the window of {self.window.gauge.num_ctx} tokens is full: {what}"

    def _render(self, mode: Mode, messages: tuple[Message, ...]) -> GenerationRequest:
        if self._aside:
            messages = (*messages, Message(role="user", content=self._aside))
        return self._continued(self._plan.request(mode, messages, tool_choice=self._offered))

    def _continued(self, request: GenerationRequest) -> GenerationRequest:
        """Have a reply that stopped at a call go on: in the model's own mouth, if that can be."""
        *before, last = request.messages or (Message(role="user"),)
        if request.mode != "prompt" or last.role != "assistant":
            return request
        if self._may_begin:
            return replace(request, messages=tuple(before), prefill=last.content)
        told = Message(role="user", content=GO_ON)
        return replace(request, messages=(*request.messages, told))

    def _measure(self, request: GenerationRequest) -> int:
        tools = self._catalogue_size if request.catalogue is not None else 0
        return characters(request.messages) + len(request.prefill) + tools

    @cached_property
    def _catalogue_size(self) -> int:
        return sum(len(to_json(tool.to_dict())) for tool in self._tools)

    # How the reply is begun ---------------------------------------------------------------------

    def _begin(self, mode: Mode, tool: str) -> tuple[Opening, Mapping[str, Any] | None]:
        if mode != "prompt" or not self._may_begin:
            return _NOTHING, None
        return begun_call(
            self._tools, self._plan.dialect, tool, self._plan.limits, holds=self._may_format
        )
