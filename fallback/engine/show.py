"""What a model is: ``/api/show``, ``/api/tags``, ``/api/ps``, and the rule for its capabilities."""

from __future__ import annotations

import functools
import hashlib
import math
from pathlib import Path
from typing import Any, Literal

from fallback.engine.gguf import Gguf, read_gguf
from fallback.engine.reply import timestamp
from fallback.engine.runtime import Loaded
from fallback.engine.store import StoredModel

Capability = Literal["completion", "tools", "thinking", "embedding"]

NO_TEMPLATE = "{{ .Prompt }}"
"""What Ollama shows for a model without a template."""

_DELETED = frozenset({"tokenizer.chat_template", "general.name"})
_NANOSECONDS = 1_000_000_000
_FOREVER = 4_102_444_800  # the year 2100: RFC 3339 knows no infinity


def capabilities(header: Gguf) -> tuple[Capability, ...]:
    """What the model claims, by Ollama's rule: substrings of its template, and no test of ability.

    Source: Ollama's API, ``/api/show``: ``tools`` or ``tool_call`` in the Jinja template means
    *tools*, ``<think>`` and ``</think>`` mean *thinking*, a pooling type means *embedding* in place
    of *completion*.
    """
    template = header.template
    pooled = f"{header.architecture}.pooling_type" in header.metadata
    found: list[Capability] = ["embedding" if pooled else "completion"]
    if "tools" in template or "tool_call" in template:
        found.append("tools")
    if "<think>" in template and "</think>" in template:
        found.append("thinking")
    return tuple(found)


def details(header: Gguf) -> dict[str, Any]:
    """The ``details`` of every listing."""
    family = header.architecture
    return {
        "parent_model": "",
        "format": "gguf",
        "family": family,
        "families": [family],
        "parameter_size": human_number(header.parameters),
        "quantization_level": header.quantization,
    }


def show(model: StoredModel, *, verbose: bool) -> dict[str, Any]:
    """The reply to ``/api/show``; empty fields are left out, ``model_info`` never is."""
    header = read_gguf(model.path)
    info: dict[str, Any] = {
        key: value for key, value in header.metadata.items() if key not in _DELETED
    }
    info["general.parameter_count"] = header.parameters
    arrays = header.read_arrays(model.path) if verbose else dict.fromkeys(header.arrays)
    info |= arrays
    reply = {
        "license": model.licence or str(header.metadata.get("general.license", "")),
        "modelfile": f"# made by the embedded engine of fallback\nFROM {model.path}\n",
        "template": header.template or NO_TEMPLATE,
        "details": details(header),
        "model_info": dict(sorted(info.items())),
        "tensors": [
            {"name": tensor.name, "type": tensor.type, "shape": list(tensor.shape)}
            for tensor in header.tensors
        ],
        "capabilities": list(capabilities(header)),
        "modified_at": timestamp(round(model.modified * _NANOSECONDS)),
    }
    return {name: value for name, value in reply.items() if value or name == "model_info"}


def listed(model: StoredModel) -> dict[str, Any]:
    """One entry of ``/api/tags``."""
    header = read_gguf(model.path)
    extra = {
        "context_length": header.context_length,
        "embedding_length": header.metadata.get(f"{header.architecture}.embedding_length", 0),
    }
    return {
        "name": model.name,
        "model": model.name,
        "modified_at": timestamp(round(model.modified * _NANOSECONDS)),
        "size": model.size,
        "digest": digest(model),
        "details": {**details(header), **{key: value for key, value in extra.items() if value}},
        "capabilities": list(capabilities(header)),
    }


def running(loaded: Loaded) -> dict[str, Any]:
    """One entry of ``/api/ps``."""
    expires = _FOREVER if math.isinf(loaded.expires) else loaded.expires
    return {
        "name": loaded.model.name,
        "model": loaded.model.name,
        "size": loaded.model.size,
        "digest": digest(loaded.model),
        "details": details(read_gguf(loaded.model.path)),
        "expires_at": timestamp(round(expires * _NANOSECONDS)),
        "size_vram": 0,
        "context_length": loaded.num_ctx,
    }


def digest(model: StoredModel) -> str:
    """SHA-256 of the model's file, in hex; a local file is hashed when somebody first asks."""
    return model.sha256 or _hash_file(model.path, model.size, model.modified)


@functools.cache
def _hash_file(path: Path, size: int, modified: float) -> str:
    del size, modified  # part of the key: a changed file is hashed again
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def human_number(count: int) -> str:
    """A count of parameters as Ollama abbreviates it: ``494.03M``, ``1.5B``."""
    for unit, letter, digits in ((1e9, "B", 1), (1e6, "M", 2), (1e3, "K", 0)):
        if count >= unit:
            number = count / unit
            return f"{number:.{0 if number.is_integer() else digits}f}{letter}"
    return str(count)
