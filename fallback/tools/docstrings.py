"""What a docstring says about a function and its parameters."""

from __future__ import annotations

from typing import NamedTuple


class Described(NamedTuple):
    """The text about the function, and the texts about its parameters by name."""

    text: str
    parameters: dict[str, str]


def describe(docstring: str | None) -> Described:
    """Read a docstring in Google's, NumPy's, Sphinx's (reST) or Epydoc's style, whichever it is.

    Only what helps to decide on a call is kept: summary, further text, parameters. What is returned
    and raised is not. A docstring that is in no style is all text.
    """
    if not docstring or not docstring.strip():
        return Described("", {})
    from docstring_parser import parse

    read = parse(docstring)
    text = "\n".join(filter(None, (read.short_description, read.long_description)))
    parameters = {
        param.arg_name.strip("*` "): " ".join(param.description.split())
        for param in read.params
        if param.description and param.args[0] not in ("attribute",)
    }
    return Described(text.strip(), parameters)
