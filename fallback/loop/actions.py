"""What a turn asks of its driver, and what the driver answers: plain values, both ways.

The turn itself (:mod:`fallback.loop.turn`) does no I/O and looks at no clock. It yields an
*action*, the driver does it and sends the *outcome*; every outcome says how much time of the turn
has passed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from fallback.backend import Chunk, GenerationRequest, ModelInfo
from fallback.catalogue import Catalogue
from fallback.errors import BackendError
from fallback.limits import DEFAULT_LIMITS, Limits
from fallback.messages import FinishReason, Reading, ToolCall, ToolResult, Usage
from fallback.policy.rules import Deny
from fallback.rendering.running import Place
from fallback.routing import Advice
from fallback.tools import Tool

__all__ = [
    "Action",
    "Approve",
    "Approved",
    "Authorise",
    "Authorised",
    "Check",
    "Decision",
    "Describe",
    "Described",
    "Execute",
    "Executed",
    "Generate",
    "Generation",
    "Interrupted",
    "Job",
    "Outcome",
    "Request",
    "Score",
    "Scored",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Describe:
    """Ask the backend what the model can do. Answered by :class:`Described`."""

    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Generate:
    """Ask the model for one reply. Answered by :class:`Generation`.

    Attributes:
        request: what the backend is sent.
        catalogue: the tools whose calls are recognised in the reply.
        tool_choice: the parser's: ``none`` switches it off.
        index: number of the step, from 0.
        id_prefix: beginning of the ids of the calls in the reply, unique within a conversation.
        seconds: time left for the turn; the driver ends a reply that takes longer.
        read_text: whether calls are read from the text at all; otherwise only the server's count.
        said: the user's words; what stands there is meant.
        dialects: those whose calls are read; ``None`` for all that need not be asked for.
        continues: whether ``request.prefill`` is what the model has said before, and no part of
            this reply.
        closing: what completes a reply that was begun by ``request.prefill`` and whose rest is one
            JSON value, as ``request.format`` makes it.
        delay: seconds to wait before asking.
        early: gives the job of a call that may start while the rest of the reply is written, or
            ``None``; absent where none may.
        told: characters of ``request.prefill`` that were heard before: the reply goes on from an
            earlier one of the same step.
        place: where in a running text the reply goes on; ``None`` where it stands for itself.
        draft: whether something of the reply may still be left out: nobody is told of it, and none
            of its calls begins early.
        given: the whole reply, which is read like one that comes from the server; that is not
            asked. ``None`` where it is to be asked.
    """

    request: GenerationRequest
    catalogue: Catalogue
    tool_choice: str = "auto"
    index: int = 0
    id_prefix: str = "call_"
    limits: Limits = DEFAULT_LIMITS
    seconds: float | None = None
    read_text: bool = True
    said: str = ""
    dialects: frozenset[str] | None = None
    continues: bool = False
    closing: str = ""
    delay: float = 0.0
    early: Callable[[ToolCall], Job | None] | None = None
    told: int = 0
    place: Place | None = None
    draft: bool = False
    given: Chunk | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Ask how probable each of several values is. Answered by :class:`Scored`.

    Attributes:
        request: with the ``prefill`` that the values may follow.
        values: what the reply may go on with; none is the beginning of another.
        whole: whether something else may begin like a value, see :class:`fallback.backend.Scorer`.
        delay: seconds to wait before asking.
    """

    request: GenerationRequest
    values: tuple[str, ...]
    whole: bool = False
    delay: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One call that hooks are asked about."""

    call: ToolCall
    tool: Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Authorise:
    """Ask the application's hooks. Answered by :class:`Authorised`."""

    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call that needs people.

    Attributes:
        fingerprint: what an approval of it is bound to; see :func:`fallback.policy.approval_hash`.
        approvers: how many different people are needed.
        why: the tier, or what else makes it necessary.
        seconds: how long an approval is good for.
        approval_id: the approval that was asked for when the turn was paused; empty if none was.
    """

    call: ToolCall
    tool: Tool
    fingerprint: str
    approvers: int
    why: str
    seconds: float
    approval_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approve:
    """Ask people about calls. Answered by :class:`Approved`."""

    requests: tuple[Request, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One call to run.

    Attributes:
        seconds: its deadline, ``None`` for none.
        writes: whether it may change something, so that it is recorded before it runs.
        approval_id: the approval that was used for it; empty where none was needed.
        recalls: whether it may only give the result that is on record, for nobody has approved it.
    """

    call: ToolCall
    tool: Tool
    seconds: float | None = None
    writes: bool = False
    approval_id: str = ""
    recalls: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Execute:
    """Run calls that do not depend on each other. Answered by :class:`Executed`.

    Attributes:
        jobs: in the model's order; several only where each of them merely reads.
        width: how many of them may run at a time.
    """

    jobs: tuple[Job, ...]
    width: int = 1


