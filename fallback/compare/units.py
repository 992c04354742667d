"""The unit of work: one case, asked one way, of one model, once; and the record that comes of it.

:func:`run_unit` depends on its arguments alone and changes nothing but the record it returns: no
file, no clock that decides, nothing remembered between two units. A unit is plain frozen data that
can be sent to another process, and a record is plain JSON. So whoever wants to run units elsewhere,
in a pool of processes or on a cluster, sends the units, makes the backend there
(``connect(host, endpoint=unit.way.endpoint)``), and puts the records that come back into the same
:class:`~fallback.compare.store.Store`; and whoever searches for the best way (successive halving,
say) asks for a few units, looks at their records, and asks for more of the ways that are left.

:func:`key_of` is the hash of everything that the record depends on. Two units of one key have the
same record at temperature 0, so a record whose key is known need not be made again.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from fallback.backend import Backend, Chunk, GenerationRequest, ModelInfo
from fallback.compare.cases import Case
from fallback.compare.store import RECORD_VERSION
from fallback.errors import (
    BackendConnectionError,
    BackendError,
    BackendStatusError,
    BackendTimeoutError,
    CapabilityError,
    ContextWindowError,
    ModelNotFoundError,
)
from fallback.messages import Message, Step, Turn, Usage
from fallback.resources import data_dir
from fallback.session.through import Through
from fallback.ways import Way

__all__ = ["Sampling", "Unit", "key_of", "run_unit"]

Record = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """What is asked of the sampler. ``num_predict`` is in tokens, for one reply."""

    temperature: float = 0.0
    seed: int = 0
    num_predict: int = 1024
    num_ctx: int | None = None
    think: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One case, one way, one model, for the ``repeat``-th time (from 0)."""

    model: str
    way: Way
    case: Case
    repeat: int = 0
    sampling: Sampling = Sampling()

    @property
    def options(self) -> dict[str, Any]:
        """The sampler's options. Each repeat has a seed of its own."""
        given = self.sampling
        return {
            "temperature": given.temperature,
            "seed": given.seed + self.repeat,
            "num_predict": given.num_predict,
        }

    @property
    def num_ctx(self) -> int | None:
        """The window: as asked for, but never smaller than the case needs."""
        return max((n for n in (self.sampling.num_ctx, self.case.num_ctx) if n), default=None)


def key_of(unit: Unit, info: ModelInfo) -> str:
    """The hash of everything that decides the record, as 32 hexadecimal digits.

    That is: the model's name and digest, the server's template and our own, the way, the case with
    its tools and its first prompt, the options, the limits, and the version of this package.
    """
    held = {
        "record": RECORD_VERSION,
        "version": _version(),
        "model": [unit.model, info.digest, info.family, _hash(info.template)],
        "way": unit.way.name,
        "templates": _templates(unit.way.dialect, info.family or ""),
        "case": unit.case.digest,
        "prompt": _prompt_hash(unit.case, unit.way),
        "options": [unit.options, unit.num_ctx, unit.sampling.think],
        "limits": repr(unit.way.limits),
        "repeat": unit.repeat,
    }
    if unit.way.decide is not None:
        held["decide"] = repr(unit.way.decide)
    return _hash(json.dumps(held, sort_keys=True))[:32]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@cache
def _templates(dialect: str, family: str) -> str:
    """Hash of the templates that a way uses. They do not change while a process runs."""
    folder = data_dir("templates")
    files = sorted((folder / (dialect or "native")).glob("*.j2"))
    files += [folder / "chat" / f"{family}.jinja"] if dialect and family else []
    return _hash("\0".join(file.read_text("utf-8") for file in files if file.is_file()))


@cache
def _prompt_hash(case: Case, way: Way) -> str:
    """Hash of what the model is asked first; the same for every model and repeat."""
    from fallback.rendering import prompt_messages

    asked: tuple[Message, ...] = (Message(role="user", content=case.question),)
    if way.prompted:
        asked = prompt_messages(asked, case.catalogue(), way.record, instructions=case.instructions)
    return _hash(json.dumps([[message.role, message.content] for message in asked]))


@cache
def _version() -> str:
    """The package's version. Looking it up reads a file."""
    from fallback import __version__

    return str(__version__)


class _Tap(Through):
    """A backend that passes everything on and remembers what was asked first."""

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        self.first: GenerationRequest | None = None

    def stream(self, request: GenerationRequest) -> Generator[Chunk]:
        self.first = self.first or request
        return super().stream(request)

    def close(self) -> None:
        """The backend is not ours."""


