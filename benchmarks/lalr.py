"""The tolerant path as an LALR parser over coarse tokens, to be timed against the one in use.

Both get the tokens of :mod:`fallback.parsing.tokens`, so that no string is lexed character by
character, and both write strict JSON for the C decoder. What LALR cannot say (closers and commas
that are missing) is left out of the comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fallback.parsing.strict import decode_at
from fallback.parsing.strings import json_string
from fallback.parsing.tokens import tokens_of

_GRAMMAR = """
    start: value
    value: object | array | STR -> string | NUM -> number | NAME -> word
    object: LBRACE [pair (COMMA pair)*] [COMMA] RBRACE
    pair: key COLON value
    key: STR -> string | NAME -> name
    array: (LSQB | LPAR) [value (COMMA value)*] [COMMA] (RSQB | RPAR)
    %declare STR NUM NAME LBRACE RBRACE LSQB RSQB LPAR RPAR COMMA COLON
"""
_KINDS = {
    "str": "STR", "num": "NUM", "name": "NAME", "{": "LBRACE", "}": "RBRACE", "[": "LSQB",
    "]": "RSQB", "(": "LPAR", ")": "RPAR", ",": "COMMA", ":": "COLON",
}  # fmt: skip
_LITERALS = {"True": "true", "False": "false", "None": "null"}
BEYOND_LALR = ("a missing comma", "missing closers", "surplus closers")
"""Malformed payloads that this grammar cannot describe."""


def reader() -> Callable[[str], Any]:
    """A function from a payload to its value; the grammar is built once."""
    from lark import Lark, Token, Transformer
    from lark.lexer import Lexer

    class Coarse(Lexer):
        def __init__(self, conf: Any) -> None:
            """Nothing of the configuration is needed."""

        def lex(self, data: str) -> Iterator[Token]:  # type: ignore[override] # lark's own usage
            for token in tokens_of(data, 0, len(data))[0][:-1]:
                yield Token(_KINDS[token.kind], token.text)

    class Writer(Transformer[Token, str]):
        def start(self, children: list[Any]) -> str:
            return str(children[0])

        value = start

        def string(self, children: list[Any]) -> str:
            return json_string(str(children[0]), python=False)[0]

        def number(self, children: list[Any]) -> str:
            return str(children[0])

        def name(self, children: list[Any]) -> str:
            return f'"{children[0]}"'

        def word(self, children: list[Any]) -> str:
            return _LITERALS.get(children[0], str(children[0]))

        def pair(self, children: list[Any]) -> str:
            return f"{children[0]}:{children[-1]}"

        def object(self, children: list[Any]) -> str:
            return "{" + ",".join(child for child in children if type(child) is str) + "}"

        def array(self, children: list[Any]) -> str:
            return "[" + ",".join(child for child in children if type(child) is str) + "]"

    parser = Lark(_GRAMMAR, parser="lalr", lexer=Coarse, transformer=Writer())
    return lambda text: decode_at(str(parser.parse(text)), 0)[0]
