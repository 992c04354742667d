"""``fallback fuzz``: hold the laws against our parser or any other, and show what breaks one."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fallback.cli.exits import ExitCode
from fallback.cli.output import console, visible, write_json
from fallback.errors import ConfigurationError

if TYPE_CHECKING:
    from rich.console import Console

    from fallback.testing.fuzzing import Fault, Outcome


def fuzz(
    *,
    target: str | None,
    seconds: float,
    seed: int | None,
    dialects: Sequence[str],
    laws: Sequence[str],
    as_json: bool,
) -> ExitCode:
    """Fuzz for some seconds; the exit code says whether a law was broken.

    Args:
        target: ``package.module:function``, or ``None`` for our own parser.
        seconds: no round is begun after that long.
        seed: of the first round; one that nobody knows by default, which is shown.
        dialects: in which calls are written; all by default.
        laws: names of laws; by default all that make sense for the target.
        as_json: one JSON object instead of text.

    Raises:
        ConfigurationError: Hypothesis is not installed, or one of these does not exist.
    """
    _need_hypothesis()
    import secrets

    from fallback.testing import fuzzing, targets
    from fallback.testing.laws import ours

    subject = ours if target is None else targets.load(target)
    first = secrets.randbelow(2**31) if seed is None else seed
    outcome = fuzzing.fuzz(subject, laws=laws, dialects=dialects, seed=first, seconds=seconds)
    again = _again(target, dialects, outcome.fault) if outcome.fault else ""
    if as_json:
        write_json(_record(outcome, target, first, again))
    elif outcome.fault is None:
        _show_nothing(outcome, first, console())
    else:
        _show(outcome.fault, again, console())
    return ExitCode.OK if outcome.fault is None else ExitCode.NOT_ANSWERED


def _need_hypothesis() -> None:
    from importlib.util import find_spec

    if find_spec("hypothesis") is None:
        raise ConfigurationError(
            "fuzzing needs Hypothesis: pip install 'toolcall-fallback[testing]'"
        )


def _again(target: str | None, dialects: Sequence[str], fault: Fault) -> str:
    """The command that finds the same fault in its first round."""
    words = ["fallback", "fuzz", *(["--target", target] if target else [])]
    for dialect in dialects:
        words += ["--dialect", dialect]
    words += ["--law", fault.found_by, "--seed", str(fault.seed)]
    return shlex.join(words)


def _record(outcome: Outcome, target: str | None, seed: int, again: str) -> dict[str, Any]:
    record: dict[str, Any] = {
        "target": target or "fallback.parse",
        "laws": outcome.laws,
        "seed": seed,
        "rounds": outcome.rounds,
        "examples": outcome.examples,
        "fault": None,
    }
    fault = outcome.fault
    if fault is not None:
        sample = fault.sample
        record["fault"] = {
            "law": fault.law,
            "sentence": _sentence(fault),
            "detail": fault.detail,
            "reply": sample.text,
            "tools": sample.tools,
            "finish_reason": sample.finish_reason,
            "dialect": sample.dialect or None,
            "chunks": sample.chunks() if sample.places else None,
            "again": again,
        }
    return record


def _sentence(fault: Fault) -> str:
    from fallback.testing.laws import LAWS

    return LAWS[fault.law].sentence


def _show_nothing(outcome: Outcome, seed: int, out: Console) -> None:
    laws = "law" if len(outcome.laws) == 1 else "laws"
    out.print(f"no law broken: {len(outcome.laws)} {laws}, {outcome.examples} replies, seed {seed}")


def _show(fault: Fault, again: str, out: Console) -> None:
    import json

    sample = fault.sample
    lines = [
        ("broken", f"{fault.law}: {_sentence(fault)}"),
        ("because", fault.detail),
        *([("dialect", sample.dialect)] if sample.dialect else []),
        ("tools", json.dumps(sample.tools, ensure_ascii=False)),
        ("ended by", sample.finish_reason),
        ("reply", visible(sample.text)),
        ("as Python", ascii(sample.text)),
        ("again", again),
    ]
    for label, text in lines:
        out.print(f"{label:<10}{visible(text)}".replace("\n", "\n" + " " * 10))
