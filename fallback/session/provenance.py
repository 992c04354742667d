"""Where a call came from, for the ledger: which reply, whose authority, which versions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from hashlib import sha256

from fallback.ledger import Entry, Operation, Origin, Versions
from fallback.messages import Mode, Problem, Step, ToolCall, ToolResult
from fallback.policy import ExecutionContext, tool_version
from fallback.templating import template_version
from fallback.tools import Tool

__all__ = ["Provenance"]


class Provenance:
    """What is known of the replies of one turn.

    Args:
        turn: id of the turn.
        conversation: id of the session.
        context: on whose authority it runs.
        model: its name.
        digest: hash of its content; empty until the server has said it.
        dialect: name of the folder of the prompt's templates.
    """

    def __init__(
        self,
        *,
        turn: str,
        conversation: str,
        context: ExecutionContext,
        model: str,
        digest: str,
        dialect: str,
    ) -> None:
        self._turn, self._conversation = turn, conversation
        self._context = context
        self._model, self.digest, self.dialect = model, digest, dialect
        self.step = 0  # number of the reply that was heard last
        self._mode: Mode = "prompt"
        self._reply_hash = ""

    def heard(self, step: int, mode: Mode, raw: str, reported: Iterable[ToolCall] = ()) -> None:
        """Take a reply: what is asked about from now on was proposed in it.

        Args:
            step: number of the reply.
            mode: how it was asked for.
            raw: its text.
            reported: the calls, where the server reported them apart from the text.
        """
        made = [(call.name, call.arguments) for call in reported]
        said = f"{raw}\n{json.dumps(made)}" if made else raw
        self.step, self._mode = step, mode
        # Lone surrogates are text all the same.
        self._reply_hash = sha256(said.encode("utf-8", "surrogatepass")).hexdigest()

    def origin(self, call_id: str) -> Origin:
        """Which reply proposed a call."""
        return Origin(
            conversation=self._conversation,
            turn=self._turn,
            step=self.step,
            call_id=call_id,
            reply_hash=self._reply_hash,
        )

    def versions(self, tool: Tool | None) -> Versions:
        """What produced a call. In native mode the server's own template stands behind the model's
        digest."""
        return Versions(
            model=self._model,
            model_digest=self.digest,
            template_hash=template_version(self.dialect) if self._mode == "prompt" else "",
            schema_hash=tool_version(tool) if tool else "",
        )

    def operation(
        self, tool: Tool, call: ToolCall, *, approval: str = "", seconds: float | None = None
    ) -> Operation:
        """A call as the ledger has it."""
        return Operation(
            tool=tool.name,
            arguments=call.arguments,
            origin=self.origin(call.id),
            user=self._context.user or "",
            tenant=self._context.tenant or "",
            approval_id=approval,
            versions=self.versions(tool),
            seconds=seconds,
        )

    def entries(self, step: Step, tools: dict[str, Tool]) -> Iterator[Entry]:
        """The audit entries of a step that has ended: one for each call, whatever became of it."""
        results = {result.call_id: result for result in step.results}
        for call in step.calls:
            if (tool := tools.get(call.name)) is not None:
                yield self._proposed(tool, call, results.get(call.id))
        for problem in step.problems:
            yield self._refused(problem, tools.get(problem.tool or ""))

    def _proposed(self, tool: Tool, call: ToolCall, result: ToolResult | None) -> Entry:
        outcome = "not_run" if result is None else result.kind or result.status
        refused = result is None or result.status == "denied"
        return Entry(
            event="refused" if refused else "proposed",
            operation=self.operation(tool, call, approval=result.approval if result else ""),
            outcome=outcome,
            detail=result.detail if result else "",
        )

    def _refused(self, problem: Problem, tool: Tool | None) -> Entry:
        operation = Operation(
            tool=problem.tool or "",
            origin=self.origin(""),
            user=self._context.user or "",
            tenant=self._context.tenant or "",
            versions=self.versions(tool),
        )
        return Entry(
            event="refused", operation=operation, outcome=problem.kind, detail=problem.message
        )
