"""A typed Python function as a tool.

Its parameters become JSON Schema, and JSON arguments become its parameters. Pydantic does both,
from one model made of the signature, so that what is offered and what arrives cannot differ. The
fields of that model have names of our own and the parameters' names as aliases: a parameter may
then be called ``json`` or ``copy`` or ``_x``, which no field may.
"""

from __future__ import annotations

import inspect
import sys
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

from fallback.errors import InvalidToolError
from fallback.schema.shape import subschemas
from fallback.tools.docstrings import describe
from fallback.tools.typed_dicts import modern

if TYPE_CHECKING:
    from pydantic import BaseModel

_REFUSED: dict[Any, str] = {
    inspect.Parameter.POSITIONAL_ONLY: "is positional-only; tools are called by name",
    inspect.Parameter.VAR_POSITIONAL: "takes any number of values; give it one list instead",
    inspect.Parameter.VAR_KEYWORD: "takes any names; declare the ones that a model may use",
}


class Injected:
    """Marks a parameter that the application fills in: ``user_id: Annotated[str, Injected]``.

    It is not shown to the model, and a model that sends it is refused.
    """


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of the function.

    Attributes:
        name: as the function knows it.
        shown: as the model knows it: an alias where ``Field(alias="from")`` gives one.
        annotation: the type with its metadata; ``Any`` if there is none.
        default: ``inspect.Parameter.empty`` where there is none.
        injected: whether the application fills it in.
    """

    name: str
    shown: str
    annotation: Any
    default: Any
    injected: bool


@dataclass(frozen=True, slots=True)
class FunctionSignature:
    """What a function says about itself.

    Attributes:
        parameters: JSON Schema without the injected parameters.
        injected: names of the injected parameters.
        description: of the function, from its docstring.
        bound: whether ``self`` was left out, and so has to be filled in by the method's object.
    """

    parameters: dict[str, Any]
    injected: frozenset[str]
    description: str
    model: type[BaseModel]
    fields: Mapping[str, str]
    bound: bool

    def convert(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """JSON arguments as the annotated types, by parameter; what is missing is left out.

        Raises:
            pydantic.ValidationError: a value does not become the annotated type.
        """
        made = self.model.model_validate(dict(arguments))
        return {self.fields[field]: getattr(made, field) for field in sorted(made.model_fields_set)}


def read_signature(
    function: Callable[..., Any], name: str, injected: frozenset[str]
) -> FunctionSignature:
    """Everything that a tool needs to know about a function.

    Args:
        function: a function, coroutine function, bound method, or object with ``__call__``.
        name: of the tool, for messages.
        injected: names that are injected besides those marked with :class:`Injected`.

    Raises:
        InvalidToolError: a parameter that cannot be offered, or an annotation without a JSON form.
    """
    found, bound = _parameters(function, name, injected)
    documented = describe(inspect.getdoc(_documented(function)))
    offered = {f"p{i}": p for i, p in enumerate(p for p in found if not p.injected)}
    model = _model(name, offered)
    schema = _schema(model, name, list(offered.values()))
    for shown, prop in schema.get("properties", {}).items():
        text = next((documented.parameters.get(p.name) for p in found if p.shown == shown), None)
        if text and not prop.get("description"):
            prop["description"] = text
    return FunctionSignature(
        parameters=schema,
        injected=frozenset(p.name for p in found if p.injected),
        description=documented.text,
        model=model,
        fields={field: p.name for field, p in offered.items()},
        bound=bound,
    )


def _documented(function: Callable[..., Any]) -> Any:
    """What carries the docstring: for an object that is called, its method."""
    if inspect.isroutine(function) or inspect.isclass(function):
        return function
    partial = getattr(function, "func", None)  # functools.partial
    return partial or type(function).__call__


def _parameters(
    function: Callable[..., Any], name: str, injected: frozenset[str]
) -> tuple[list[Parameter], bool]:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError, NameError) as error:
        raise InvalidToolError(f"tool {name!r}: its signature cannot be read: {error}") from error
    listed = list(signature.parameters.values())
    bound = bool(listed) and _is_self(function, listed[0])
    found = []
    for parameter in listed[bound:]:
        if reason := _REFUSED.get(parameter.kind):
            raise InvalidToolError(f"tool {name!r}: the parameter {parameter.name!r} {reason}")
        found.append(_read(function, parameter, name, injected))
    missing = injected - {p.name for p in found}
    if missing:
        names = ", ".join(map(repr, sorted(missing)))
        raise InvalidToolError(f"tool {name!r}: injected {names} is not among its parameters")
    return found, bound


def _is_self(function: Callable[..., Any], first: inspect.Parameter) -> bool:
    """Whether a plain function is a method that has been decorated inside its class."""
    holder = getattr(function, "__qualname__", "").rpartition(".")[0]
    in_class = bool(holder) and not holder.endswith("<locals>")
    unnamed = first.annotation is first.empty and first.name in ("self", "cls")
    return inspect.isfunction(function) and in_class and unnamed


def _read(
    function: Callable[..., Any], parameter: inspect.Parameter, tool: str, injected: frozenset[str]
) -> Parameter:
    raw = parameter.annotation
    filled = parameter.name in injected
    try:
        annotation = Any if raw is parameter.empty else modern(_resolved(function, raw))
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        if not filled:  # what the application fills in may have any type
            where = f"tool {tool!r}: the annotation of {parameter.name!r}"
            raise InvalidToolError(f"{where} cannot be resolved: {error}") from error
        annotation = Any
    shown, marks = parameter.name, _metadata(annotation)
    filled = filled or any(mark is Injected or isinstance(mark, Injected) for mark in marks)
    for mark in marks:
        alias = getattr(mark, "validation_alias", None) or getattr(mark, "alias", None)
        if isinstance(alias, str):
            shown = alias
    return Parameter(parameter.name, shown, annotation, parameter.default, filled)


def _metadata(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()


def _resolved(function: Callable[..., Any], annotation: Any) -> Any:
    """The annotation with names in text looked up where the function was written."""
    holder = types.SimpleNamespace(__annotations__={"it": annotation})
    plain = inspect.unwrap(function)
    plain = getattr(plain, "func", plain)  # functools.partial
    plain = getattr(plain, "__func__", plain)
    if not hasattr(plain, "__globals__"):  # an object that is called
        plain = type(plain).__call__
    names = getattr(plain, "__globals__", {})
    try:
        return typing.get_type_hints(holder, names, include_extras=True)["it"]
    except NameError:
        # A class defined inside the function that declares the tool is known only there.
        local = _callers_names()
        return typing.get_type_hints(holder, names, local, include_extras=True)["it"]


def _callers_names() -> dict[str, Any]:
    """The local names of whoever declares the tool: the first frame outside this package."""
    frame = sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("fallback."):
        frame = frame.f_back
    return dict(frame.f_locals)


def _model(name: str, offered: Mapping[str, Parameter]) -> type[BaseModel]:
    from pydantic import ConfigDict, PydanticSchemaGenerationError, create_model
    from pydantic.errors import PydanticUserError

    fields: dict[str, Any] = {key: _field(parameter, name) for key, parameter in offered.items()}
    try:
        return create_model("Arguments", __config__=ConfigDict(extra="forbid"), **fields)
    except (PydanticSchemaGenerationError, PydanticUserError, TypeError, NameError) as error:
        raise InvalidToolError(_without_form(name, offered.values(), error)) from error


def _field(parameter: Parameter, tool: str) -> tuple[Any, Any]:
    """One field of the model: the annotation under the parameter's name, and its default."""
    from pydantic import Field
    from pydantic.fields import FieldInfo

    texts = [mark for mark in _metadata(parameter.annotation) if isinstance(mark, str)]
    told: dict[str, Any] = {"description": texts[0]} if texts else {}
    named = Field(alias=parameter.shown, validation_alias=parameter.shown, **told)
    kind, default = parameter.annotation, parameter.default
    if isinstance(default, FieldInfo):
        raise InvalidToolError(
            f"tool {tool!r}: the parameter {parameter.name!r} has Field(...) as its default; "
            f"write {parameter.name}: Annotated[..., Field(...)]"
        )
    return Annotated[kind, named], ... if default is inspect.Parameter.empty else default


