from __future__ import annotations

import dataclasses
import datetime
import enum
import functools
import inspect
import json
from collections.abc import Callable
from typing import Annotated, Any, Literal, Optional, TypedDict

import pydantic
import pytest
from pydantic import Field

from fallback.errors import InvalidToolError
from fallback.limits import Limits
from fallback.schema import violations
from fallback.tools import Risk, Tool, tool


class Unit(enum.Enum):
    CELSIUS = "c"
    FAHRENHEIT = "f"


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0


class Options(TypedDict, total=False):
    """How to do it."""

    deep: bool
    inner: Inner


class Inner(TypedDict):
    n: int


class Order(pydantic.BaseModel):
    """What is ordered."""

    model_config = pydantic.ConfigDict(title="An Order")

    item: str = Field(description="the item", title="Item!")
    amount: int = Field(default=1, ge=1)
    parts: list[Order] = []


def properties(fn: Callable[..., Any], **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = Tool.from_function(fn, **more).parameters["properties"]
    return made


def test_a_typed_function_becomes_a_tool() -> None:
    @tool
    def get_weather(city: str, days: int = 3) -> str:
        """The weather of one place."""
        return f"{city} {days}"

    assert get_weather.name == "get_weather"
    assert get_weather.description == "The weather of one place."
    assert get_weather.parameters == {
        "type": "object",
        "additionalProperties": False,
        "properties": {"city": {"type": "string"}, "days": {"default": 3, "type": "integer"}},
        "required": ["city"],
    }
    assert get_weather("Oslo", days=2) == "Oslo 2"
    assert repr(get_weather) == "Tool('get_weather')"


def test_the_decorator_takes_what_the_signature_cannot_say() -> None:
    @tool(
        name="Delete file",
        description="Deletes.",
        injected=["tenant"],
        hidden=True,
        risk=Risk.DESTRUCTIVE,
        examples=[{"path": "a"}],
    )
    def delete(path: str, tenant: str) -> None:
        """Not shown.

        Args:
            path: where
        """

    assert (delete.name, delete.description, delete.hidden) == ("Delete file", "Deletes.", True)
    assert delete.risk is Risk.DESTRUCTIVE
    assert delete.injected == {"tenant"}
    assert delete.examples == ({"path": "a"},)
    assert delete.parameters["properties"] == {"path": {"type": "string", "description": "where"}}


def f_literal(x: Literal["a", "b"]) -> None: ...
def f_enum(x: Unit) -> None: ...
def f_optional(x: Optional[int] = None) -> None: ...  # noqa: UP045 - people write it
def f_union(x: int | str) -> None: ...
def f_list(x: list[float]) -> None: ...
def f_dict(x: dict[str, int]) -> None: ...
def f_tuple(x: tuple[int, str]) -> None: ...
def f_date(x: datetime.date) -> None: ...
def f_constrained(x: Annotated[int, Field(ge=1, le=7)]) -> None: ...
def f_bare(x) -> None: ...  # type: ignore[no-untyped-def] # a parameter without a type
def f_any(x: Any) -> None: ...


@pytest.mark.parametrize(
    ("fn", "schema"),
    [
        (f_literal, {"enum": ["a", "b"], "type": "string"}),
        (f_enum, {"$ref": "#/$defs/Unit"}),
        (f_optional, {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}),
        (f_union, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (f_list, {"items": {"type": "number"}, "type": "array"}),
        (f_dict, {"additionalProperties": {"type": "integer"}, "type": "object"}),
        (f_date, {"format": "date", "type": "string"}),
        (f_constrained, {"maximum": 7, "minimum": 1, "type": "integer"}),
        (f_bare, {}),
        (f_any, {}),
    ],
)
def test_annotations_become_schemas(fn: Callable[..., Any], schema: Any) -> None:
    assert properties(fn) == {"x": schema}


def test_structures_become_definitions_without_titles() -> None:
    def f(point: Point, order: Order, options: Options, unit: Unit = Unit.CELSIUS) -> None: ...

    made = Tool.from_function(f)
    assert "title" not in json.dumps(made.parameters).replace("titles", "")
    assert made.parameters["$defs"]["Options"]["description"] == "How to do it."
    assert made.parameters["$defs"]["Order"]["properties"]["parts"]["items"] == {
        "$ref": "#/$defs/Order"
    }
    assert made.parameters["properties"]["unit"]["default"] == "c"
    good = {"point": {"x": 1}, "order": {"item": "a"}, "options": {"inner": {"n": 1}}}
    assert not violations(made.compiled, good)
    assert violations(made.compiled, {**good, "options": {"inner": {}}})


def test_typed_dicts_are_taken_wherever_they_stand() -> None:
    def f(
        many: list[Options],
        maybe: Inner | None,
        either: Annotated[dict[str, Inner], Field(min_length=1)],
    ) -> None: ...

    made = Tool.from_function(f)
    good = {"many": [{"deep": True}], "maybe": {"n": 1}, "either": {"a": {"n": 2}}}
    assert not violations(made.compiled, good)
    assert made.bind(good) == good
    assert violations(made.compiled, {**good, "maybe": {"n": "x"}})
    assert violations(made.compiled, {**good, "either": {}})


def test_local_classes_are_found_where_the_tool_is_declared() -> None:
    @dataclasses.dataclass
    class Local:
        n: int

    @tool
    def f(x: Local) -> int:
        return x.n

    assert f.bind({"x": {"n": 3}}) == {"x": Local(3)}


def test_an_async_function_is_a_tool_like_any_other() -> None:
    @tool
    async def wait(seconds: float) -> None: ...

    assert wait.handler is not None
    assert inspect.iscoroutinefunction(wait.handler)
    assert wait.parameters["required"] == ["seconds"]


class Mail:
    def __init__(self, user: str) -> None:
        self.user = user

    @tool
    def send(self, to: str) -> str:
        """Send a mail."""
        return f"{self.user} -> {to}"

    def read(self, limit: int = 3) -> str:
        """Read mail."""
        return f"{self.user} {limit}"

    @staticmethod
    def check(address: str) -> bool:
        """Check an address."""
        return "@" in address

    def __call__(self, to: str) -> str:
        """Send at once."""
        return self.send(to)


def test_methods_are_tools_of_their_object() -> None:
    mail = Mail("ada")
    assert Tool.from_function(mail.read).name == "read"
    assert Tool.from_function(mail.read)(limit=2) == "ada 2"
    assert Tool.from_function(mail.read).parameters["properties"].keys() == {"limit"}
    assert mail.send.parameters["properties"].keys() == {"to"}
    assert mail.send(to="bob") == "ada -> bob"
    assert mail.send.bind({"to": "bob"}) == {"to": "bob"}
    assert Mail.send.name == "send"
    assert Tool.from_function(Mail.check)("a@b")
    assert tool(staticmethod(Mail.check))("a@b")


def test_objects_and_partial_functions_are_tools_too() -> None:
    made = Tool.from_function(Mail("ada"))
    assert (made.name, made.description) == ("Mail", "Send at once.")
    assert made.parameters["required"] == ["to"]

    def power(base: int, exponent: int) -> int:
        """Raise."""
        return int(base**exponent)

    square = Tool.from_function(functools.partial(power, exponent=2))
    assert (square.name, square.description) == ("power", "Raise.")
    assert square.bind({"base": 3}) == {"base": 3}
    assert square(base=3) == 9


def test_a_wrapped_function_shows_what_is_inside() -> None:
    def inner(city: str) -> str:
        """Weather."""
        return city

    @functools.wraps(inner)
    def outer(*args: Any, **kwargs: Any) -> str:
        return inner(*args, **kwargs)

    made = Tool.from_function(outer)
    assert (made.name, made.description) == ("inner", "Weather.")
    assert made.parameters["required"] == ["city"]


def test_names_that_no_model_field_may_have_are_fine_as_parameters() -> None:
    def f(
        json: str, copy: int, schema: int, model_dump: int, _private: int, p0: int, self_: int
    ) -> None: ...

    made = Tool.from_function(f)
    assert list(made.parameters["properties"]) == list(inspect.signature(f).parameters)
    given = dict.fromkeys(made.parameters["properties"], 1) | {"json": "a"}
    assert made.bind(given) == given


def test_an_alias_gives_a_name_that_python_cannot() -> None:
    def f(
        from_: Annotated[str, Field(alias="from")], class_: Annotated[int, Field(alias="class")] = 1
    ) -> None:
        """Move.

        Args:
            from_: where it stands
        """

    made = Tool.from_function(f)
    assert list(made.parameters["properties"]) == ["from", "class"]
    assert made.parameters["properties"]["from"]["description"] == "where it stands"
    assert made.bind({"from": "a"}) == {"from_": "a"}


# --- what cannot be a tool


def g_args(*args: int) -> None: ...
def g_kwargs(**options: int) -> None: ...
def g_only(x: int, /) -> None: ...
def g_socket(x: Callable[[int], int]) -> None: ...
def g_class(x: ExampleOfNothing) -> None: ...  # noqa: F821 - that is the point
def g_odd(x: threading_lock) -> None: ...  # noqa: F821 - that is the point
def g_default(x: int = Field(default=3)) -> None: ...


class Opaque: ...


def g_opaque(a: int, x: Opaque) -> None: ...


@pytest.mark.parametrize(
    ("fn", "why"),
    [
        (
            g_args,
            "tool 'g_args': the parameter 'args' takes any number of values; give it one list",
        ),
        (g_kwargs, "tool 'g_kwargs': the parameter 'options' takes any names; declare the ones"),
        (g_only, "tool 'g_only': the parameter 'x' is positional-only"),
        (g_socket, "the parameter 'x' has the type .*, which has no JSON form"),
        (g_class, "the annotation of 'x' cannot be resolved: name 'ExampleOfNothing'"),
        (g_odd, "the annotation of 'x' cannot be resolved"),
        (g_default, r"write x: Annotated\[..., Field\(...\)\]"),
        (
            g_opaque,
            "tool 'g_opaque': the parameter 'x' has the type Opaque, which has no JSON form",
        ),
        (lambda x: x, "a lambda has no name"),
        (print, "tool 'print'"),
        (Point, "a tool is made of a function, got <class"),
        (3, "a tool is made of a function, got 3"),
    ],
)
def test_what_cannot_be_offered_is_refused_clearly(fn: Any, why: str) -> None:
    with pytest.raises(InvalidToolError, match=why) as caught:
        Tool.from_function(fn)
    assert "\n" not in str(caught.value)


def test_an_injected_name_has_to_be_a_parameter() -> None:
    with pytest.raises(InvalidToolError, match="injected 'user' is not among its parameters"):
        Tool.from_function(f_list, injected=["user"])


def test_the_limits_of_the_caller_count() -> None:
    with pytest.raises(InvalidToolError, match="tool 'f_literal': the schema is longer than 10"):
        Tool.from_function(f_literal, limits=Limits(max_schema_chars=10))


def test_a_callable_without_a_signature_is_refused() -> None:
    with pytest.raises(InvalidToolError, match="tool 'odd': its signature cannot be read"):
        Tool.from_function(max, name="odd")
