"""Every exception the package raises on purpose, in one tree.

::

    FallbackError
    ├─ ConfigurationError (ValueError)     the developer's mistake, raised at construction
    │   ├─ InvalidToolError                bad name, unsupported schema, duplicate, hidden parameter
    │   ├─ ToolFileError                   a file of tools that cannot be read or imported
    │   ├─ FlowError                       a flow that cannot be run as it is
    │   │   └─ FlowFileError               one whose file is wrong
    │   ├─ ExampleFileError                a file of worked examples that is wrong
    │   ├─ UnknownDialectError             no dialect of that name
    │   └─ TemplateError                   a prompt template does not render
    ├─ ParseError (ValueError)             only from ``parse(..., strict=True)``
    ├─ LimitExceededError                  a hard stop the caller asked for
    ├─ BackendError                        the outside world; mapped from httpx in one place
    │   ├─ BackendConnectionError          nobody answers
    │   ├─ BackendTimeoutError             somebody answers too slowly
    │   ├─ BackendStatusError              an HTTP status of 400 or more
    │   │   ├─ ModelNotFoundError          404: the server does not have that model
    │   │   ├─ CapabilityError             400: the model cannot do that (tools, thinking …)
    │   │   └─ ContextWindowError          the prompt does not fit the window; carries the numbers
    │   └─ BackendProtocolError            an undecodable, failed or unfinished reply
    ├─ EngineError                         the embedded engine or its model store
    ├─ LedgerError                         the ledger: locked, damaged, not there, or not to be done
    ├─ McpError                            an MCP server that does not start, answer or make sense
    └─ UsageError (RuntimeError)           ``feed()`` after ``close()``, a session used twice

    ToolFailed, ToolRetry, ToolTransient,  signals a tool raises; they are not FallbackErrors
    ToolConflict, ToolPartial, PauseTurn

Who is at fault decides what happens: a developer's mistake raises early, the outside world raises
at the boundary, and a *model's* mistake is never an exception: it is a
:class:`~fallback.messages.Problem`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping


class FallbackError(Exception):
    """Root of everything this package raises on purpose."""


class ConfigurationError(FallbackError, ValueError):
    """The calling code is wrong; raised when the object is built, not when it is used."""


class InvalidToolError(ConfigurationError):
    """A tool cannot be offered: bad name, duplicate, or a schema that is not safe to use."""


class ToolFileError(ConfigurationError):
    """A file of tools does not exist, does not import, or holds no tool."""


class FlowError(ConfigurationError):
    """A flow cannot be run: a step is wrong, an input is missing, or a record is another's."""


class FlowFileError(FlowError):
    """The file of a flow cannot be read, or what it says is wrong; names the line."""


class ExampleFileError(ConfigurationError):
    """A file of worked examples cannot be read, or what it says is wrong; names the line."""


class UnknownDialectError(ConfigurationError):
    """No dialect has that name."""


class TemplateError(ConfigurationError):
    """A prompt template is missing or does not render."""


class ParseError(FallbackError, ValueError):
    """A reply that does not read cleanly; raised only where the caller asked for ``strict``."""


class LimitExceededError(FallbackError):
    """A limit was passed where the caller asked for a hard stop.

    Attributes:
        limit: name of the field of :class:`fallback.limits.Limits`.
        allowed: its value.
        actual: what was seen.
    """

    def __init__(self, limit: str, allowed: float, actual: float) -> None:
        super().__init__(f"{limit} is {allowed:g}, got {actual:g}")
        self.limit, self.allowed, self.actual = limit, allowed, actual


class BackendError(FallbackError):
    """The model server could not do what was asked."""


class BackendConnectionError(BackendError):
    """Nothing answers at the address."""


class BackendTimeoutError(BackendError):
    """The server took longer than the timeout allows."""


class BackendStatusError(BackendError):
    """The server answered with an error status.

    Attributes:
        status: the HTTP status code.
        detail: the server's own words, unwrapped and cut.
    """

    def __init__(self, message: str, *, status: int, detail: str = "") -> None:
        super().__init__(message)
        self.status, self.detail = status, detail


class ModelNotFoundError(BackendStatusError):
    """The server does not have the model."""


class CapabilityError(BackendStatusError):
    """The model lacks a capability that the request needs.

    Attributes:
        missing: the capability's name as Ollama spells it, such as ``tools`` or ``completion``.
    """

    def __init__(self, message: str, *, status: int, missing: str, detail: str = "") -> None:
        super().__init__(message, status=status, detail=detail)
        self.missing = missing


class ContextWindowError(BackendStatusError):
    """The prompt does not fit the window.

    Attributes:
        prompt_tokens: size of the prompt, in tokens; ``None`` where the server does not say.
        num_ctx: size of the window, in tokens; ``None`` where the server does not say.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int,
        prompt_tokens: int | None,
        num_ctx: int | None,
        detail: str = "",
    ) -> None:
        super().__init__(message, status=status, detail=detail)
        self.prompt_tokens, self.num_ctx = prompt_tokens, num_ctx


class BackendProtocolError(BackendError):
    """The reply could not be decoded, reported an error half-way, or ended before it was done.

    Attributes:
        detail: the server's own words, unwrapped and cut; empty where it said none.
    """

    def __init__(self, message: str, *, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail


class EngineError(FallbackError):
    """The embedded engine is not installed, has no such model, or its file is not the right one."""


class LedgerError(FallbackError):
    """The ledger cannot be read or written, or what is asked of it goes against what it holds."""


class McpError(FallbackError):
    """An MCP server does not start or answer, has ended, or says what cannot be used."""


class UsageError(FallbackError, RuntimeError):
    """An object was used in a way that its state does not allow."""


class ToolFailed(Exception):
    """Raised by a tool: it has failed for good. The model is told, and should not try again.

    Attributes:
        untrusted: whether the words are those of others, such as a server's; then they are marked.
    """

    def __init__(self, *message: object, untrusted: bool = False) -> None:
        super().__init__(*message)
        self.untrusted = untrusted


class ToolRetry(Exception):
    """Raised by a tool: the arguments can be mended. The model is told how, and may try again.

    Attributes:
        fields: places of the arguments at fault, such as ``$.day``; for the record.
    """

    def __init__(self, *message: object, fields: Iterable[str] = ()) -> None:
        super().__init__(*message)
        self.fields = tuple(fields)


class ToolTransient(Exception):
    """Raised by a tool: it failed for now, and nothing has happened. It may be tried again.

    The application tries again itself, a few times with growing pauses, where that does no harm: a
    tool that only reads, or one that is declared ``idempotent``.
    """


class ToolConflict(Exception):
    """Raised by a tool: the world is not as the call assumed. The model is told how it is.

    Attributes:
        state: what is there now, as JSON; the model sees it.
        options: what can be done instead, a sentence each.
    """

    def __init__(self, message: str, *, state: object = None, options: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.state, self.options = state, tuple(options)


class ToolPartial(Exception):
    """Raised by a tool that worked on several things: some are done, some are not.

    Attributes:
        done: what was done, by item: a JSON value each.
        failed: why the others were not, by item: a sentence each.
    """

    def __init__(
        self, message: str = "", *, done: Mapping[str, object], failed: Mapping[str, str]
    ) -> None:
        super().__init__(message or f"{len(done)} done, {len(failed)} failed")
        self.done, self.failed = dict(done), dict(failed)


class PauseTurn(Exception):
    """Raised by a tool: a person has to decide first. The turn ends without being an error."""
