"""How probable each of a few replies is, over a wire that tells the likeliest next tokens. No I/O.

The reply is begun, and the server is asked for one token and its alternatives. Each alternative
belongs to the values that it can be the beginning of; where that is only one, its probability is
that value's, for nothing else can follow. Where it is several, what they have in common is written
too, and the server is asked again. Values whose names begin differently cost one request in all.

Where something else may begin like a value, it is followed token by token.

Source: Ollama's API, ``logprobs`` and ``top_logprobs`` (since 0.12.11).
"""

from __future__ import annotations

import math
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, NamedTuple

from fallback.errors import CapabilityError
from fallback.ollama.exchange import Exchange
from fallback.ollama.plan import GenerationPlan

__all__ = ["Walked", "follow", "forced", "log_probabilities", "next_token", "walk"]

_TOP = 20
"""Alternatives asked for: the most that Ollama gives."""

_MOST_REQUESTS = 12
"""Places asked about in one walk, the most probable first."""

_MOST_TOKENS = 12
"""Tokens of a value that are asked about, where it is followed: what comes behind them counts for
nothing."""

_NEGLIGIBLE = 9.0
"""A way of beginning that is less probable than the likeliest by this (e**-9) is left out."""

_LAST_PIECE = re.compile(r"(?:[^\s\w\"'({\[]|_)?[^\W_]*\Z")
"""The piece of a name that may go on in the same token, with what it is separated by."""

Answer = Mapping[str, Any]


def next_token(plan: GenerationPlan, written: str) -> Exchange:
    """Ask for one token behind the prompt and what has been written, and for what it might be."""
    body = _told_whole(plan)
    body |= {"prompt": body["prompt"] + written, "top_logprobs": _TOP}
    body["options"] = {**body["options"], "temperature": 0.0, "num_predict": 1}
    return Exchange(plan.exchange.method, plan.exchange.path, body)


def forced(plan: GenerationPlan, text: str) -> Exchange:
    """Have the embedded engine write ``text``; others do not know the field."""
    body = _told_whole(plan) | {"_forced_reply": text}
    return Exchange(plan.exchange.method, plan.exchange.path, body)


def log_probabilities(answer: Answer, text: str, *, where: str) -> tuple[float, ...]:
    """The log-probabilities of the tokens of ``text``, of the answer to what :func:`forced` made.

    Raises:
        CapabilityError: the server has written something else, or tells no log-probabilities.
    """
    entries = answer.get("logprobs")
    tokens = list(_tokens(entries if isinstance(entries, list) else []))
    if answer.get("response") != text or b"".join(token for token, _ in tokens) != text.encode():
        raise CapabilityError(
            f"{where} cannot be made to write a given reply, which is how its probability is found"
            " out: use the embedded engine (--host embedded)",
            status=400,
            missing="logprobs",
        )
    return tuple(logprob for _, logprob in tokens)


def _told_whole(plan: GenerationPlan) -> dict[str, Any]:
    return {**(plan.exchange.body or {}), "stream": False, "logprobs": True}


