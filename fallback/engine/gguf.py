"""Reads the header of a GGUF file: metadata and the list of tensors, never the weights.

Source of the format: ggml, ``docs/gguf.md`` (versions 2 and 3, little-endian). The file is untrusted, so
every length is checked against the file before it is used.
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
_SCALARS = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d",
}  # fmt: skip
_MAX_ENTRIES = 100_000
_MAX_DIMENSIONS = 8

# `general.file_type` and the types of tensors, by number; source: ggml, docs/gguf.md, and llama.h.
FILE_TYPES: Mapping[int, str] = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S",
    12: "Q3_K_M", 13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K",
    19: "IQ2_XXS", 20: "IQ2_XS", 21: "Q2_K_S", 22: "IQ3_XS", 23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL",
    26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S", 29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16",
    36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4",
}  # fmt: skip
TENSOR_TYPES: Mapping[int, str] = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 6: "Q5_0", 7: "Q5_1", 8: "Q8_0", 9: "Q8_1", 10: "Q2_K",
    11: "Q3_K", 12: "Q4_K", 13: "Q5_K", 14: "Q6_K", 15: "Q8_K", 16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS",
    19: "IQ1_S", 20: "IQ4_NL", 21: "IQ3_S", 22: "IQ2_S", 23: "IQ4_XS", 24: "I8", 25: "I16", 26: "I32",
    27: "I64", 28: "F64", 29: "IQ1_M", 30: "BF16", 34: "TQ1_0", 35: "TQ2_0", 39: "MXFP4",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor: its ``shape`` in GGUF's order, fastest dimension first."""

    name: str
    type: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Gguf:
    """A file's header. Arrays stand in ``metadata`` as their length only, see :func:`read_arrays`."""

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
        """The arrays themselves, such as the tokeniser's words; ``path`` is where this header is from."""
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
    """Cached by what changes when the file does; a header takes some 100 ms for its word lists."""
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