def run_unit(unit: Unit, backend: Backend, info: ModelInfo) -> Record:
    """Run one unit.

    Args:
        unit: what to run.
        backend: where; its endpoint is that of ``unit.way``.
        info: what the server says about the model.

    Returns:
        The record, as :mod:`fallback.compare.store` keeps it. A prompt that does not fit, or a
        reply that the server itself could not make sense of, is a record too: of a failure.

    Raises:
        BackendError: the server is gone, too slow, or does not have the model, or the model cannot
            be asked this way. Nothing about the way can be learnt from that.
    """
    from fallback.session import Session

    tap = _Tap(backend)
    session = Session(
        unit.model,
        unit.case.catalogue(),
        backend=tap,
        instructions=unit.case.instructions,
        options=unit.options,
        num_ctx=unit.num_ctx,
        think=unit.sampling.think,
        **unit.way.settings(),
    )
    error: BackendError | None = None
    try:
        turn = session.run(unit.case.question)
    except BackendError as failure:
        if not _tells_about_the_way(failure, unit.way):
            raise
        backend.describe(unit.model)  # raises if it is the server that has gone
        error = failure
        turn = session.turn or Turn(answer="", stop_reason="failed")
    return _record(unit, info, turn, tap.first, error)


def _tells_about_the_way(error: BackendError, way: Way) -> bool:
    """Whether the same would happen again, because of the prompt or the reply.

    A server that reads its model's calls itself fails when it cannot, with status 500 or, once the
    reply has begun, with an error in its stream. It fails in the same two ways when the runner of
    the model has died, which is the machine's trouble.
    """
    from fallback.ollama.failures import is_of_the_runner

    if isinstance(error, BackendConnectionError | BackendTimeoutError | ModelNotFoundError):
        return False
    if isinstance(error, ContextWindowError):
        return True
    if isinstance(error, CapabilityError) or is_of_the_runner(error):
        return False
    if isinstance(error, BackendStatusError):
        return error.status == 500 and way.mode == "native"
    # What the server says in words has no cause; what the connection did has one.
    return way.mode == "native" and error.__cause__ is None


def _record(
    unit: Unit,
    info: ModelInfo,
    turn: Turn,
    first: GenerationRequest | None,
    error: BackendError | None,
) -> Record:
    return {
        "v": RECORD_VERSION,
        "key": key_of(unit, info),
        "model": unit.model,
        "digest": info.digest,
        "way": unit.way.name,
        "suite": unit.case.suite,
        "case": unit.case.id,
        "case_digest": unit.case.digest,
        "kind": unit.case.kind,
        "repeat": unit.repeat,
        "version": _version(),
        "at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "options": unit.options | {"num_ctx": unit.num_ctx},
        "prompt": [[m.role, m.content] for m in first.messages] if first else [],
        "answer": turn.answer,
        "stop": turn.stop_reason,
        "detail": turn.detail,
        "error": None if error is None else {"kind": type(error).__name__, "message": str(error)},
        "steps": [_step(step) for step in turn.steps],
    }


def _step(step: Step) -> Record:
    reading = step.reading
    results = {result.call_id: result for result in step.results}
    return {
        "mode": step.mode,
        "path": step.path,
        "source": step.source,
        "raw": step.raw,
        "reasoning": reading.reasoning,
        "finish": reading.finish_reason,
        "segments": [[s.kind, s.start, s.end, s.note] for s in reading.segments],
        "calls": [
            {
                "name": call.name,
                "arguments": call.arguments,
                "dialect": call.dialect,
                "repairs": list(call.repairs),
                "status": results[call.id].status if call.id in results else "denied",
                "copy": call.id in results and results[call.id].copy_of is not None,
                "result": results[call.id].content if call.id in results else "",
            }
            for call in reading.calls
        ],
        "problems": [{"kind": p.kind, "message": p.message} for p in reading.problems],
        "suppressed": [s.reason for s in reading.suppressed],
        "notes": list(step.notes),
        "usage": _usage(step.usage),
    }


def _usage(usage: Usage) -> Mapping[str, Any]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "cached_tokens": usage.cached_tokens,
        "completion_tokens": usage.completion_tokens,
        "seconds": round(usage.seconds, 4),
        "load_seconds": round(usage.load_seconds, 4),
        "first_token_seconds": (
            None if usage.first_token_seconds is None else round(usage.first_token_seconds, 4)
        ),
    }
