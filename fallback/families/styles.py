"""What the text of a template shows beyond its family: spaces, headers, reasoning.

A template is foreign text, Go or Jinja. It is searched, never run: a hostile one could fill the
memory of the process from inside any sandbox. What is not found keeps the family's plainest form.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from typing import Any

from fallback.families.record import Family, Style

__all__ = ["style_of"]

_JOINED = re.compile(r"""(?<!\\)(['"])\s*[+~]\s*\1""")
_CONSTANT = re.compile(r"""\{%-?\s*set\s+(\w+)\s*=\s*('[^'\n]*'|"[^"\n]*")\s*-?%\}""")
_LITERAL = re.compile(r"""'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)\"""", re.DOTALL)
_TRIMMED = re.compile(
    r"""content(?:['"]\])?\s*\|\s*trim\b(?!\s*\|)|content(?:['"]\])?\.strip\(\)"""
)
# Qwen's templates trim here and there; only this one cuts every text.
_CHATML_TRIMMED = re.compile(r"set content = render_content\([^%]*\|\s*trim\s*-?%\}")
_REASONING_CUT = re.compile(
    r"""split\((['"])</think>\1(?:,\s*1)?\)\[-?1\]"""
    r"""(?P<lines>\.lstrip\(['"]\\n['"]\))?(?P<space>\s*\|\s*trim)?"""
)
_PAST = re.compile(r"\{\{-?\s*'((?:<think>)?</think>)'\s*-?\}\}")
_GO_NO_THINK = re.compile(
    r"not \$?\.Think\)[^}]*\}\}\s*(?P<closed><think>\s*</think>\s*)\{\{", re.DOTALL
)
_SYSTEM_SET = re.compile(
    r"set (?:g4_default_|default_)?system_message = '((?:\\.|[^'\\{}])+)'\s*-?%\}"
)
_DEFAULT_SYSTEM = {
    "chatml": re.compile(r"<\|im_start\|>system(?:\\n|\n)([^'\"{}<]+)<\|im_end\|>"),
    "deepseek-coder": re.compile(r"'(You are an AI programming assistant[^']+)'"),
    "granite": _SYSTEM_SET,
    "llama2": _SYSTEM_SET,
    "mistral-v7": _SYSTEM_SET,
    "alpaca": re.compile(r"\{\{'(You are an[^'{}]+?)(?:\\n|\n)*'\}\}"),
}
_LLAMA_HEADER = "Cutting Knowledge Date: December 2023\n"
# The day that the templates of Llama 3.1 to 3.3 name where no clock is at hand. The real day would
# change the first line of the prompt, and so throw the prompt cache away, every midnight.
_LLAMA_TODAY = "Today Date: 26 Jul 2024\n"


def style_of(family: Family, template: str) -> Style:
    """The style that a template of the family shows."""
    jinja = "{%" in template
    joined = _JOINED.sub("", _constants_inlined(template)) if jinja else template
    trimmed = _CHATML_TRIMMED if family.name == "chatml" else _TRIMMED
    found: dict[str, Any] = {
        "trim": trimmed.search(template) is not None,
        "drop": _drop(template),
        "keep_last": "last_assistant_index" in template,
        "default_system": _default_system(family.name, joined),
        **(_jinja_openings(joined) if jinja else _go_openings(template)),
    }
    spaces = _SPACES.get(family.name)
    if spaces is not None:
        found |= spaces(template, jinja)
    return replace(family.style, **found)


def _constants_inlined(template: str) -> str:
    """Names that are set to a plain string give way to it: ``think_start + think_end``."""
    # Real templates have a handful; thousands would make the search below slow.
    constants = {m[1]: m[2] for m in islice(_CONSTANT.finditer(template), 32)}
    if not constants:
        return template
    names = re.compile(rf"\b(?:{'|'.join(constants)})\b(?!\s*=)")
    return names.sub(lambda found: constants[found[0]], template)


def _split_at_opener(joined: str) -> tuple[str, str]:
    """The template before and after its last word of ``add_generation_prompt``."""
    body, _, tail = joined.rpartition("add_generation_prompt")
    return (body, tail) if body else (joined, "")


def _unescaped(literal: str) -> str:
    return literal.replace("\\n", "\n").replace("\\'", "'").replace('\\"', '"')


def _drop(template: str) -> str:
    found = _REASONING_CUT.search(template)
    if found is None:
        return "keep"
    if found["lines"]:
        return "lines"
    return "space" if found["space"] else "cut"


def _default_system(family: str, joined: str) -> str | None:
    pattern = _DEFAULT_SYSTEM.get(family)
    found = pattern.search(joined) if pattern else None
    return _unescaped(found[1]) if found else None


def _jinja_openings(joined: str) -> dict[str, str]:
    """What stands between the assistant's opener and its text, read from the template's strings."""
    body, tail = _split_at_opener(joined)
    opening, closed, always = "", None, False
    for match in _LITERAL.finditer(tail):
        text = _unescaped(match[1] if match[1] is not None else match[2])
        if "</think>" in text:
            at = text.find("<think>")
            rest = text[text.index("</think>") :]
            closed = text[at:] if at >= 0 else (opening if always else "") + rest
        elif "<think>" in text and not opening:
            at = text.index("<think>")
            opening, always = text[at:], at > 0
    if closed is None:
        closed = opening if always else ""
    past = _PAST.search(body)
    return {"opening": opening, "closed": closed, "past": past[1] if past else ""}


def _go_openings(template: str) -> dict[str, str]:
    found = _GO_NO_THINK.search(template)
    return {"closed": found["closed"]} if found else {}


def _llama3(template: str, jinja: bool) -> dict[str, str]:
    if "Cutting Knowledge Date: December 2023" not in template:
        return {}
    today = _LLAMA_TODAY if "Today Date: " in template else ""
    return {"system_header": _LLAMA_HEADER + today + "\n"}


def _llama2(template: str, jinja: bool) -> dict[str, str]:
    if not jinja:
        return {}
    each = "bos_token + '[INST]" in template
    return {"turn_bos": "<s>" if each else "", "end": " "}


def _mistral(template: str, jinja: bool) -> dict[str, str]:
    opener = re.search(r"( ?)\[INST\]( ?)", template)
    closer = re.search(r"( ?)\[/INST\]", template)
    lead = (
        r"['\"]( ?)['\"]\s*\+\s*message[^+}]*\+\s*eos_token" if jinja else r'"assistant" \}\}( ?)'
    )
    leads, ends = re.search(lead, template), re.search(r"eos_token \+ '( ?)'", template)
    return {
        "before": opener[1] if opener and jinja else "",
        "after": opener[2] if opener else "",
        "close": closer[1] if closer else "",
        "lead": leads[1] if leads else "",
        "end": ends[1] if ends else "",
    }


def _vicuna(template: str, jinja: bool) -> dict[str, str]:
    return {"system_header": "SYSTEM: "} if "SYSTEM:" in template else {}


def _alpaca(template: str, jinja: bool) -> dict[str, str]:
    end = "<|endoftext|>" if "<|endoftext|>" in template or "eos_token" in template else ""
    return {"close": ":" if "### Instruction:" in template else "", "end": end}


def _solar(template: str, jinja: bool) -> dict[str, str]:
    return {"end": "</s>\n\n" if "</s>" in template or not jinja else ""}


def _deepseek(template: str, jinja: bool) -> dict[str, str]:
    after_user = "<｜User｜>' + message['content'] + '<｜end▁of▁sentence｜>'"
    return {"end": "<｜end▁of▁sentence｜>" if after_user in template else ""}


_SPACES = {
    "llama3": _llama3,
    "llama2": _llama2,
    "mistral-v1": _mistral,
    "mistral-v3": _mistral,
    "mistral-v7": _mistral,
    "vicuna": _vicuna,
    "alpaca": _alpaca,
    "solar": _solar,
    "deepseek": _deepseek,
}
