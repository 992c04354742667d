"""Text that can never become a control token.

llama.cpp, and so Ollama, looks for the spelling of control tokens in the *whole* prompt, the user's
text and tool results included: a web page that contains ``<|im_end|>`` would end the turn. So one
visible space is put inside every such spelling: ``< |im_end|>``. The model still reads what was
meant, people can see what happened, and the text can no longer become the token.

What must stay true: the result contains no spelling of the common set or of the given tokens,
overlapping ones included; text without such spellings is unchanged; doing it twice changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

__all__ = ["neutralise"]

# Names of control tokens that are written like HTML tags, gathered from the vocabularies of Llama,
# Gemma, Command-R, StarCoder, SmolLM and CodeLlama.
_TAGS = (
    r"/?s|bos|eos|pad|unk|mask|cls|sep|sop|eop|EOT|PRE|MID|SUF|END|BEGIN"
    r"|(?:start|end)_of_(?:turn|image|audio)|image_soft_token|unused\d{1,6}|extra_id_\d{1,6}"
    r"|fim_(?:prefix|middle|suffix|pad)|repo_?name|file_sep|filename|gh_stars"
    r"|issue_(?:start|comment|closed)|commit_(?:before|msg|after)|empty_output"
    r"|jupyter_(?:start|text|code|output|script)|SPECIAL_\d{1,6}"
    r"|pr(?:_[a-z_]{2,40})?|code_to_intermediate|intermediate_to_code"
    r"|PAD|UNK|CLS|SEP|(?:BOS|EOS|EOP|MASK)_TOKEN"
)
# Control tokens of Mistral's tokenizers, and of BERT's and GLM's.
_BRACKETS = (
    r"/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_RESULTS|TOOL_CONTENT|TOOL_CALLS|THINK"
    r"|MODEL_SETTINGS|BEGIN_AUDIO|AUDIO|IMG|IMG_BREAK|IMG_END|PREFIX|MIDDLE|SUFFIX|ARGS|CALL_ID)"
    r"|PAD\d{0,6}|UNK|CLS|SEP|MASK|gMASK|sMASK"
)
# Every token that has a bar next to one of its angle brackets, whatever its name: ``<|im_end|>``,
# ``<|turn>``, ``<turn|>``. DeepSeek's bars are U+FF5C.
_BARRED = r"[|｜][^<>\s]{1,80}>|[^<>\s]{1,80}[|｜]>"
# Falcon's.
_POINTED = r">(?=>[A-Z]{2,16}<<)"
_COMMON = rf"<(?={_BARRED}|(?:{_TAGS})>|</?SYS>>)|\[(?=(?:{_BRACKETS})\])|{_POINTED}"


def _broken_after(token: str) -> tuple[str, str]:
    """Where the space goes: after a sign that opens, before a sign that closes a word."""
    at = len(token) - 1 if token[0].isalnum() else 1
    return token[:at], token[at:]


@cache
def _pattern(special: tuple[str, ...]) -> re.Pattern[str]:
    halves = (_broken_after(token) for token in special)
    own = [f"{re.escape(head)}(?={re.escape(tail)})" for head, tail in halves]
    return re.compile("|".join([*own, _COMMON]))


def neutralise(text: str, special: Iterable[str] = ()) -> str:
    """Put one space into every spelling of a control token.

    Args:
        text: what a user, a tool, a system prompt or an earlier reply says.
        special: spellings that are control tokens or turn markers for this family only; each at
            least two characters long.
    """
    return _pattern(tuple(special)).sub(r"\g<0> ", text)
