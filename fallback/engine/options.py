"""The ``options`` of a request: Ollama's names, defaults and errors, in llama.cpp's terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fallback.engine.reply import WireError

DEFAULT_NUM_CTX = 4096
"""Ollama's own window on a machine without a large GPU, in tokens."""

MIN_NUM_CTX = 4
_MAX_WINDOWS = 10

# Options that have the same meaning in llama.cpp: its name, and Ollama's default.
_SAMPLING: Mapping[str, tuple[str, float]] = {
    "temperature": ("temperature", 0.8),
    "top_k": ("top_k", 40),
    "top_p": ("top_p", 0.9),
    "min_p": ("min_p", 0.0),
    "typical_p": ("typical_p", 1.0),
    "repeat_last_n": ("repeat_last_n", 64),
    "repeat_penalty": ("repeat_penalty", 1.0),
    "presence_penalty": ("presence_penalty", 0.0),
    "frequency_penalty": ("frequency_penalty", 0.0),
    "seed": ("seed", -1),
}
_INTEGERS = frozenset({
    "num_ctx", "num_predict", "num_keep", "num_batch", "num_gpu", "main_gpu", "num_thread",
    "draft_num_predict", "seed", "top_k", "repeat_last_n",
})  # fmt: skip
_FLOATS = frozenset(_SAMPLING) - _INTEGERS
_BOOLEANS = frozenset({"use_mmap"})
_INT_LIMIT = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """A request's options.

    Attributes:
        num_ctx: window in tokens, ``None`` if the request does not say.
        num_predict: tokens to generate, negative for "until the end", 0 as Ollama treats it.
        num_keep: tokens at the front that survive when the window is full.
        stop: the stop strings, ``None`` if the request has none.
        sampling: what llama.cpp is told about sampling, in its own names.
    """

    num_ctx: int | None
    num_predict: int
    num_keep: int
    stop: tuple[str, ...] | None
    sampling: Mapping[str, float]

    def window(self, trained: int) -> int:
        """The window to load, in tokens; never beyond what was ``trained`` (0: unknown)."""
        wanted = DEFAULT_NUM_CTX if self.num_ctx is None else self.num_ctx
        return max(MIN_NUM_CTX, min(wanted, trained) if trained else wanted)

    def limit(self, window: int) -> int:
        """Tokens that one generation may write; Ollama never lets it write more than ten windows.

        A ``num_predict`` of 0 is not sent on by Ollama, and so means "until the end".
        """
        most = _MAX_WINDOWS * window
        return most if self.num_predict <= 0 else min(self.num_predict, most)


def read_options(value: Any) -> Options:
    """Check ``options``; raises :class:`WireError` 500 for a wrong type, as Ollama does.

    Unknown names are ignored, as they are there. The load-time options other than ``num_ctx`` are
    accepted and have no effect: the engine chooses threads and batches for the machine.
    """
    given: Mapping[str, Any] = value or {}
    clean: dict[str, Any] = {}
    for name, entry in given.items():
        if entry is not None:
            clean[name] = _typed(name, entry)
    sampling = {theirs: clean.get(ours, default) for ours, (theirs, default) in _SAMPLING.items()}
    return Options(
        num_ctx=clean.get("num_ctx"),
        num_predict=clean.get("num_predict", -1),
        num_keep=clean.get("num_keep", 4),
        stop=clean.get("stop"),
        sampling=sampling,
    )


def _typed(name: str, value: Any) -> Any:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if name in _INTEGERS:
        if not number:
            raise _wrong(name, "integer")
        return max(-_INT_LIMIT, min(int(value), _INT_LIMIT))
    if name in _FLOATS:
        if not number:
            raise _wrong(name, "float32")
        return float(value)
    if name in _BOOLEANS and not isinstance(value, bool):
        raise _wrong(name, "boolean")
    if name == "stop":
        if not isinstance(value, list):
            raise _wrong(name, "array")
        if not all(isinstance(entry, str) for entry in value):
            raise WireError(500, f'option "{name}" must be of an array of strings')
        return tuple(entry for entry in value if entry)
    return value


def _wrong(name: str, kind: str) -> WireError:
    return WireError(500, f'option "{name}" must be of type {kind}')
