"""A streamed reply: bytes in, :class:`~fallback.backend.Chunk` values out. No I/O.

What must stay true: any split of the bytes gives the same chunks or the same error at the same
place; work and memory are linear in the bytes; a reply that does not say ``"done": true`` is a
failure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from jiter import from_json

from fallback.backend import Chunk
from fallback.errors import BackendError, BackendProtocolError, ContextWindowError
from fallback.messages import FinishReason, Usage
from fallback.ollama.failures import Asked, failure, shown

__all__ = ["Guard", "LineSplitter", "ReplyReader", "decode_line", "usage_of"]

_SURROGATE = re.compile("[\ud800-\udfff]")
_SECOND = 1e9  # durations are nanoseconds


class LineSplitter:
    r"""Splits bytes at ``\n`` and nowhere else; empty lines are left out.

    Args:
        limit: bytes that one line may have; a longer one raises ``BackendProtocolError``.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._rest = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The lines that ``data`` completes, in order."""
        *complete, rest = data.split(b"\n")
        for piece in complete:
            line = bytes(self._rest) + piece
            self._rest.clear()
            yield from self._checked(line)
        self._rest += rest
        if len(self._rest) > self._limit:
            raise self._too_long()

    def close(self) -> Iterator[bytes]:
        """What came after the last line break."""
        line = bytes(self._rest)
        self._rest.clear()
        yield from self._checked(line)

    def _checked(self, line: bytes) -> Iterator[bytes]:
        if len(line) > self._limit:
            raise self._too_long()
        if line.strip():
            yield line

    def _too_long(self) -> BackendProtocolError:
        return BackendProtocolError(
            f"the server sent a line of more than {self._limit:,} bytes (limit max_line_bytes)"
        )


def decode_line(line: bytes, where: str) -> dict[str, Any]:
    """Decode one line; raises ``BackendProtocolError`` if it is not a JSON object."""
    try:
        value = from_json(line)
    except ValueError:
        value = _loaded(line)
    if isinstance(value, dict):
        return value
    head = shown(line[:200].decode("utf-8", "replace"))
    raise BackendProtocolError(f"{where} does not speak Ollama's API: it sent {head!r}")


def _loaded(line: bytes) -> Any:
    """What jiter does not take, such as half a surrogate pair; ``None`` if it is no JSON."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


