"""Exit codes: one per kind of failure, and which exception means which.

The table in the README is checked against this module.
"""

from __future__ import annotations

from enum import IntEnum

from fallback.cli.inputs import InputError
from fallback.compare.faults import CaseError, StoreError
from fallback.errors import (
    BackendConnectionError,
    BackendError,
    CapabilityError,
    ConfigurationError,
    ContextWindowError,
    EngineError,
    ExampleFileError,
    FallbackError,
    FlowFileError,
    LedgerError,
    McpError,
    ModelNotFoundError,
    ToolFileError,
)
from fallback.profiles.record import ProfileError


class ExitCode(IntEnum):
    """What the process ends with."""

    OK = 0
    NOT_ANSWERED = 1
    USAGE = 2
    FILE = 3
    UNREACHABLE = 4
    MODEL_UNKNOWN = 5
    CAPABILITY = 6
    WINDOW = 7
    ENGINE = 8
    BACKEND = 9
    LINT = 10
    LEDGER = 11
    WAITING = 12
    INTERNAL = 70
    INTERRUPTED = 130
    PIPE_CLOSED = 141


MEANING: dict[ExitCode, str] = {
    ExitCode.OK: "done",
    ExitCode.NOT_ANSWERED: (
        "the turn ended without an answer (step limit, deadline, ...), or fuzzing broke a law"
    ),
    ExitCode.USAGE: "the command line or a setting is wrong",
    ExitCode.FILE: (
        "a file (tools, a flow, a batch, a suite, results, a profile) cannot be read or written"
    ),
    ExitCode.UNREACHABLE: "no model server answers, and no embedded engine is installed",
    ExitCode.MODEL_UNKNOWN: "the server does not have the model",
    ExitCode.CAPABILITY: "the model cannot do what was asked of it",
    ExitCode.WINDOW: "the prompt does not fit the context window",
    ExitCode.ENGINE: "the embedded engine or its model store failed",
    ExitCode.BACKEND: "the server failed, was too slow, or its reply was not usable",
    ExitCode.LINT: "`fallback lint` found errors in the tools",
    ExitCode.LEDGER: "the ledger cannot be used, holds no such thing, or does not verify",
    ExitCode.WAITING: "the turn waits for an approval, see `fallback approvals list`",
    ExitCode.INTERNAL: "a bug in fallback; --debug shows where",
    ExitCode.INTERRUPTED: "interrupted with Ctrl-C",
    ExitCode.PIPE_CLOSED: "whoever read the output has gone",
}
"""One sentence per code, as the documentation prints it."""

# First match wins, so a class stands before its parents.
_BY_ERROR: tuple[tuple[type[BaseException], ExitCode], ...] = (
    (ProfileError, ExitCode.FILE),
    (ToolFileError, ExitCode.FILE),
    (FlowFileError, ExitCode.FILE),
    (ExampleFileError, ExitCode.FILE),
    (InputError, ExitCode.FILE),
    (CaseError, ExitCode.FILE),
    (StoreError, ExitCode.FILE),
    (ConfigurationError, ExitCode.USAGE),
    (BackendConnectionError, ExitCode.UNREACHABLE),
    (ModelNotFoundError, ExitCode.MODEL_UNKNOWN),
    (CapabilityError, ExitCode.CAPABILITY),
    (ContextWindowError, ExitCode.WINDOW),
    (BackendError, ExitCode.BACKEND),
    (EngineError, ExitCode.ENGINE),
    (LedgerError, ExitCode.LEDGER),
    (McpError, ExitCode.BACKEND),
    (FallbackError, ExitCode.USAGE),
    (KeyboardInterrupt, ExitCode.INTERRUPTED),
    (BrokenPipeError, ExitCode.PIPE_CLOSED),
)


def exit_code_of(error: BaseException) -> ExitCode:
    """The code for an exception that ended a command."""
    for kind, code in _BY_ERROR:
        if isinstance(error, kind):
            return code
    return ExitCode.INTERNAL
