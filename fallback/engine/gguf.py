"""Reads the header of a GGUF file: metadata and the list of tensors, never the weights.

Source of the format: ggml, ``docs/gguf.md`` (versions 2 and 3, little-endian). The file is
untrusted, so every length is checked against the file before it is used.
"""

from __future__ import annotations

import contextlib
import mmap
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

from fallback.errors import EngineError

_MAGIC = b"GGUF"
_STRING, _ARRAY = 8, 9
_SCALARS = dict(enumerate(("<B", "<b", "<H", "<h", "<I", "<i", "<f", "<?"))) | {
    10: "<Q",
    11: "<q",
    12: "<d",
}
_MAX_ENTRIES = 100_000
_MAX_DIMENSIONS = 8


def _numbered(names: str) -> Mapping[int, str]:
    return {number: name for number, name in enumerate(names.split()) if name != "-"}


# `general.file_type` and the types of tensors, by number; "-" is a number that is no longer used.
# Source: llama.cpp, `llama_ftype` in include/llama.h and `ggml_type` in ggml/include/ggml.h.
FILE_TYPES = _numbered(
    "F32 F16 Q4_0 Q4_1 - - - Q8_0 Q5_0 Q5_1 Q2_K Q3_K_S Q3_K_M Q3_K_L Q4_K_S Q4_K_M Q5_K_S Q5_K_M"
    " Q6_K IQ2_XXS IQ2_XS Q2_K_S IQ3_XS IQ3_XXS IQ1_S IQ4_NL IQ3_S IQ3_M IQ2_S IQ2_M IQ4_XS IQ1_M"
    " BF16 - - - TQ1_0 TQ2_0 MXFP4"
)
TENSOR_TYPES = _numbered(
    "F32 F16 Q4_0 Q4_1 - - Q5_0 Q5_1 Q8_0 Q8_1 Q2_K Q3_K Q4_K Q5_K Q6_K Q8_K IQ2_XXS IQ2_XS IQ3_XXS"
    " IQ1_S IQ4_NL IQ3_S IQ2_S IQ4_XS I8 I16 I32 I64 F64 IQ1_M BF16 - - - TQ1_0 TQ2_0 - - - MXFP4"
)


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor: its ``shape`` in GGUF's order, fastest dimension first."""

    name: str
    type: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Gguf:
    """A file's header; of arrays only the length, see :meth:`read_arrays` for their values."""

    metadata: Mapping[str, Any]
    arrays: Mapping[str, int]
    tensors: tuple[Tensor, ...]

    @property
    def architecture(self) -> str:
        """Such as ``qwen2``; empty if the file does not say."""
        return str(self.metadata.get("general.architecture", ""))

    @property
    def template(self) -> str:
        """The model's own Jinja chat template; empty if it has none."""
        return str(self.metadata.get("tokenizer.chat_template", ""))

    @property
    def parameters(self) -> int:
        """Number of weights."""
        return sum(prod(tensor.shape) for tensor in self.tensors)

    @property
    def context_length(self) -> int:
        """Trained maximum of the window, in tokens; 0 if the file does not say."""
        value = self.metadata.get(f"{self.architecture}.context_length", 0)
        return value if isinstance(value, int) else 0

    def read_arrays(self, path: Path) -> dict[str, list[Any]]:
        """The arrays themselves, such as the tokeniser's words, from the file at ``path``."""
        found: dict[str, list[Any]] = {}
        with _opened(path) as data:
            _Reader(data, found).header()
        return found

    @property
    def quantization(self) -> str:
        """Such as ``Q4_K_M``; ``unknown`` for a number that has no name here."""
        return FILE_TYPES.get(self.metadata.get("general.file_type", -1), "unknown")


def read_gguf(path: Path) -> Gguf:
    """Read the header of ``path``; raises :class:`EngineError` if it is not a whole GGUF header."""
    try:
        status = path.stat()
    except OSError as error:
        raise EngineError(f"cannot read {path}: {error.strerror}") from error
    return _read(path, status.st_size, status.st_mtime_ns)


@cache
def _read(path: Path, size: int, modified: int) -> Gguf:
    """Cached by what changes with the file; its word lists take tens of milliseconds."""
    del size, modified
    with _opened(path) as data:
        return _Reader(data).header()


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[mmap.mmap]:
    try:
        with (
            path.open("rb") as handle,
            mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            yield data
    except (OSError, ValueError, OverflowError, struct.error) as error:
        raise EngineError(f"{path.name} is not a readable GGUF file: {error}") from error


class _Reader:
    """Walks through a header; keeps the arrays only if it is given somewhere to put them."""

    def __init__(self, data: mmap.mmap, keep: dict[str, list[Any]] | None = None) -> None:
        self._data, self._position, self._keep = data, 0, keep

    def header(self) -> Gguf:
        if self._take(4) != _MAGIC:
            raise ValueError("wrong magic number")
        version = self._scalar("<I")
        if version not in (2, 3):
            raise ValueError(f"version {version} is not supported")
        tensors, entries = self._scalar("<Q"), self._scalar("<Q")
        if max(tensors, entries) > _MAX_ENTRIES:
            raise ValueError("too many entries")
        metadata: dict[str, Any] = {}
        arrays: dict[str, int] = {}
        for _ in range(entries):
            key, kind = self._string(), self._scalar("<I")
            if kind == _ARRAY:
                arrays[key] = self._array(key)
            else:
                metadata[key] = self._value(kind)
        return Gguf(metadata, arrays, tuple(self._tensor() for _ in range(tensors)))

    def _tensor(self) -> Tensor:
        name, dimensions = self._string(), self._scalar("<I")
        if dimensions > _MAX_DIMENSIONS:
            raise ValueError("a tensor has too many dimensions")
        shape = tuple(self._scalar("<Q") for _ in range(dimensions))
        kind = self._scalar("<I")
        self._scalar("<Q")  # offset of the weights
        return Tensor(name, TENSOR_TYPES.get(kind, str(kind)), shape)

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._string()
        if kind not in _SCALARS:
            raise ValueError(f"unknown type {kind}")
        return self._scalar(_SCALARS[kind])

    def _array(self, key: str) -> int:
        kind, length = self._scalar("<I"), self._scalar("<Q")
        if self._keep is not None and kind != _ARRAY:
            self._keep[key] = [self._value(kind) for _ in range(length)]
        elif kind in _SCALARS:
            self._skip(struct.calcsize(_SCALARS[kind]) * length)
        elif kind == _STRING:
            self._skip_strings(length)
        else:
            raise ValueError("arrays of arrays are not supported")
        return int(length)

    def _skip_strings(self, count: int) -> None:
        read: Callable[..., tuple[int]] = struct.Struct("<Q").unpack_from
        position, data = self._position, self._data
        for _ in range(count):
            position += 8 + read(data, position)[0]
        self._position = position
        self._skip(0)

    def _scalar(self, form: str) -> Any:
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _string(self) -> str:
        return self._take(self._scalar("<Q")).decode("utf-8", "replace")

    def _take(self, count: int) -> bytes:
        start = self._position
        self._skip(count)
        return self._data[start : self._position]

    def _skip(self, count: int) -> None:
        self._position += count
        if self._position > len(self._data):
            raise ValueError("it ends in the middle of its header")
