from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import Field

from fallback.tools import Tool

GOOGLE = """Find posts.

    Looks at titles and texts.

    Args:
        query (str): what to look for,
            on two lines
        limit: how many

    Returns:
        The posts.
    """


NUMPY = """Find posts.

    Looks at titles and texts.

    Parameters
    ----------
    query : str
        what to look for,
        on two lines
    limit : int
        how many

    Returns
    -------
    list
        The posts.
    """


REST = """Find posts.

    Looks at titles and texts.

    :param query: what to look for,
        on two lines
    :param limit: how many
    :returns: The posts.
    """


@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY, REST])
def test_docstrings_of_every_style_describe_function_and_parameters(docstring: str) -> None:
    def find(query: str, limit: int = 3) -> list[str]:
        return []

    find.__doc__ = docstring
    made = Tool.from_function(find)
    assert made.description == "Find posts.\nLooks at titles and texts."
    assert made.parameters["properties"]["query"]["description"] == "what to look for, on two lines"
    assert made.parameters["properties"]["limit"]["description"] == "how many"


@pytest.mark.parametrize(
    "docstring", [None, "", "   ", "Args:", "Just\ntext: with colons", "日本語"]
)
def test_any_docstring_will_do(docstring: str | None) -> None:
    def f(a: int) -> None: ...

    f.__doc__ = docstring
    assert Tool.from_function(f).parameters["required"] == ["a"]


def test_a_description_at_the_parameter_wins_over_the_docstring() -> None:
    def f(a: Annotated[str, Field(description="field")], b: Annotated[str, "text"], c: str) -> None:
        """Do.

        Args:
            a: docstring
            b: docstring
            c: docstring
        """

    texts = {
        name: prop["description"]
        for name, prop in Tool.from_function(f).parameters["properties"].items()
    }
    assert texts == {"a": "field", "b": "text", "c": "docstring"}
