"""Tools that a model cannot tell apart, by their names or by their descriptions."""

from __future__ import annotations

from collections.abc import Iterator

from fallback.catalogue import fold
from fallback.lint.places import DESCRIPTION, NAME
from fallback.lint.record import Found, Rule, Severity, Subject
from fallback.lint.words import phrase, sentence, split_name, words_of

__all__ = ["RULES"]

_NAMES_ALIKE = 85
"""Percent of similarity from which two names are looked at word by word."""

_TEXTS_ALIKE = 92
"""The same of two first sentences, without filler words and with one word per meaning."""

_LEAST_WORDS = 3
_TELL_APART = 3
"""Letters of the shortest word that is enough to set a name apart; a number never is."""


def _names(subject: Subject) -> Iterator[Found]:
    names = list(subject.catalogue.names)
    folded: dict[str, int] = {}
    same = {}
    for position, name in enumerate(names):
        first = folded.setdefault(fold(name), position)
        if first != position:
            same[position] = first
            why = "are the same name but for case and separators, so neither can be meant"
            yield _alike(names[first], name, why, "error")
    for one, other in _pairs([phrase(split_name(name)) for name in names], _NAMES_ALIKE):
        if other not in same and not _set_apart(names[one], names[other]):
            yield _alike(names[one], names[other], "are names that a model mixes up", None)


def _alike(one: str, other: str, why: str, severity: Severity | None) -> Found:
    fix = "rename one after what sets it apart, or make one tool of both"
    return Found(other, NAME, f"`{one}` and `{other}` {why}", fix, severity)


def _set_apart(one: str, other: str) -> bool:
    """Whether real words differ, as in ``enable_user`` and ``disable_user``.

    In ``getUser`` and ``getuser`` only what stands between them does.
    """
    if "".join(split_name(one)) == "".join(split_name(other)):
        return False
    first, second = set(phrase(split_name(one)).split()), set(phrase(split_name(other)).split())
    return any(len(word) >= _TELL_APART and not word.isdigit() for word in first ^ second)


def _descriptions(subject: Subject) -> Iterator[Found]:
    tools = list(subject.catalogue)
    texts = [words_of(sentence(tool.description)) for tool in tools]
    phrases = [phrase(t) for t in texts]
    phrases = [text if len(text.split()) >= _LEAST_WORDS else "" for text in phrases]
    for one, other in _pairs(phrases, _TEXTS_ALIKE):
        first, second = tools[one], tools[other]
        if not _same_words(phrases[one], phrases[other]):
            continue
        yield Found(
            second.name,
            DESCRIPTION,
            f"`{first.name}` and `{second.name}` are described in nearly the same words",
            "begin each description with what only that tool does",
        )


def _same_words(one: str, other: str) -> bool:
    """Whether the words that differ say nothing of their own: at most one, and on one side only."""
    first, second = one.split(), other.split()
    only_first, only_second = set(first) - set(second), set(second) - set(first)
    return not (only_first and only_second) and len(only_first | only_second) <= 1


def _pairs(texts: list[str], cutoff: int) -> Iterator[tuple[int, int]]:
    """For each text the most similar one before it, if it is similar enough."""
    from rapidfuzz import fuzz, process

    for position in range(1, len(texts)):
        if not texts[position]:
            continue
        found = process.extractOne(
            texts[position], texts[:position], scorer=fuzz.ratio, score_cutoff=cutoff
        )
        if found is not None:
            yield found[2], position


RULES: tuple[Rule, ...] = (
    Rule(
        name="names_overlap",
        severity="warning",
        finds="two names that are nearly the same (an error if only case or separators differ)",
        why="the model calls one and means the other",
        check=_names,
    ),
    Rule(
        name="descriptions_overlap",
        severity="warning",
        finds="two descriptions that are nearly the same",
        why="the model has no way to choose, and chooses the first",
        check=_descriptions,
    ),
)
