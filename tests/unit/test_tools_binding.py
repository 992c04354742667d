from __future__ import annotations

import dataclasses
import datetime
import enum
import json
from typing import Annotated, Any

import pydantic
import pytest

from fallback.errors import ConfigurationError
from fallback.schema import violations
from fallback.tools import ArgumentsError, Injected, Tool, tool


class Unit(enum.Enum):
    CELSIUS = "c"
    FAHRENHEIT = "f"


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0


class Order(pydantic.BaseModel):
    item: str
    amount: int = 1


class Opaque: ...


def test_arguments_become_the_annotated_types() -> None:
    def book(
        when: datetime.datetime,
        where: Point,
        unit: Unit,
        orders: list[Order],
        tags: set[str],
        pair: tuple[int, str],
    ) -> None: ...

    made = Tool.from_function(book)
    bound = made.bind(
        {
            "when": "2026-01-31T09:00:00",
            "where": {"x": 1},
            "unit": "f",
            "orders": [{"item": "tea"}],
            "tags": ["a", "a"],
            "pair": [1, "b"],
        }
    )
    assert bound == {
        "when": datetime.datetime(2026, 1, 31, 9),
        "where": Point(1.0),
        "unit": Unit.FAHRENHEIT,
        "orders": [Order(item="tea")],
        "tags": {"a"},
        "pair": (1, "b"),
    }


def test_what_is_left_out_is_left_to_the_function() -> None:
    marker = object()

    def f(a: int, b: Any = marker, c: list[int] | None = None) -> Any:
        return b

    made = Tool.from_function(f)
    assert made.bind({"a": 1}) == {"a": 1}
    assert made(**made.bind({"a": 1})) is marker
    assert "default" not in made.parameters["properties"]["b"]


def test_the_arguments_are_not_changed() -> None:
    def f(points: list[Point]) -> None: ...

    given = {"points": [{"x": 1}]}
    Tool.from_function(f).bind(given)
    assert given == {"points": [{"x": 1}]}


def test_what_does_not_fit_the_function_is_said_with_its_place() -> None:
    def even(n: int) -> int:
        if n % 2:
            raise ValueError("must be even")
        return n

    def f(
        ns: list[Annotated[int, pydantic.AfterValidator(even)]], when: datetime.date | None = None
    ) -> None: ...

    made = Tool.from_function(f)
    with pytest.raises(ArgumentsError, match=r"^`\$\.ns\[1\]`: Value error, must be even$"):
        made.bind({"ns": [2, 3]})
    with pytest.raises(ArgumentsError, match=r"^`\$\.when`: "):
        made.bind({"ns": [], "when": "soon"})
    with pytest.raises(ArgumentsError, match=r"^`\$\.p0`: "):
        made.bind({"ns": [], "p0": 1})
    with pytest.raises(ArgumentsError, match=r"^`\$\.ns`: Field required"):
        made.bind({})


# --- injected parameters


@tool
def my_posts(
    query: str, user_id: Annotated[int, Injected], locale: Annotated[str, Injected()] = "none"
) -> str:
    """Search the user's own posts.

    Args:
        query: what to look for
        user_id: whose posts
    """
    return f"{user_id}:{query}:{locale}"


def test_injected_parameters_are_not_shown() -> None:
    assert my_posts.injected == {"user_id", "locale"}
    shown = json.dumps(my_posts.to_dict())
    assert "user_id" not in shown
    assert "locale" not in shown
    assert "whose posts" not in shown


def test_injected_parameters_are_filled_in_by_the_application() -> None:
    bound = my_posts.bind({"query": "tea"}, {"user_id": 7, "other": "x"})
    assert bound == {"query": "tea", "user_id": 7}
    assert my_posts(**bound) == "7:tea:none"
    assert my_posts.bind({"query": "tea"}, {"user_id": 7, "locale": "t"})["locale"] == "t"


def test_a_model_that_sends_an_injected_parameter_is_refused() -> None:
    found = violations(my_posts.compiled, {"query": "tea", "user_id": 8})
    assert [v.message for v in found] == ["unknown argument `user_id`; allowed: query"]
    with pytest.raises(ArgumentsError, match=r"^unknown argument `user_id`$"):
        my_posts.bind({"query": "tea", "user_id": 8}, {"user_id": 7})


def test_a_missing_injected_value_is_the_applications_mistake() -> None:
    with pytest.raises(
        ConfigurationError,
        match="tool 'my_posts' needs a value for its injected parameter 'user_id'",
    ):
        my_posts.bind({"query": "tea"}, {})


def test_an_injected_parameter_may_have_any_type() -> None:
    def f(a: int, connection: Opaque, later: NotImported) -> None: ...  # type: ignore[name-defined] # noqa: F821 - injected parameters may have types that are not there

    made = Tool.from_function(f, injected=("connection", "later"))
    assert made.parameters["properties"].keys() == {"a"}
    one = Opaque()
    assert made.bind({"a": 1}, {"connection": one, "later": 2}) == {
        "a": 1,
        "connection": one,
        "later": 2,
    }


def test_a_place_inside_a_union_is_named_as_far_as_it_exists() -> None:
    def f(x: list[Order | Point]) -> None: ...

    with pytest.raises(ArgumentsError, match=r"^`\$\.x\[0\]`: "):
        Tool.from_function(f).bind({"x": [{"item": "a", "amount": 1.5}]})
