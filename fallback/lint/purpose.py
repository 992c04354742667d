"""Rules about what a tool is for: one purpose, said plainly, with its risk."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fallback.lint.places import DESCRIPTION, NAME, Parameter, parameters
from fallback.lint.record import Found, Rule, Severity, Subject
from fallback.lint.values import choices
from fallback.lint.words import READING, WRITING, base, listed, sentence, split_name, words_of
from fallback.tools import Risk, Tool

__all__ = ["RULES"]

_LEAST_WORDS = 3
_FILLER = re.compile(
    r"(?i)^(?:an? |the )?(?:(?:helper|utility|misc\w*|various|todo|tbd"
    r"|do(?:es)? (?:some)?(?:stuff|things?))\b"
    r"(?:\W+\w+){0,3}|(?:description|tool|function|n/a))\W*$"
)
_VAGUE_NAMES = listed(
    "arg args body config content data details info input item kwargs meta metadata misc obj object"
    " option options param params payload props settings stuff text thing things val value values"
    " x y z"
)
_VERB = r"[a-z]{3,12}"
_VERBS_TOGETHER = re.compile(
    rf"^(?:can |to |used to )?({_VERB}(?:(?:, ?(?:or |and )?| or | and |/){_VERB})+)\b"
)
# "Finds a room and books it": what is written to is what was read.
_VERBS_APART = re.compile(
    rf"^(?:can |to |used to )?({_VERB}) (?:\w+ ){{1,6}}?(?:and|or|then) ({_VERB})"
    r" (?:it|them|one|to it|to them)\b"
)
_ALSO_NOUNS = listed("book change drop move patch post register reset set transfer update")
_PAIRS = ({"read", "write"}, {"get", "set"})
_CHOOSERS = frozenset(("action", "operation", "op", "method", "mode", "command", "verb", "do"))


def _reads_and_writes(subject: Subject) -> Iterator[Found]:
    told = {tool.name: tool.description for tool in subject.catalogue}
    for tool in subject.catalogue:
        place = DESCRIPTION
        both = _both(_verbs_told(tool.description))
        if not both:
            place, both = NAME, _both(_verbs_named(tool.name))
        if both:
            yield _split(tool.name, place, both)
    for parameter in parameters(subject.catalogue):
        if parameter.name.lower() in _CHOOSERS:
            values = _values(parameter) or _values_told(parameter, told[parameter.tool])
            if both := _both(values):
                yield _split(parameter.tool, parameter.place, both)


def _split(tool: str, place: str, both: tuple[str, str]) -> Found:
    reads, writes = both
    return Found(
        tool,
        place,
        f"one tool that both reads ({reads}) and writes ({writes})",
        "make two tools of it, so that reading needs no approval and writing gets its own risk",
    )


def _verbs_told(description: str) -> list[str]:
    """The verbs that a description begins with: ``Reads, writes or deletes a file``."""
    first = sentence(description).lower()
    if together := _VERBS_TOGETHER.match(first):
        return re.split(r"\W+", together[1])
    apart = _VERBS_APART.match(first)
    return [apart[1], apart[2]] if apart else []


def _verbs_named(name: str) -> list[str]:
    """The verbs of ``get_or_create_user`` and of ``read_write``; many a verb is a noun as well."""
    words = split_name(name)
    joined = [
        word
        for before, joint, after in zip(words, words[1:], words[2:], strict=False)
        if joint in ("or", "and")
        for word in (before, after)
    ]
    return joined or next((words[:2] for pair in _PAIRS if set(words[:2]) == pair), [])


def _values(parameter: Parameter) -> list[str]:
    listed = parameter.schema.get("enum")
    if not isinstance(listed, list):
        return []
    return [word for value in listed if isinstance(value, str) for word in split_name(value)[:1]]


def _values_told(parameter: Parameter, about: str) -> list[str]:
    """The same of a free text whose values are listed in words, there or with the tool.

    Of the tool's words only the sentence counts that names the parameter.
    """
    if not parameter.is_free_text:
        return []
    named = re.compile(rf"\b{re.escape(parameter.name)}\b", re.IGNORECASE)
    parts = [part for part in re.split(r"[.;\n]", about[:1_000]) if named.search(part)]
    passages = (choices(part) for part in (parameter.description, *parts))
    return words_of(" ".join(passages))


def _both(words: list[str]) -> tuple[str, str] | None:
    bases = [base(word) for word in words]
    reads = next((word for word in bases if word in READING), None)
    writes = next((word for word in bases if word in WRITING), None)
    return (reads, writes) if reads and writes else None


def _undescribed(subject: Subject) -> Iterator[Found]:
    for tool in subject.catalogue:
        if not tool.description.strip():
            yield Found(
                tool.name,
                DESCRIPTION,
                "there is no description: the model has only the name to choose by",
                "say in one sentence what it does, and in a second when to use it",
            )


def _vague(subject: Subject) -> Iterator[Found]:
    for tool in subject.catalogue:
        if why := _vagueness(tool):
            yield Found(
                tool.name,
                DESCRIPTION,
                f"the description {why}",
                "say what it does to what, what it returns, and when to use it",
            )


def _vagueness(tool: Tool) -> str:
    text = tool.description.strip()
    if not text:
        return ""
    words = words_of(text)
    if _FILLER.match(text):
        return "says nothing about what the tool does"
    if {base(w) for w in words} <= {base(w) for w in (*split_name(tool.name), "a", "an", "the")}:
        return "only repeats the name"
    # Languages without spaces between words have few "words" and say enough with them.
    if len(words) < _LEAST_WORDS and text.isascii():
        return f"has fewer than {_LEAST_WORDS} words"
    return ""


def _parameter_undescribed(subject: Subject) -> Iterator[Found]:
    for parameter in parameters(subject.catalogue):
        if parameter.description or "enum" in parameter.schema or "const" in parameter.schema:
            continue
        vague = parameter.name.lower() in _VAGUE_NAMES or len(parameter.name) <= 1
        yield Found(
            parameter.tool,
            parameter.place,
            f"`{parameter.name}` has no description"
            + (", and its name does not say what is meant" if vague else ""),
            "describe what it means, with its unit or form and an example",
            None if vague else "note",
        )


def _risk(subject: Subject) -> Iterator[Found]:
    known = ", ".join(Risk)
    for tool in subject.catalogue:
        if tool.risk is None:
            fix = f"declare risk= with one of {known}"
            # What has no handler is run by somebody else, who may know.
            less: Severity | None = "note" if tool.handler is None else None
            yield Found(tool.name, "$.risk", "nobody has said what a call can do", fix, less)


def _risk_doubtful(subject: Subject) -> Iterator[Found]:
    for tool in subject.catalogue:
        first = next(iter(split_name(tool.name)), "")
        if tool.risk is Risk.READ_ONLY and first in WRITING - _ALSO_NOUNS:
            yield Found(
                tool.name,
                "$.risk",
                f"declared {tool.risk.value}, but its name says that it will {first}",
                "declare the risk that it has, or give it a name that says that it only reads",
            )


RULES: tuple[Rule, ...] = (
    Rule(
        name="reads_and_writes",
        severity="error",
        finds="one tool that both reads and writes",
        why="it needs the approval of a write for every read, or writes without any",
        check=_reads_and_writes,
    ),
    Rule(
        name="description_missing",
        severity="error",
        finds="a tool without a description",
        why="a small model chooses by the description, and guesses without one",
        check=_undescribed,
    ),
    Rule(
        name="description_vague",
        severity="warning",
        finds="a description that says nothing, or only repeats the name",
        why="it costs tokens and does not help to choose",
        check=_vague,
    ),
    Rule(
        name="parameter_undescribed",
        severity="warning",
        finds="a parameter without a description (a note where its name speaks for itself)",
        why="the model fills it with what the name makes it think of",
        check=_parameter_undescribed,
    ),
    Rule(
        name="risk_undeclared",
        severity="warning",
        finds="a tool whose risk nobody has declared (a note where it has no handler)",
        why="policies are written in risks, and have to assume one where none is declared",
        check=_risk,
    ),
    Rule(
        name="risk_doubtful",
        severity="warning",
        finds="a tool declared `read_only` whose name begins with a verb that writes",
        why="what is declared read-only runs without being asked for",
        check=_risk_doubtful,
    ),
)
