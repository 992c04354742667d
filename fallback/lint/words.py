"""Words: how names and sentences are taken apart, and which verbs read and which write."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["READING", "WRITING", "base", "listed", "phrase", "sentence", "split_name", "words_of"]


def listed(words: str) -> frozenset[str]:
    """A set of words that are written down as a line."""
    return frozenset(words.split())


_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_WORDS = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_SENTENCE_END = re.compile(r"[.!?](?:\s|$)|\n")
_READ_CHARS = 2_000
"""Characters of a description that are looked at; what matters to a reader stands at its front."""

READING = listed("get list read search find fetch retrieve view show query lookup")
"""Verbs that only look. Several mean the same to a model that has to choose."""

WRITING = listed(
    "create add insert update set write edit modify change delete remove cancel send post put patch"
    " rename upload save move append overwrite erase purge drop replace clear reset pay book"
    " transfer refund publish grant revoke enable disable kill register"
)
"""Verbs that change something."""

_FILLER = listed(
    "a an the of for to in on at by with from and or this that is are be it its given specified"
    " based using use used which will can function tool method returns return"
)
_SAME = {
    **dict.fromkeys(("fetch", "retrieve", "lookup", "obtain", "show", "view", "read"), "get"),
    **dict.fromkeys(("find", "query"), "search"),
    **dict.fromkeys(("calc", "compute", "determine"), "calculate"),
    **dict.fromkeys(("remove", "erase"), "delete"),
    **dict.fromkeys(("modify", "edit", "change"), "update"),
    **dict.fromkeys(("make", "add"), "create"),
}


def split_name(name: str) -> list[str]:
    """The words of a name, in small letters: ``getUser_byID`` has ``get user by id``."""
    return [part.lower() for part in _PARTS.findall(name)]


def words_of(text: str) -> list[str]:
    """The words of a sentence, in small letters."""
    return _WORDS.findall(text[:_READ_CHARS].lower())


def sentence(text: str) -> str:
    """The first sentence."""
    return _SENTENCE_END.split(text.strip()[:_READ_CHARS], maxsplit=1)[0]


def base(word: str) -> str:
    """A verb or noun without the endings that grammar puts behind it, roughly."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return word[:-1]
    return word


def phrase(words: Iterable[str]) -> str:
    """What is left of words for a comparison: base forms, one word per meaning, no filler."""
    bases = (base(word) for word in words)
    return " ".join(_SAME.get(word, word) for word in bases if word not in _FILLER)