Action = Describe | Generate | Score | Authorise | Approve | Execute


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What the backend says; ``error`` where it could not. ``advice`` is what was measured."""

    info: ModelInfo | None = None
    advice: Advice | None = None
    error: BackendError | None = None
    elapsed: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """One reply, read.

    Attributes:
        raw: the text exactly as it came, thinking excluded, behind the beginning that was put into
            the model's mouth; all spans are offsets in it.
        thinking: what the server reported apart from the text.
        reading: the reply as the parser, or the server's own ``tool_calls``, have it.
        tool_calls: the server's, raw; empty where it sent none.
        error: why the backend could not finish; the rest is what had come until then.
        elapsed: seconds since the turn began.
        cut: whether the driver ended the reply after its first complete batch of calls.
        num_ctx: the window that was asked for, in tokens, if the backend says.
    """

    raw: str = ""
    thinking: str = ""
    reading: Reading = field(default_factory=Reading)
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    finish_reason: FinishReason = "stop"
    usage: Usage = field(default_factory=Usage)
    path: str = ""
    error: BackendError | None = None
    elapsed: float = 0.0
    cut: bool = False
    num_ctx: int | None = None

    @property
    def swallowed(self) -> bool:
        """Whether a server has eaten a call that it could not read: tokens, but nothing to show."""
        shown = self.raw.strip() or self.thinking.strip() or self.tool_calls
        return not shown and self.usage.completion_tokens > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """The natural logarithms of the probabilities, one per value; ``error`` where there are none.

    ``unseen`` and ``usage`` are those of :class:`fallback.backend.Scores`.
    """

    logprobs: tuple[float, ...] = ()
    unseen: frozenset[int] = frozenset()
    usage: Usage = field(default_factory=Usage)
    error: BackendError | None = None
    elapsed: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Authorised:
    """One answer per check: ``None`` allows."""

    refusals: tuple[Deny | None, ...]
    elapsed: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What people say of one request.

    Attributes:
        verdict: ``pending`` while somebody still has to decide; ``recalled`` where the very call is
            on record already, so that its result may be given and nothing may run.
        approval_id: names the approval, where there is one.
        detail: who, or why; for the log.
    """

    verdict: Literal["granted", "denied", "pending", "recalled"]
    approval_id: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approved:
    """One decision per request. ``elapsed`` leaves out the time that people took."""

    decisions: tuple[Decision, ...]
    elapsed: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """One result per job, tied to it by id."""

    results: tuple[ToolResult, ...]
    elapsed: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupted:
    """The turn has to end now. May be sent in place of any other outcome.

    Attributes:
        reason: ``cancelled`` by the application, or ``failed`` by something unforeseen.
        detail: why, for the record.
        generation: what had come of a reply that was under way.
        results: results of the jobs that had finished.
    """

    reason: Literal["cancelled", "failed"] = "cancelled"
    detail: str = "cancelled by the application"
    generation: Generation | None = None
    results: tuple[ToolResult, ...] = ()
    elapsed: float = 0.0


Outcome = Described | Generation | Scored | Authorised | Approved | Executed | Interrupted