class Walked(NamedTuple):
    """The natural logarithms, and which of them, by index, are but the most that they can be."""

    logprobs: tuple[float, ...]
    unseen: frozenset[int]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where several values have the same beginning, and how probable it is to get there."""

    written: bytes
    logprob: float
    values: tuple[bytes, ...]


def walk(values: Sequence[str], *, where: str) -> Generator[str, Answer, Walked]:
    """Find out how probable each value is, as what the reply goes on with.

    Yields what has been written of it, takes the answer to :func:`next_token`, and returns what
    was found out, in the order of the values. A value that is not among the likeliest anywhere has
    the logarithm of the least of those, which is the most that it can have.

    Args:
        values: none of them the beginning of another.
        where: the server, for people to read.

    Raises:
        CapabilityError: the server tells no log-probabilities.
    """
    ends = tuple(value.encode() for value in values)
    found: dict[bytes, list[float]] = {end: [] for end in ends}
    bounds: dict[bytes, float] = {}
    places = [_Place(b"", 0.0, ends)]
    for _ in range(_MOST_REQUESTS):
        if not places:
            break
        place = places.pop(places.index(max(places, key=lambda place: place.logprob)))
        answer = yield place.written.decode()
        tokens = _likeliest(answer, where)
        least = place.logprob + min(tokens.values())
        bounds |= {end: max(least, bounds.get(end, least)) for end in place.values}
        for token, logprob in tokens.items():
            fits = tuple(e for e in place.values if _fits(token, e[len(place.written) :]))
            total = place.logprob + logprob
            if len(fits) == 1:
                found[fits[0]].append(total)
            elif fits and logprob > max(tokens.values()) - _NEGLIGIBLE:
                places.append(_Place(_further(place.written + token, fits), total, fits))
    for place in places:
        for end in place.values:
            found[end].append(place.logprob)
    return Walked(
        tuple(_sum(found[end]) if found[end] else bounds[end] for end in ends),
        frozenset(index for index, end in enumerate(ends) if not found[end]),
    )


def follow(values: Sequence[str], *, where: str) -> Generator[str, Answer, Walked]:
    """Find out how probable each value is as a whole, where others may have the same beginning.

    The same as :func:`walk` otherwise. Each token that can be the next piece of the value counts,
    and it is gone on behind the likeliest of them.
    """
    found, unseen = [], set()
    for index, value in enumerate(values):
        end, written, total = value.encode(errors="replace"), b"", 0.0
        for _ in range(_MOST_TOKENS):
            tokens = _likeliest((yield written.decode()), where)
            fits = {t: p for t, p in tokens.items() if _fits(t, end[len(written) :])}
            if not fits:
                total += min(tokens.values())
                unseen.add(index)
                break
            total += _sum(list(fits.values()))
            written = _up_to_a_character(end, len(written) + len(max(fits, key=fits.__getitem__)))
            if len(written) == len(end):
                break
        found.append(min(total, 0.0))
    return Walked(tuple(found), frozenset(unseen))


def _up_to_a_character(text: bytes, size: int) -> bytes:
    """The first bytes of a text, that many or as few more as end a character."""
    while 0 < size < len(text) and text[size] & 0xC0 == 0x80:
        size += 1
    return text[:size]


def _fits(token: bytes, rest: bytes) -> bool:
    """Whether a token can stand at the beginning of what is left of a value, or completes it."""
    return rest.startswith(token) or token.startswith(rest)


def _further(written: bytes, ends: tuple[bytes, ...]) -> bytes:
    """What values have in common, up to where a token may well end.

    What follows is only as probable as the model finds it where its own tokens end: behind
    ``get_`` it does not look for ``weather``, if it knows that as ``_weather``. So it goes as far
    as the last whole piece of a name, but not less far than what the model itself would write.
    """
    same = takewhile(lambda column: len(set(column)) == 1, zip(*ends, strict=False))
    common = bytes(column[0] for column in same).decode("utf-8", "ignore")
    whole = _LAST_PIECE.sub("", common).encode()
    return max(whole, written.decode("utf-8", "ignore").encode(), key=len)


def _sum(logprobs: Sequence[float]) -> float:
    top = max(logprobs)
    return top + math.log(sum(math.exp(p - top) for p in logprobs))


def _likeliest(answer: Answer, where: str) -> dict[bytes, float]:
    """The likeliest tokens and their log-probabilities."""
    entries = answer.get("logprobs")
    first = entries[0] if isinstance(entries, list) and entries else None
    if isinstance(first, Mapping):
        told = first.get("top_logprobs")
        tokens = dict(_tokens([*told, first] if isinstance(told, list) else [first]))
        if tokens:
            return tokens
    raise CapabilityError(
        f"{where} tells no log-probabilities of this model, which deciding between tools needs:"
        " update Ollama to 0.12.11 or later, or go another way",
        status=400,
        missing="logprobs",
    )


def _tokens(entries: Sequence[Any]) -> Iterator[tuple[bytes, float]]:
    """Tokens are cut where bytes are cut, so the bytes of one go before its text."""
    for entry in entries:
        given: Mapping[str, Any] = entry if isinstance(entry, Mapping) else {}
        logprob, raw = given.get("logprob"), given.get("bytes")
        whole = isinstance(raw, list) and all(isinstance(n, int) and 0 <= n < 256 for n in raw)
        token = bytes(raw or ()) if whole else str(given.get("token") or "").encode()
        if token and isinstance(logprob, int | float) and not math.isnan(logprob):
            yield token, min(0.0, float(logprob))
