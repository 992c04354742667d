"""Plays a turn by hand: actions out, scripted outcomes in. For the tests of the loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fallback.backend import Chunk, ModelInfo
from fallback.catalogue import Catalogue
from fallback.errors import BackendError
from fallback.loop import (
    Action,
    Approve,
    Approved,
    Authorise,
    Authorised,
    Check,
    Decision,
    Describe,
    Described,
    Ended,
    Executed,
    Generate,
    Interrupted,
    Job,
    Outcome,
    Plan,
    Reply,
    Request,
    TurnLoop,
)
from fallback.messages import FinishReason, Message, ToolResult, Turn
from fallback.policy import Deny
from fallback.tools import Tool

QUESTION = Message(role="user", content="Weather in Oslo?")


def a_tool(name: str, **properties: Any) -> Tool:
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    described = {"name": name, "description": f"Does {name}.", "parameters": schema}
    return Tool.from_dict(described, handler=lambda **arguments: arguments)


TOOLS = Catalogue(
    [
        a_tool("get_weather", city={"type": "string"}),
        a_tool("build"),
        Tool.from_dict({"name": "ask_user", "description": "Asks.", "parameters": {}}),
    ]
)


def block(*lines: str) -> str:
    return "\n".join(("```tool_call", *lines, "```"))


def calls(name: str, arguments: str = "{}") -> str:
    return f'{{"name": "{name}", "arguments": {arguments}}}'


OSLO = block(calls("get_weather", '{"city": "Oslo"}'))


class Driver:
    """Plays a turn from a script of replies; tools answer ``<name>: <what>``."""

    def __init__(self, *, elapsed: float = 0.0, **plan: Any) -> None:
        self.plan = Plan(**{"model": "m", "catalogue": TOOLS, "mode": "prompt", **plan})
        self.elapsed = elapsed
        self.requests: list[Generate] = []
        self.executed: list[str] = []
        self.jobs: list[Job] = []
        self.waves: list[tuple[str, ...]] = []
        self.checked: list[Check] = []
        self.approvals: list[Request] = []
        self.refuses: Callable[[str], Deny | None] = lambda name: None
        self.decides: Callable[[str], Decision] = lambda name: Decision(verdict="granted")
        self.ended: Ended | None = None
        self.answer: Callable[[str], ToolResult | Outcome] = self.tool_answers
        self.info = ModelInfo(name="m", capabilities=frozenset({"completion", "tools"}))

    def tool_answers(self, name: str) -> ToolResult:
        return ToolResult(call_id="?", name=name, content=f"{name}: fine")

    def play(self, *replies: Any, history: tuple[Message, ...] = ()) -> Turn:
        actions = TurnLoop(self.plan, history, QUESTION).run()
        script = iter(replies)
        try:
            action = next(actions)
            while True:
                action = actions.send(self.outcome(action, script))
        except StopIteration as stop:
            self.ended = stop.value
        assert self.ended is not None
        assert next(script, None) is None, "not every reply was asked for"
        return self.ended.turn

    def outcome(self, action: Action, script: Any) -> Outcome:
        if isinstance(action, Describe):
            return Described(info=self.info)
        if isinstance(action, Generate):
            self.requests.append(action)
            return self.reply(action, next(script))
        if isinstance(action, Authorise):
            self.checked += action.checks
            return Authorised(refusals=tuple(self.refuses(c.call.name) for c in action.checks))
        if isinstance(action, Approve):
            self.approvals += action.requests
            decisions = tuple(self.decides(request.call.name) for request in action.requests)
            return Approved(decisions=decisions, elapsed=self.elapsed)
        self.jobs += action.jobs
        self.waves.append(tuple(job.call.name for job in action.jobs))
        done = []
        for job in action.jobs:
            result = self.answer(job.call.name)
            self.executed.append(job.call.name)
            if not isinstance(result, ToolResult):
                return result
            done.append(replace(result, call_id=job.call.id, name=job.call.name))
        return Executed(results=tuple(done), elapsed=self.elapsed)

    def reply(self, action: Generate, scripted: Any) -> Outcome:
        if isinstance(scripted, Interrupted):
            return scripted
        reply = Reply(action)
        if callable(scripted):
            scripted = scripted(action)
        error = scripted if isinstance(scripted, BackendError) else None
        finish: FinishReason | None = None
        if error is None:
            chunk = scripted if isinstance(scripted, Chunk) else Chunk(text=scripted, done=True)
            reply.feed(chunk)
            finish = chunk.finish_reason
        return reply.close(finish_reason=finish, error=error, elapsed=self.elapsed)[1]

    def last(self, request: int) -> str:
        """The last message of a request."""
        return self.requests[request].request.messages[-1].content


def native(*named: tuple[str, dict[str, Any]], text: str = "") -> Chunk:
    reported = tuple({"name": name, "arguments": arguments} for name, arguments in named)
    return Chunk(text=text, tool_calls=reported, done=True)
