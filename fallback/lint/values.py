"""Rules about what a model may write as a value: counts, choices, and what is required."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from fallback.lint.places import ROOT, Parameter, description_of, kinds, parameters, schemas
from fallback.lint.record import Found, Rule, Subject
from fallback.lint.words import base, listed, split_name
from fallback.schema.places import place

__all__ = ["RULES", "choices"]

_SIZES = frozenset(("limit", "count", "max_results", "num_results", "page_size", "per_page"))
_SIZES |= frozenset(("top_k", "top_n", "n_results", "result_limit", "max_items", "batch_size"))
"""Names of counts that say how much work a call makes; one without a bound makes any amount."""

_COUNTED = listed(
    "adult child copy count day employee guest hour item limit minute month night number page"
    " people person quantity repetition result retry room row seat step ticket times unit user week"
    " year attempt participant passenger player student line post article event"
)
_COUNTERS = frozenset(("num", "n", "number", "count", "max", "total", "how"))
_MEASURES = frozenset(("average", "avg", "mean", "price", "rate", "ratio", "percent", "weight"))
_LOWER = ("minimum", "exclusiveMinimum")
_UPPER = ("maximum", "exclusiveMaximum")

_WORD = r"""(?:"[^"\n]{1,40}"|'[^'\n]{1,40}'|`[^`\n]{1,40}`|[\w-]{1,30})"""
_QUOTED = r"""(?:"[\w .:/-]{1,40}"|'[\w .:/-]{1,40}'|`[\w .:/-]{1,40}`)"""
_LIST = rf"{_WORD}(?:, ?{_WORD}){{0,30}},? or {_WORD}"
_EXAMPLE = re.compile(
    r"(?i)\b(?:e\.?g\b|for example|for instance|such as|like|examples?|etc\b|or other|i\.e)"
)
_CHOICES = (
    # "desc" or 'asc', ("a", "b"), (a|b), (a/b/c), one of a, b or c, options: a, b; only "x or y."
    re.compile(rf"{_QUOTED}(?:, ?{_QUOTED})*,? or {_QUOTED}"),
    re.compile(rf"[(\[]{_QUOTED}(?:(?:, ?| ?[/|] ?){_QUOTED})+[)\]]"),
    re.compile(r"[(\[][\w-]{2,20}(?: ?\| ?[\w-]{2,20}){1,8}[)\]]"),
    re.compile(r"[(\[][\w-]{2,20}(?: ?/ ?[\w-]{2,20}){2,8}[)\]]"),
    re.compile(rf"(?i)\b(?:one of|either|must be|should be|can be|may be)\b[: ]*(?:{_LIST})"),
    re.compile(rf"(?i)\b(?:one of|options?|choices?|(?:allowed|valid|possible)(?: values)?)\b"
               rf"(?: are| is|:)+ ?[\[(]?(?:{_QUOTED}(?:(?:, ?| ?[/|] ?){_QUOTED})+"
               rf"|{_WORD}(?:(?:,? or |, ?| ?[/|] ?){_WORD})+)"),
    re.compile(r"^[\w-]{1,20}(?:, [\w-]{1,20}){0,8},? or [\w-]{1,20}\.?$"),
)  # fmt: skip
_OPTIONAL = re.compile(r"(?i)\boptional|\bdefaults? (?:to|is|:)|\bif (?:omitted|not (?:given|set))")


def _count(subject: Subject) -> Iterator[Found]:
    for parameter in parameters(subject.catalogue):
        types = kinds(parameter.schema)
        size = parameter.name.lower() in _SIZES
        if "number" in types and "integer" not in types:
            if (size or _means_count(parameter.name)) and not _bounded(parameter.schema, _LOWER):
                yield _unbounded(
                    parameter, "takes any number, fractions too, where a count is meant"
                )
        elif "integer" in types and size and not _bounded(parameter.schema, _UPPER):
            yield _unbounded(parameter, "has no maximum, so a call may ask for any amount")


