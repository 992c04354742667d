"""Every number in the project, each with its reason.

A limit lives here or nowhere: a number that is repeated where it is used is a number that will
differ. ``None`` switches a limit off where the field allows it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one session may cost. All sizes are absolute, never per chunk."""

    max_reply_chars: int = 2_000_000
    """Characters of one reply that are read. What lies beyond is a problem, not a crash; real
    replies stay under 100,000 because the window ends them."""

    max_call_chars: int = 1_000_000
    """Characters of one call. A call that is longer is refused as ``oversized``."""

    max_calls_per_step: int = 128
    """Calls accepted from one reply. OpenAI's wire allows 128 parallel calls."""

    max_problems_per_step: int = 32
    """Problems reported of one reply; what comes behind so many is not read. A model is told of
    four, and hostile text would otherwise make one of every few characters."""

    max_false_starts: int = 2048
    """Work on what looks like a call, or like markup, and comes to nothing, in one reply: 1 for a
    marker or an object that is data, 8 for a candidate that has to be framed, and 1 for each 64
    characters of it. What comes behind so much is text: no honest reply gets near it, and hostile
    text would otherwise begin a call with every character, each as long as the rest."""

    max_quotations: int = 256
    """Quoted passages of one reply in which calls are looked for, only to report them; a long
    answer about code has dozens."""

    max_depth: int = 128
    """Nesting of arguments and schemas. jiter stops at 200; jsonschema-rs overflows the stack of
    the process beyond some 10,000, so nothing deeper may ever reach it."""

    max_tools: int = 1024
    """Tools in one catalogue. OpenAI's own limit is 128; gateways that merge servers go further."""

    max_schema_chars: int = 200_000
    """Size of one tool's schema as JSON. A schema is untrusted input where a client sends it."""

    max_schema_cost: int = 20_000_000
    """Evaluations that checking one value may take where references multiply: some 0.2 seconds in
    the validator. A schema without repeated references costs one per node."""

    max_explain_cost: int = 100_000
    """The same for explaining what is wrong: the validator then tries every alternative, and makes
    an error of each, which takes it a thousand times as long."""

    max_literal_chars: int = 50_000
    """Characters of a Python literal that is read inside an argument: Python's syntax tree takes
    some hundred times their memory."""

    max_violations: int = 20
    """Faults of one call that are explained; a model mends no more at once, and a long array can
    have one for each item."""

    max_steps: int = 8
    """Generations in one turn. Small models that have not finished by then repeat themselves."""

    max_calls_per_turn: int = 64
    """Tool executions in one turn."""

    max_parallel: int = 4
    """Calls of one reply that run at a time, where each of them only reads: enough to hide the
    latency of a network, few enough for any service."""

    max_transient_retries: int = 3
    """Times in one turn that something is tried again which failed for now: a tool that says so and
    does no harm twice, or a server that is busy. A service that is down stays down for a turn."""

    retry_seconds: float = 0.5
    """Pause before the first such retry, in seconds; each next one is twice as long."""

    rate_wait_seconds: float = 10.0
    """Seconds that a call waits for its tool's ``rate``; where it would be longer the model is told
    instead. Rates by the second are waited out, rates by the minute are not."""

    max_tool_errors: int = 4
    """Replies of one turn whose calls all failed, after which tools are withdrawn: what has not
    worked in four ways will not in a fifth, and one failure among several calls is no reason."""

    max_corrections: int = 2
    """Corrective turns for malformed calls in one turn; more teach a small model nothing."""

    repeats_told: int = 3
    """Identical calls with identical results in a row after which the model is told: two may be a
    second look, three are a habit."""

    repeats_stopped: int = 5
    """Identical calls with identical results in a row after which tools are withdrawn."""

    turn_seconds: float | None = 600.0
    """Wall-clock deadline of a turn, in seconds: two cores and a 1.5B model need minutes, not
    hours."""

    tool_seconds: float | None = 60.0
    """Deadline of one tool execution, in seconds."""

    max_result_chars: int = 16_000
    """Characters of one tool result that the model is shown, some 4,000 tokens: half of the default
    window. Head and tail are kept; the caller always has the whole result."""

    result_chars_per_token: float = 2.0
    """Characters of one tool result for each token of the window, if that is less: a token has some
    four, so that a result takes no more than half of a small window."""

    num_ctx: int = 8192
    """Context window, in tokens, that is asked for when the model allows it and the user does not
    say. Ollama's own default is 4096 on a CPU and cuts silently; changing it reloads the model."""

    max_format_chars: int = 20_000
    """Characters of the schemas of all tools together up to which a required call is held to them:
    a server makes a grammar of them, for every reply anew, and a larger one makes it slow."""

    shortened_result_chars: int = 600
    """Characters that an old tool result keeps once the window is full: its head and tail say what
    it was, and the model has used it already."""

    window_goal: float = 0.7
    """Share of the room for the prompt that is left filled once something has to be cut: a small
    cut at every step would cost a new evaluation of the whole prompt at every step."""

    num_predict: int = 2048
    """Tokens one generation may write. Ollama's default is ten windows."""

    connect_seconds: float = 5.0
    """Time to open a connection; the server is usually on this machine."""

    read_seconds: float = 600.0
    """Time between two pieces of a reply: covers loading a large model from a slow disk."""

    probe_seconds: float = 1.0
    """Time to find out whether a server answers on this machine; it does in a millisecond, or not
    at all, and nobody should wait for the second case."""

    max_line_bytes: int = 32 * 1024 * 1024
    """Bytes of one line, or of one whole answer that is not streamed, from a server. The largest
    real one is the list of tensors and tokens in ``/api/show``, some 5 MB."""

    @property
    def result_chars(self) -> int:
        """Characters of one tool result that are shown, with this window."""
        return min(self.max_result_chars, int(self.num_ctx * self.result_chars_per_token))


DEFAULT_LIMITS = Limits()
