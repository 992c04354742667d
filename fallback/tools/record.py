"""The tool itself, and the ways to declare one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Literal, overload

from fallback.errors import ConfigurationError, InvalidToolError
from fallback.limits import DEFAULT_LIMITS, Limits
from fallback.schema import CompiledSchema, normalise
from fallback.schema.checking import check_compiled
from fallback.schema.places import cut
from fallback.tools.binding import bound_arguments
from fallback.tools.compensation import bound_to, check_compensation
from fallback.tools.dicts import read_dict
from fallback.tools.functions import FunctionSignature, read_signature
from fallback.tools.names import check_name
from fallback.tools.pace import check_pace


class Risk(StrEnum):
    """What a call can do to the world; policies are written in these words."""

    READ_ONLY = "read_only"
    REVERSIBLE_WRITE = "reversible_write"
    EXTERNAL_COMMUNICATION = "external_communication"
    DESTRUCTIVE = "destructive"


RiskLike = Risk | Literal["read_only", "reversible_write", "external_communication", "destructive"]
"""A risk, or its name."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tool:
    """A tool as it is declared. Two tools are equal only if they are the same one.

    Attributes:
        name: shown to the model unchanged.
        description: what it does and when to use it.
        parameters: JSON Schema of the arguments as the model sees them; read only.
        handler: the function, sync or async; ``None`` for a tool that is only offered and read.
        risk: what a call can do; ``None`` if nobody has said.
        injected: names of parameters that the application fills in.
        hidden: whether the model may neither see nor call it.
        untrusted: whether its results hold text from outside the application, such as a web page.
        preview: takes the handler's arguments and says what a call would do: text, or a mapping.
        idempotent: whether calling it twice is the same as calling it once.
        idempotency_key: takes the handler's arguments and names the operation, as text: calls of
            one name are one operation, which runs once.
        timeout: seconds after which a call is given up; ``None`` for ``Limits.tool_seconds``.
        rate: ``(n, seconds)``: at most ``n`` calls of a session begin within so many seconds.
        examples: arguments that show how it is used; the first valid one is shown to the model.
        lint_off: rules of ``fallback lint`` that do not hold for this tool, each with the reason.
        compensate: undoes a call; takes parameters of the tool by name, and ``result`` for what the
            call returned. ``None`` if a call cannot be undone.
        compiled: the schema made ready; what :mod:`fallback.schema` works with.

    Raises:
        InvalidToolError: bad name, or a schema that cannot be offered or is not safe to use.
    """

    name: str
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    handler: Callable[..., Any] | None = None
    risk: Risk | None = None
    injected: frozenset[str] = frozenset()
    hidden: bool = False
    untrusted: bool = False
    preview: Callable[..., Any] | None = None
    idempotent: bool = False
    idempotency_key: Callable[..., str] | None = None
    timeout: float | None = None
    rate: tuple[int, float] | None = None
    examples: tuple[dict[str, Any], ...] = ()
    lint_off: Mapping[str, str] = field(default_factory=dict, repr=False)
    compensate: Callable[..., Any] | None = None
    limits: Limits = field(default=DEFAULT_LIMITS, repr=False)
    function: FunctionSignature | None = field(default=None, repr=False)
    compiled: CompiledSchema = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_name(self.name)
        text: Any = self.description
        if not isinstance(text, str):
            kind = type(text).__name__
            raise InvalidToolError(f"tool {self.name!r}: its description is {kind}, not text")
        try:
            schema = _without(normalise(self.parameters, limits=self.limits), self.injected)
            compiled = CompiledSchema(schema, forbidden=self.injected, limits=self.limits)
            check_compiled(compiled)
        except InvalidToolError as error:
            raise InvalidToolError(f"tool {self.name!r}: {error}") from None
        if len(self.description) > self.limits.max_schema_chars:
            raise InvalidToolError(f"tool {self.name!r}: its description is too long")
        put = object.__setattr__  # frozen: this is the one moment when it is not
        put(self, "parameters", schema)
        put(self, "compiled", compiled)
        put(self, "injected", frozenset(self.injected))
        put(self, "lint_off", dict(self.lint_off))
        put(self, "examples", tuple(dict(example) for example in self.examples))
        if self.risk is not None:
            put(self, "risk", _risk(self.risk, self.name))
        check_pace(self.name, self.timeout, self.rate)
        if self.compensate is not None:
            if isinstance(self.compensate, Tool):
                put(self, "compensate", self.compensate.handler)
            check_compensation(self)

    @classmethod
    def from_function(
        cls,
        fn: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        injected: Iterable[str] = (),
        hidden: bool = False,
        risk: RiskLike | None = None,
        untrusted: bool = False,
        preview: Callable[..., Any] | None = None,
        idempotent: bool = False,
        idempotency_key: Callable[..., str] | None = None,
        timeout: float | None = None,
        rate: tuple[int, float] | None = None,
        examples: Iterable[Mapping[str, Any]] = (),
        lint_off: Mapping[str, str] | None = None,
        compensate: Callable[..., Any] | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> Tool:
        """A tool from a typed function: signature and docstring become schema and descriptions.

        Args:
            fn: a function, coroutine function, bound or static method, or callable object.
            name: instead of the function's own.
            description: instead of the docstring's; its parameters' texts are used all the same.
            injected: parameters that the application fills in, besides those marked ``Injected``.
            hidden: keep it from the model.
            risk: what a call can do.
            untrusted: its results hold text from outside the application.
            preview: says what a call would do; see :class:`Tool`.
            idempotent: calling it twice is the same as calling it once.
            idempotency_key: names the operation of a call; see :class:`Tool`.
            timeout: seconds after which a call is given up.
            rate: at most how many calls begin within how many seconds.
            examples: arguments that show how it is used.
            lint_off: see the class.
            compensate: undoes a call.
            limits: bounds of the schema.

        Raises:
            InvalidToolError: names the tool and the parameter that cannot be offered.
        """
        fn = fn.__func__ if isinstance(fn, staticmethod) else fn
        if inspect.isclass(fn) or not callable(fn):
            raise InvalidToolError(f"a tool is made of a function, got {cut(repr(fn))}")
        called = check_name(name if name is not None else _name_of(fn))
        names = frozenset((injected,) if isinstance(injected, str) else injected)
        function = read_signature(fn, called, names)
        return cls(
            name=called,
            description=function.description if description is None else description,
            parameters=function.parameters,
            handler=fn,
            risk=None if risk is None else _risk(risk, called),
            injected=function.injected,
            hidden=hidden,
            untrusted=untrusted,
            preview=preview,
            idempotent=idempotent,
            idempotency_key=idempotency_key,
            timeout=timeout,
            rate=rate,
            examples=tuple(dict(example) for example in examples),
            lint_off=lint_off or {},
            compensate=compensate,
            limits=limits,
            function=function,
        )

    @classmethod
    def from_dict(
        cls,
        d: Mapping[str, Any],
        handler: Callable[..., Any] | None = None,
        *,
        injected: Iterable[str] = (),
        hidden: bool = False,
        risk: RiskLike | None = None,
        untrusted: bool = False,
        timeout: float | None = None,
        rate: tuple[int, float] | None = None,
        compensate: Callable[..., Any] | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> Tool:
        """A tool from a dictionary as OpenAI, Ollama, Anthropic or MCP write it, or a bare one.

        ``{"type": "function", "function": {"name", "description", "parameters"}}``, the same
        without the wrapper, and ``input_schema`` or ``inputSchema`` in place of ``parameters``.
        Missing or empty parameters mean none. The dictionary is not changed.

        Args:
            d: the dictionary.
            handler: the function that is called with the arguments by name.
            injected: parameters of the handler that the application fills in; taken out of the
                schema.
            hidden: keep it from the model.
            risk: what a call can do.
            untrusted: its results hold text from outside the application.
            timeout: seconds after which a call is given up.
            rate: at most how many calls begin within how many seconds.
            compensate: undoes a call.
            limits: bounds of the schema.

        Raises:
            InvalidToolError: names the tool, if it has a name, and what is wrong with it.
        """
        read = read_dict(d)
        return cls(
            **read,
            handler=handler,
            risk=None if risk is None else _risk(risk, str(read["name"])),
            injected=frozenset((injected,) if isinstance(injected, str) else injected),
            hidden=hidden,
            untrusted=untrusted,
            timeout=timeout,
            rate=rate,
            compensate=compensate,
            limits=limits,
        )

    def to_dict(self) -> dict[str, Any]:
        """The tool as OpenAI's and Ollama's wire have it; hidden and injected parts are not in
        it."""
        inside = {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
        }
        return {"type": "function", "function": inside}

    def bind(
        self, arguments: Mapping[str, Any], injected_values: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """The keyword arguments of the handler for validated JSON arguments.

        Values become what the function's annotations say: dataclasses, models, dates, enumerations.
        Arguments that are left out are left to the function's own defaults.

        Args:
            arguments: as :func:`fallback.schema.violations` has found nothing wrong with.
            injected_values: what the application knows; of it only this tool's injected parameters
                are used.

        Raises:
            ArgumentsError: an argument does not become the annotated type, or the handler does not
                take it; a sentence for the model, with the place.
            ConfigurationError: an injected parameter without a default has no value.
        """
        return bound_arguments(self, arguments, injected_values or {})

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function itself, called as it was written."""
        if self.handler is None:
            raise ConfigurationError(f"tool {self.name!r} has no handler")
        return self.handler(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Tool:
        """A method that was decorated inside its class, with its object filled in."""
        if instance is None or self.function is None or not self.function.bound:
            return self
        assert self.handler is not None  # noqa: S101 - from_function always sets it
        return replace(
            self,
            handler=self.handler.__get__(instance, owner),
            compensate=bound_to(self.compensate, instance),
            preview=bound_to(self.preview, instance),
            idempotency_key=bound_to(self.idempotency_key, instance),
        )


ToolLike = Tool | Callable[..., Any] | Mapping[str, Any]
"""What a catalogue takes: a tool, a function, or a dictionary."""


@overload
def tool(fn: Callable[..., Any], /) -> Tool: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    injected: Iterable[str] = (),
    hidden: bool = False,
    risk: RiskLike | None = None,
    untrusted: bool = False,
    preview: Callable[..., Any] | None = None,
    idempotent: bool = False,
    idempotency_key: Callable[..., str] | None = None,
    timeout: float | None = None,
    rate: tuple[int, float] | None = None,
    examples: Iterable[Mapping[str, Any]] = (),
    lint_off: Mapping[str, str] | None = None,
    compensate: Callable[..., Any] | None = None,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    injected: Iterable[str] = (),
    hidden: bool = False,
    risk: RiskLike | None = None,
    untrusted: bool = False,
    preview: Callable[..., Any] | None = None,
    idempotent: bool = False,
    idempotency_key: Callable[..., str] | None = None,
    timeout: float | None = None,
    rate: tuple[int, float] | None = None,
    examples: Iterable[Mapping[str, Any]] = (),
    lint_off: Mapping[str, str] | None = None,
    compensate: Callable[..., Any] | None = None,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Declare a function as a tool: ``@tool``, or ``@tool(name="...", risk=Risk.READ_ONLY)``.

    The result is still called like the function. See :meth:`Tool.from_function`.
    """

    def declare(function: Callable[..., Any]) -> Tool:
        return Tool.from_function(
            function,
            name=name,
            description=description,
            injected=injected,
            hidden=hidden,
            risk=risk,
            untrusted=untrusted,
            preview=preview,
            idempotent=idempotent,
            idempotency_key=idempotency_key,
            timeout=timeout,
            rate=rate,
            examples=examples,
            lint_off=lint_off,
            compensate=compensate,
        )

    return declare if fn is None else declare(fn)


def _without(schema: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The schema without these parameters; what still names them elsewhere is refused when sent."""
    gone = frozenset(names)
    if not gone:
        return schema
    kept = {k: v for k, v in schema.get("properties", {}).items() if k not in gone}
    schema = {**schema, "properties": kept}
    if isinstance(schema.get("required"), list):
        schema["required"] = [name for name in schema["required"] if name not in gone]
    return schema


def _risk(value: Any, name: str) -> Risk:
    try:
        return Risk(value)
    except ValueError:
        known = ", ".join(Risk)
        raise InvalidToolError(f"tool {name!r}: no risk {value!r}; use one of {known}") from None


def _name_of(fn: Any) -> str:
    """The function's own name; that of what is inside for ``functools.partial`` and objects."""
    inside = getattr(fn, "func", None)
    name = getattr(fn, "__name__", None) or getattr(inside, "__name__", None)
    if name == "<lambda>":
        raise InvalidToolError("a lambda has no name; give one with tool(name=...)")
    return str(name or type(fn).__name__)
