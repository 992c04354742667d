"""Reading a complete frame that is not strict JSON: Python literals, calls, and slips of form.

One regular expression cuts the frame into coarse tokens (a string is one token, whatever its
length), a recursive descent writes them down again as strict JSON, and the C decoder reads that. So
every value that comes out of here has passed a real JSON decoder, nothing is evaluated, and each
deviation that had to be mended has a name in ``repairs``:

``control_characters``  raw newlines, tabs and the like inside a string
``python_literals``     ``'…'``, ``True``, ``None``, tuples, where JSON was begun
``comments``            ``/* */``, ``//`` and ``#``
``trailing_comma``      a comma before a closer
``missing_comma``       two members of a container side by side
``missing_closers``     brackets left open although every string is closed
``surplus_closers``     brackets closed that were never opened
``unquoted_keys``       ``{city: "Oslo"}``
``smart_quotes``        ``“…”`` as delimiters
``lone_backslashes``    an escape that does not exist: all letter escapes of that string are literal
``escaped_apostrophes`` ``\\'`` inside a double-quoted string
``colon_arguments``     ``f(city: "Oslo")``
``unquoted_text``       ``f(city=New York)``: plain words that can be no variable or expression
``unquoted_name``       ``f(city=new_york)``: a word that could be one; validation decides
``markdown_escapes``    ``f(city\\_name="Oslo")``

What would need a guess at a name or at a value is :class:`MalformedError`, with the key it happened
under.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Any

from fallback.parsing.malformed import MalformedError
from fallback.parsing.strict import DuplicateKeyError, decode_at, merge
from fallback.parsing.strings import EvaluatedStringError, json_string
from fallback.parsing.tokens import Token, tokens_of

_JSON_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_LITERALS = {
    "true": "true", "false": "false", "null": "null",
    "True": "true", "False": "false", "None": "null",
}  # fmt: skip
# Words that stand for a type or for a value to come, not for a value.
_TYPE_WORDS = frozenset(
    ("string", "str", "int", "integer", "number", "float", "bool", "boolean", "list", "array",
     "dict", "object", "any", "value", "undefined", "nan", "infinity")
)  # fmt: skip
_PLAIN_WORDS = re.compile(r"[^\W_](?:[\w \-&/.’]*[^\W_.])?\.?")
_EXPRESSION = re.compile(r"\bif\b.*\belse\b|\bfor\b.*\bin\b|\blambda\b")
_VARIABLE = re.compile(r"\w*_\w*|\w+(?:\.\w+)+|[a-z]")
_CLOSER = {"{": "}", "[": "]", "(": ")"}


@dataclass(frozen=True, slots=True)
class Arguments:
    """What stood between the parentheses of a call."""

    positional: tuple[Any, ...]
    keywords: dict[str, Any]


def read_value(text: str, start: int, end: int) -> tuple[Any, tuple[str, ...]]:
    """Read ``text[start:end]`` as one value; returns it with the names of the repairs.

    Raises:
        MalformedError: it cannot be read without guessing.
        DuplicateKeyError: an object names a key twice.
    """
    writer = _Writer(text, start, end, python=False)
    writer.value()
    writer.finish()
    return _decode(writer.out, writer), tuple(writer.repairs)


def read_arguments(text: str, start: int, end: int) -> tuple[Arguments, tuple[str, ...]]:
    """Read ``text[start:end]``, from the opening parenthesis of a call to its closing one."""
    writer = _Writer(text, start, end, python=True)
    positional, keywords, splats = writer.arguments()
    writer.finish()
    values = tuple(_decode(positional, writer))
    splatted = _decode(splats, writer)
    if not all(isinstance(splat, dict) for splat in splatted):
        raise MalformedError("`**` needs a dictionary", expression=True)
    merged = merge(_decode(keywords, writer), splatted, writer.places)
    return Arguments(values, merged), tuple(writer.repairs)


def _decode(pieces: list[str], writer: _Writer) -> Any:
    try:
        return decode_at("".join(pieces), 0)[0]
    except DuplicateKeyError:
        raise
    except ValueError as error:
        raise MalformedError(str(error), key=writer.key) from None


class _Writer:
    """Recursive descent over the tokens; depth is bounded by the framer that made the frame."""

    def __init__(self, text: str, start: int, end: int, *, python: bool) -> None:
        self.python = python
        self.source = text
        self.repairs: dict[str, None] = {}
        self.out: list[str] = []
        self.key = ""
        self.open: list[str] = []  # closers that are awaited, innermost last
        self.at = 0
        self.places: list[int] = []  # how many named arguments stand before each ``**``
        self.tokens, comments = tokens_of(text, start, end)
        if comments:
            self._repair("comments")

    # -- helpers

    def _fail(self, what: str, *, expression: bool = False) -> MalformedError:
        token = self.tokens[self.at]
        return MalformedError(
            what,
            key=self.key,
            offset=token.start,
            expression=expression,
            truncated=token.kind == "open",
        )

    def _repair(self, name: str) -> None:
        self.repairs[name] = None

    def _plain(self, name: str) -> str:
        if "\\" in name:
            self._repair("markdown_escapes")
        return name.replace("\\_", "_")

    def finish(self) -> None:
        """Nothing but surplus closers may follow."""
        while self.tokens[self.at].kind in (")", "]", "}"):
            self._repair("surplus_closers")
            self.at += 1
        if self.tokens[self.at].kind != "end":
            raise self._fail("something follows the value")

    def _closed(self, closer: str) -> bool:
        """Whether the container ends here; takes its closer, or mends the lack of it."""
        kind = self.tokens[self.at].kind
        if kind == closer:
            self.at += 1
            return True
        if kind == "end" or (kind in (")", "]", "}") and kind in self.open[:-1]):
            self._repair("missing_closers")
            return True
        if kind in (")", "]", "}"):
            self._repair("surplus_closers")
            self.at += 1
            return self._closed(closer)
        return False

    # -- the grammar

    def value(self) -> None:
        """Write the value that starts at the current token."""
        token = self.tokens[self.at]
        kind = token.kind
        if kind == "str":
            self._string(token.text)
        elif kind == "num":
            self._number(token.text)
        elif kind == "{":
            self._object()
        elif kind in ("[", "("):
            self._array(kind)
        elif kind == "name":
            self._name(token)
        elif kind == "open":
            raise self._fail("a string is never closed")
        elif kind == "end":
            raise self._fail("a value is missing at the end")
        else:
            raise self._fail(f"{token.text!r} where a value belongs", expression=self.python)

    def _name(self, token: Token) -> None:
        literal = _LITERALS.get(token.text)
        if self.tokens[self.at + 1].kind == "(":
            if token.text != "dict":
                raise self._fail(f"`{token.text}(…)` is an expression", expression=True)
            self.at += 1
            positional, keywords, splats = self.arguments()
            if len(positional) > 2 or len(splats) > 2:
                raise self._fail("`dict(…)` with more than keywords", expression=True)
            self.out += keywords
        elif literal is None:
            raise self._fail(f"`{token.text}` is neither quoted nor a literal", expression=True)
        else:
            if not self.python and literal != token.text:
                self._repair("python_literals")
            self.out.append(literal)
            self.at += 1

    def _number(self, text: str) -> None:
        plain = text.replace("_", "") if self.python else text
        if plain[0] == "+":
            plain = plain[1:]
        if not _JSON_NUMBER.fullmatch(plain):
            if "." in (plain.lstrip("-")[0], plain[-1]):
                plain = json.dumps(float(plain))
            elif plain.lstrip("-").startswith("0"):
                # 007 may be an id as well as a number: keep the digits and let the schema decide.
                plain = json.dumps(plain)
            if not (plain[0] == '"' or _JSON_NUMBER.fullmatch(plain)):
                raise self._fail(f"{text!r} is not a number")
            if not self.python:
                self._repair("python_literals")
        self.out.append(plain)
        self.at += 1

    def _object(self) -> None:
        self.out.append("{")
        self.open.append("}")
        self.at += 1
        first = True
        while not self._closed("}"):
            if not first and not self._comma():
                break
            self._key()
            if self.tokens[self.at].kind not in (":", "="):
                raise self._fail("a key without a value")
            self.at += 1
            self.out.append(":")
            self.value()
            first = False
        self.open.pop()
        self.out.append("}")

    def _comma(self) -> bool:
        """Take the comma between two members; ``False`` if it was only a trailing one."""
        kind = self.tokens[self.at].kind
        if kind == ",":
            self.at += 1
            while self.tokens[self.at].kind == ",":
                raise self._fail("two commas in a row")
            if self._closed(self.open[-1]):
                if not self.python:
                    self._repair("trailing_comma")
                return False
        elif self._begins_member(kind):
            self._repair("missing_comma")
        else:
            token = self.tokens[self.at]
            raise self._fail(f"{token.text!r} after a value", expression=self.python)
        self.out.append(",")
        return True

    def _begins_member(self, kind: str) -> bool:
        if self.open[-1] == "}":
            return kind in ("str", "name") and self.tokens[self.at + 1].kind == ":"
        return kind in ("{", "[") and self.tokens[self.at - 1].kind in ("}", "]")

    def _key(self) -> None:
        token = self.tokens[self.at]
        if token.kind == "str":
            self._string(token.text)
            self.key = json.loads(self.out[-1])
            return
        if token.kind not in ("name", "num"):
            raise self._fail(
                "a string is never closed" if token.kind == "open" else f"{token.text!r} for a key"
            )
        self.key = self._plain(token.text)
        self._repair("unquoted_keys")
        self.out.append(encode_basestring(self.key))
        self.at += 1

    def _array(self, opener: str) -> None:
        mark = len(self.out)
        self.out.append("[")
        self.open.append(_CLOSER[opener])
        self.at += 1
        count = 0
        while not self._closed(self.open[-1]):
            if count and not self._comma():
                count += 1
                break
            self.value()
            count += 1
        self.open.pop()
        if opener == "(" and count == 1:
            self.out[mark] = ""  # a parenthesised value is that value; only a comma makes a tuple
        else:
            self.out.append("]")
        if opener == "(" and not self.python:
            self._repair("python_literals")

    def arguments(self) -> tuple[list[str], list[str], list[str]]:
        """Write the arguments of a call as JSON: an array, an object, and an array of ``**``
        ones."""
        outer, key = self.out, self.key
        positional, keywords, splats = ["["], ["{"], ["["]
        self.at += 1
        self.open.append(")")
        first, named = True, 0
        while not self._closed(")"):
            if not first:
                if self.tokens[self.at].kind != ",":
                    token = self.tokens[self.at]
                    raise self._fail(f"{token.text!r} after a value", expression=True)
                self.at += 1
                if self._closed(")"):
                    break
            first = False
            if self.tokens[self.at].kind == "splat":
                self.places.append(named)
            before = len(keywords)
            self._argument(positional, keywords, splats)
            named += len(keywords) > before
        self.open.pop()
        self.out, self.key = outer, key
        return [*positional, "]"], [*keywords, "}"], [*splats, "]"]

    def _argument(self, positional: list[str], keywords: list[str], splats: list[str]) -> None:
        token, follower = self.tokens[self.at], self.tokens[min(self.at + 1, len(self.tokens) - 1)]
        if token.kind == "splat":
            self.out = splats
            self.at += 1
        elif token.kind in ("name", "str") and follower.kind in ("=", ":"):
            self.out = keywords
        else:
            self.out = positional
        if len(self.out) > 1:
            self.out.append(",")
        if self.out is keywords:
            if token.kind == "name":
                self.key = self._plain(token.text)
                keywords.append(encode_basestring(self.key))
                self.at += 1
            else:
                self._key()
            keywords.append(":")
            self.at += 1
            if follower.kind == ":":
                self._repair("colon_arguments")
            elif self._unquoted_text():
                return
        self.value()

    def _unquoted_text(self) -> bool:
        """Write plain words up to the next comma as a string, if they can be nothing else."""
        first = self.tokens[self.at]
        # ``24h`` begins with digits that are no number.
        worded = first.kind in ("name", "num") or first.text.isdecimal()
        if not worded or first.text in _LITERALS:
            return False
        last = self.at
        while self.tokens[last].kind not in (",", ")", "end"):
            if self.tokens[last].kind not in ("name", "num", "other"):
                return False
            last += 1
        if self.tokens[last].kind == "end" or (first.kind == "num" and last == self.at + 1):
            return False
        words = self.source[first.start : self.tokens[last].start].strip()
        single = words.casefold()
        if (
            not _PLAIN_WORDS.fullmatch(words)
            or _EXPRESSION.search(words)
            or single in _TYPE_WORDS
            or single == self.key.casefold()
        ):
            return False
        # What could be a variable is a word only if the schema lists it; validation asks.
        variable = _VARIABLE.fullmatch(words)
        self._repair(f"unquoted_name {self.key}" if variable else "unquoted_text")
        self.out.append(encode_basestring(words))
        self.at = last
        return True

    def _string(self, text: str) -> None:
        try:
            written, repairs = json_string(text, python=self.python)
        except EvaluatedStringError as error:
            raise self._fail(str(error), expression=True) from None
        self.out.append(written)
        self.repairs.update(dict.fromkeys(repairs))
        self.at += 1