def _unbounded(parameter: Parameter, why: str) -> Found:
    return Found(
        parameter.tool,
        parameter.place,
        f"`{parameter.name}` {why}",
        "make it an integer with minimum and maximum, such as Annotated[int, Field(ge=1, le=50)]",
    )


def _bounded(schema: Mapping[str, Any], bounds: tuple[str, ...]) -> bool:
    if any(bound in schema for bound in (*bounds, "enum", "const")):
        return True
    inner = [s for s in schema.get("anyOf") or () if isinstance(s, Mapping)]
    return any(bound in s for s in inner for bound in (*bounds, "enum"))


def _means_count(name: str) -> bool:
    """Whether a name means a whole number of things: ``days``, ``num_guests``, ``max_results``."""
    words = split_name(name)
    if not words or _MEASURES & set(words):
        return False
    last = words[-1]
    plural = base(last) in _COUNTED and (last != base(last) or last in ("people", "count", "limit"))
    return (len(words) == 1 and plural) or (
        len(words) > 1 and words[0] in _COUNTERS and (plural or words[1] == "of")
    )


def _prose_enum(subject: Subject) -> Iterator[Found]:
    for parameter in parameters(subject.catalogue):
        if not parameter.is_free_text or parameter.schema.get("format"):
            continue
        known = choices(parameter.description)
        if known:
            yield Found(
                parameter.tool,
                parameter.place,
                f"`{parameter.name}` takes any text, but its description lists its values: {known}",
                "list them as enum (in Python: Literal[...]), so that another one is refused",
            )


def choices(description: str) -> str:
    """The passage of a description that lists all values there are; empty if none does."""
    text = description[:1_000]
    for pattern in _CHOICES:
        for match in pattern.finditer(text):
            before = text[max(0, match.start() - 30) : match.start()]
            around = before + match[0] + text[match.end() : match.end() + 15]
            if not _EXAMPLE.search(around):
                return match[0].strip(" .")
    return ""


def _required(subject: Subject) -> Iterator[Found]:
    for tool in subject.catalogue:
        for way, schema in schemas(tool):
            properties = schema.get("properties")
            if not isinstance(properties, Mapping) or not properties:
                continue
            where = place(("parameters", *way)) if way else ROOT
            required = schema.get("required")
            if isinstance(required, list) and required:
                yield from _unknown(tool.name, where, required, properties)
            elif required is None and (open_ := _neither(properties)):
                names = ", ".join(f"`{name}`" for name in open_[:5])
                yield Found(
                    tool.name,
                    f"{where}.required",
                    f"nothing is required, and nothing says what is without {names}",
                    "list what a call cannot do without in required, and give the rest a default;"
                    ' write "required": [] if all may be left out',
                    "warning" if way else None,
                )


def _unknown(
    tool: str, where: str, required: list[Any], properties: Mapping[str, Any]
) -> Iterator[Found]:
    for name in required:
        if name not in properties:
            yield Found(
                tool,
                f"{where}.required",
                f"`{name}` is required, but is none of the properties",
                "describe it under properties, or take it off the list",
            )


def _neither(properties: Mapping[str, Any]) -> list[str]:
    """Properties that are not required, have no default, and are not called optional."""
    return [
        name
        for name, schema in properties.items()
        if not isinstance(schema, Mapping)
        or not ("default" in schema or _OPTIONAL.search(description_of(schema)))
    ]


RULES: tuple[Rule, ...] = (
    Rule(
        name="count_unbounded",
        severity="warning",
        finds="a count that is any `number`, or a size of a result without a maximum",
        why="a model writes 2.5 guests, or a million rows, and the schema lets it",
        check=_count,
    ),
    Rule(
        name="enum_in_prose",
        severity="warning",
        finds="free text whose description lists the values there are",
        why="only an enum is checked; a value of the model's own reaches the tool",
        check=_prose_enum,
    ),
    Rule(
        name="required_missing",
        severity="error",
        finds="parameters of which none is called required, or a required one that is not there",
        why="a call without arguments is valid then, and reaches the tool",
        check=_required,
    ),
)