@dataclass(frozen=True, slots=True)
class Guard:
    """Notices a prompt that an old server has cut, though it was told not to (before 0.12.6).

    Attributes:
        num_ctx: window in tokens.
        prompt_chars: size of the prompt that was sent.
    """

    num_ctx: int
    prompt_chars: int

    def trips(self, prompt_tokens: int) -> bool:
        """Whether the count is what a cut leaves, for a prompt that cannot have been so short.

        The formula is the server's: the first ``num_keep`` (4, and BOS) tokens, and the last ones.
        """
        left = {self.num_ctx - max((self.num_ctx - keep) // 2, 1) for keep in (4, 5)}
        return prompt_tokens in left and self.prompt_chars > 2 * self.num_ctx


class ReplyReader:
    """Reads one reply of ``/api/generate`` or ``/api/chat``.

    Args:
        kind: which of the two.
        path: what :attr:`Chunk.path` is to say.
        asked: for the sentences of errors.
        opened: whether the prompt ends inside reasoning. If the server then reports thinking by
            itself, it has read the tag already, and the text that follows is none.
        prefill: beginning of the reply that the server does not repeat.
        guard: for servers that do not know ``truncate``.
        limit: bytes of one line.
        clock: seconds, for the time to the first token.
    """

    def __init__(
        self,
        kind: Literal["generate", "chat"],
        *,
        path: str,
        asked: Asked,
        limit: int,
        clock: Callable[[], float],
        opened: bool = False,
        prefill: str = "",
        guard: Guard | None = None,
    ) -> None:
        self._kind, self._path, self._asked = kind, path, asked
        self._opened, self._prefill, self._guard = opened, prefill, guard
        self._lines = LineSplitter(limit)
        self._clock, self._started = clock, clock()
        self._first_token: float | None = None
        self._begun = self._called = False
        self.done = False

    def feed(self, data: bytes) -> Iterator[Chunk]:
        """The chunks that ``data`` completes. What follows the last one is not read."""
        if not self.done:
            yield from self._chunks(self._lines.feed(data))

    def batch(self, data: bytes) -> tuple[list[Chunk], BackendError | None]:
        """The same as a list, with the error that comes behind these chunks, if one does."""
        chunks: list[Chunk] = []
        try:
            chunks.extend(self.feed(data))  # keeps what came before an error
        except BackendError as error:
            return chunks, error
        return chunks, None

    def close(self) -> Iterator[Chunk]:
        """The stream has ended; raises ``BackendProtocolError`` if the reply has not."""
        if not self.done:
            yield from self._chunks(self._lines.close())
        if not self.done:
            raise BackendProtocolError(
                f"the reply of {self._asked.model!r} ended before it was done: the model's runner"
                " may have crashed, run out of memory, or been stopped for repeating itself; see"
                f" the log of {self._asked.where}"
            )

    def _chunks(self, lines: Iterator[bytes]) -> Iterator[Chunk]:
        for line in lines:
            yield from self._chunk(decode_line(line, self._asked.where))
            if self.done:
                return

    def _chunk(self, record: dict[str, Any]) -> Iterator[Chunk]:
        if record.get("error"):
            raise failure(200, record, self._asked)
        message = record.get("message") if self._kind == "chat" else record
        body: Mapping[str, Any] = message if isinstance(message, Mapping) else {}
        text = _text(body.get("content" if self._kind == "chat" else "response"))
        thinking = _text(body.get("thinking"))
        calls = tuple(_calls(body.get("tool_calls")))
        self.done = record.get("done") is True
        if not (text or thinking or calls or self.done):
            return
        self._called = self._called or bool(calls)
        if self._first_token is None and (text or thinking or calls):
            self._first_token = self._clock() - self._started
        opened = self._opened and not self._begun and not thinking
        prefill, self._prefill = self._prefill, ""
        self._begun = True
        yield Chunk(
            text=text,
            thinking=thinking,
            tool_calls=calls,
            done=self.done,
            finish_reason=self._finish(record) if self.done else None,
            usage=self._usage(record) if self.done else None,
            path=self._path,
            reasoning_open=opened,
            prefill=prefill,
            num_ctx=self._asked.num_ctx if self.done else None,
        )

    def _finish(self, record: Mapping[str, Any]) -> FinishReason:
        reason = record.get("done_reason")
        if reason in ("load", "unload"):
            raise BackendProtocolError(
                f"{self._asked.where} only loaded {self._asked.model!r}: the prompt was empty"
            )
        if reason == "length":
            return "length"
        return "tool_call" if self._called else "stop"

    def _usage(self, record: Mapping[str, Any]) -> Usage:
        """Zero-valued figures are left out by the server."""
        prompt_tokens = _count(record.get("prompt_eval_count"))
        if self._guard is not None and self._guard.trips(prompt_tokens):
            raise ContextWindowError(
                f"{self._asked.where} silently cut the prompt for {self._asked.model!r}, which does"
                f" not fit the window of {self._guard.num_ctx:,} tokens, to {prompt_tokens:,}:"
                " update Ollama to 0.12.6 or later, raise num_ctx, or offer fewer tools",
                status=200,
                prompt_tokens=None,
                num_ctx=self._guard.num_ctx,
            )
        return replace(usage_of(record), first_token_seconds=self._first_token)


def usage_of(record: Mapping[str, Any]) -> Usage:
    """The figures of the last line of a reply."""
    cached = record.get("cached_tokens")
    return Usage(
        prompt_tokens=_count(record.get("prompt_eval_count")),
        cached_tokens=None if cached is None else _count(cached),
        completion_tokens=_count(record.get("eval_count")),
        seconds=_count(record.get("total_duration")) / _SECOND,
        load_seconds=_count(record.get("load_duration")) / _SECOND,
        prompt_seconds=_count(record.get("prompt_eval_duration")) / _SECOND,
    )


def _text(value: Any) -> str:
    """A text field; half a surrogate pair, which no output could carry, becomes U+FFFD."""
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", value)


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _calls(value: Any) -> Iterator[Mapping[str, Any]]:
    """The calls of one message, flat. What is malformed is kept, for validation to refuse."""
    for entry in value if isinstance(value, list) else ():
        call = entry if isinstance(entry, Mapping) else {}
        function = call.get("function")
        inner: Mapping[str, Any] = function if isinstance(function, Mapping) else call
        read = {"name": inner.get("name") or "", "arguments": inner.get("arguments")}
        yield {"id": call["id"], **read} if call.get("id") else read