def _schema(model: type[BaseModel], name: str, parameters: list[Parameter]) -> dict[str, Any]:
    from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError
    from pydantic.json_schema import GenerateJsonSchema

    class Plain(GenerateJsonSchema):
        """Without titles, and without warnings."""

        def emit_warning(self, kind: Any, detail: str) -> None:
            """Say nothing: a default that is not JSON is the function's own business."""

        def field_title_should_be_set(self, schema: Any) -> bool:
            """Never: a title made of a name says nothing that the name does not."""
            return False

    try:
        schema = model.model_json_schema(schema_generator=Plain)
    except (PydanticInvalidForJsonSchema, PydanticUserError) as error:
        raise InvalidToolError(_without_form(name, parameters, error)) from error
    _drop_titles(schema)
    schema.pop("description", None)
    return schema


def _drop_titles(schema: dict[str, Any]) -> None:
    """Those of models and of single fields."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node.get("title"), str):
            del node["title"]
        waiting += [sub for _, sub in subschemas(node) if isinstance(sub, dict)]


def _without_form(name: str, parameters: typing.Iterable[Parameter], error: Exception) -> str:
    """Which parameter has no JSON form, found by trying each alone."""
    from pydantic import TypeAdapter

    for parameter in parameters:
        try:
            TypeAdapter(parameter.annotation).json_schema()
        except Exception:  # noqa: BLE001 - whatever pydantic says, it is this parameter
            kind = getattr(parameter.annotation, "__name__", parameter.annotation)
            what = f"the parameter {parameter.name!r} has the type {kind}, which has no JSON form"
            return f"tool {name!r}: {what}; inject it, or take a type that has one"
    return f"tool {name!r}: {str(error).splitlines()[0]}"
