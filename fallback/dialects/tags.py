"""How the dialects that write arguments as tags spell them.

One record per spelling. All of them have the same shape: something that opens the call and names
the tool, pairs of a key and a raw text value, and closers that models now and then forget.
Sources: the chat templates of Qwen3-Coder, Seed-OSS, MiniMax-M2, MiniCPM5, DeepSeek V3.2 (DSML),
GLM-4.5 and its relatives, and the Anthropic-style prompts that open models imitate.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

# A namespace in front of a tag's name: ``minimax:``, ``antml:`` and DeepSeek's ``｜DSML｜``.
_SPACE = r"(?:[｜|]{1,2} ?[DG][SC]ML ?[｜|]{1,2} ?|[\w.\-]{1,16}:)? ?"

_WORD = re.compile(r"<[ /]{0,4}([\w.:\-]*)")
_LONGEST_WORD = 200

TOOL_TAG = re.compile(r"<(?P<name>[A-Za-z_][\w.\-]{0,127})>")
"""A tag that is named after a tool, as Cline and Roo have it; only a declared name makes it one."""


@dataclass(frozen=True, slots=True)
class TagSpelling:
    """The expressions of one spelling; each is anchored where it is tried.

    Attributes:
        opener: opens a call; group ``name`` is the tool. ``None`` where the name stands alone in
        front.
        key: opens a pair; group ``key`` is the parameter, ``type`` (optional) says ``false`` where
        the
            value is JSON whatever the schema says.
        value_end: closes a value.
        closer: closes a call. ``None`` where only the envelope's marker does.
        words: the words of all these tags, namespaces and suffixes behind a colon left out; what
            begins with another is none of them. ``None`` where that cannot be said.
    """

    dialect: str
    opener: re.Pattern[str] | None
    key: re.Pattern[str]
    value_end: re.Pattern[str]
    closer: re.Pattern[str] | None
    words: frozenset[str] | None = None

    def may_begin(self, text: str, at: int) -> bool | None:
        """Whether one of the tags may begin at a bracket; ``None`` if more has to be seen."""
        match = _WORD.match(text, at)
        if self.words is None or match is None:
            return True
        end = match.end()
        if end == len(text):
            return None if end - at < _LONGEST_WORD else False
        if text[end] in "|｜" or match.group(1).endswith(":"):
            return True  # a namespace
        return not self.words.isdisjoint(match.group(1).split(":"))


XML = TagSpelling(
    dialect="xml",
    opener=re.compile(
        rf"""< ?{_SPACE}(?:function|invoke) ?(?:= ?| ?name ?= ?)"""
        r"""["']?(?P<name>[^"'<>\s=/]{1,128})["']?(?: ?/?>)?"""
    ),
    key=re.compile(
        rf"""< ?{_SPACE}(?:parameter|param)\s*(?:=\s*|\s?name\s*=\s*)"""
        r"""["']?(?P<key>[^"'<>=]{1,128}?)["']?\s*"""
        r"""(?:string\s*=\s*["'](?P<type>true|false)["']\s*)?(?:type\s*=\s*["']\w*["']\s*)?>"""
    ),
    value_end=re.compile(rf"< ?/ ?{_SPACE}(?:parameter|param) ?>"),
    closer=re.compile(rf"< ?/ ?{_SPACE}(?:function|invoke) ?>"),
    words=frozenset(("parameter", "param", "function", "invoke")),
)

XTML = TagSpelling(
    dialect="kimi_k3",
    opener=re.compile(
        r"""<\|open\|>\s*call\s+tool="(?P<name>[^"<>]{1,160})"[^<>]{0,40}<\|sep\|>"""
    ),
    key=re.compile(
        r"""<\|open\|>\s*argument\s+key="(?P<key>[^"<>]{1,160})"\s*"""
        r"""(?:type="(?P<type>\w+)")?\s*<\|sep\|>"""
    ),
    value_end=re.compile(r"<\|close\|>\s*argument\s*<\|sep\|>"),
    closer=re.compile(r"<\|close\|>\s*call\s*<\|sep\|>"),
)
"""Kimi K3: attributes escape ``&`` and quotes, values are raw, ``type`` says how to read them."""

INVOKE = re.compile(
    r"<invoke>\s{0,8}<tool_name>\s{0,8}(?P<name>[\w.\-]{1,128})\s{0,8}</tool_name>"
    r"(?:\s{0,8}<parameters>)?"
)
"""The older Anthropic form: the name and the parameters are elements, too."""
INVOKE_BEGIN = re.compile(
    r"<invoke>\s{0,8}(?:<(?:t[a-z_]{0,8})?>?[\w\s.\-]{0,144}(?:</?[a-z_]{0,9}>?\s{0,8}(?:<[a-z]{0,10})?)?)?"
)
INVOKE_END = re.compile(r"(?:</parameters>\s{0,16})?</invoke>")

_KEY = r"(?:longcat_|ifm\|)?arg_key(?::\w+)?"
_VALUE = r"(?:longcat_|ifm\|)?arg_value(?::\w+)?"
KEY_VALUE = TagSpelling(
    dialect="glm",
    opener=None,
    key=re.compile(
        rf"(?:</{_VALUE}>\s*)?<{_KEY}>\s*(?P<key>[^<>]{{1,128}}?)\s*(?:</{_KEY}>\s*)?"
        rf"(?:<ifm\|arg_type>[^<]*</ifm\|arg_type>\s*)?(?:<{_VALUE}>|(?<=>)(?=[^<\s]))(?P<type>)?"
    ),
    value_end=re.compile(rf"</{_VALUE}>"),
    closer=None,
    words=frozenset(("arg_key", "longcat_arg_key", "arg_value", "longcat_arg_value")),
)

OPENERS = re.compile(rf"< ?{_SPACE}(?:function|invoke) ?(?:=| ?name ?=)")
"""Begins a call that is written as tags, with or without an envelope around it."""

OPENERS_BEGIN = re.compile(r"<[\w ｜|:.\-]{0,48}")
"""What may still become one of these, as far as it can be told from the characters alone."""

PAIR_BEGINS = re.compile(rf"</?(?:{_KEY}|{_VALUE})>")
"""Behind a name: its arguments follow as key and value tags."""


_PLAIN_WORD = re.compile(r"[\w.\-]{1,150}")


def tag_per_parameter(name: str, parameters: Collection[str]) -> TagSpelling:
    """The spelling in which the tool and each parameter are tags of their own names."""
    words = frozenset((name, *parameters))
    keys = "|".join(re.escape(key) for key in parameters) or r"(?!)"
    return TagSpelling(
        dialect="tag_per_tool",
        opener=None,
        key=re.compile(rf"<(?P<key>{keys})>(?P<type>)?"),
        value_end=re.compile(rf"</(?:{keys})>"),
        closer=re.compile(rf"</{re.escape(name)}>"),
        words=words if all(map(_PLAIN_WORD.fullmatch, words)) else None,
    )
