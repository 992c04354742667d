"""Coarse tokens of a frame that is not strict JSON: a string is one token, whatever its length."""

from __future__ import annotations

import re
from typing import NamedTuple

_TOKEN = re.compile(
    r"""
    (?P<ws>[\s\u00a0\ufeff]+|\\(?=\n))
  | (?P<str>(?:[rRbBuUfF]{1,2}(?=["']))?
      (?: \"{3}[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*\"{3}
        | '{3}[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'{3}
        | "[^"\\]*(?:\\.[^"\\]*)*"
        | '[^'\\]*(?:\\.[^'\\]*)*'
        | “[^”]*” ))
  | (?P<num>[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))
  | (?P<name>[^\W\d]\w*(?:[.\-]\w+|\\_\w*)*)
  | (?P<unclosed>/\*(?!.*?\*/))
  | (?P<comment>/\*.*?\*/|//[^\n]*|\#[^\n]*)
  | (?P<splat>\*\*)
  | (?P<punct>[{}\[\](),:=])
  | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """A coarse token: its kind (a group of the expression above, or the punctuation itself)."""

    kind: str
    text: str
    start: int


def tokens_of(text: str, start: int, end: int) -> tuple[list[Token], bool]:
    """The tokens of ``text[start:end]`` with an ``end`` behind them, and whether it had comments.

    A string that is never closed is a token of the kind ``open``, and the last but one.
    """
    tokens: list[Token] = []
    made = tuple.__new__  # what the constructor calls, which by itself costs as much as the search
    comments = False
    for match in _TOKEN.finditer(text, start, end):
        kind = match.lastgroup or ""
        if kind == "ws":
            continue
        if kind == "comment":
            comments = True
            continue
        piece = match.group()
        if kind == "unclosed":  # the rest is a comment, and what it hides is not known
            tokens.append(Token("other", piece, match.start()))
            break
        if kind == "other" and piece in "\"'“":
            tokens.append(Token("open", piece, match.start()))
            break
        tokens.append(made(Token, (piece if kind == "punct" else kind, piece, match.start())))
    tokens.append(Token("end", "", end))
    return tokens, comments
