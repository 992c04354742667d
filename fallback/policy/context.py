"""Who a turn is for and what he may do: said by the application, never by a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from fallback.errors import ConfigurationError

__all__ = ["NOBODY", "ExecutionContext"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionContext:
    """The authority under which a turn runs.

    It is given to authorisation hooks, fills injected parameters, and is part of what an approval
    is bound to. Nothing of it is ever taken from the arguments of a call.

    Attributes:
        user: who is asking.
        tenant: whose data it is about.
        scopes: what he may do, in the application's own words; read by its hooks.
        allowed_tools: the only tools that may be called; ``None`` for all that are offered.
        clock: tells the time, with its zone; ``None`` for the system's. A ledger that the session
            opens goes by it, and so do the approvals in it.
        locale: such as ``nb-NO``.
        values: values of injected parameters, by name.

    Raises:
        ConfigurationError: ``scopes`` or ``allowed_tools`` is one string.
    """

    user: str | None = None
    tenant: str | None = None
    scopes: AbstractSet[str] = frozenset()
    allowed_tools: AbstractSet[str] | None = None
    clock: Callable[[], datetime] | None = field(default=None, compare=False, repr=False)
    locale: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        put = object.__setattr__  # frozen: this is the one moment when it is not
        put(self, "scopes", names("scopes", self.scopes))
        put(self, "values", dict(self.values))
        if self.allowed_tools is not None:
            put(self, "allowed_tools", names("allowed_tools", self.allowed_tools))

    @classmethod
    def of(cls, given: ExecutionContext | Mapping[str, Any] | None) -> ExecutionContext:
        """A context as it is; a mapping is taken for the values of injected parameters."""
        return given if isinstance(given, ExecutionContext) else cls(values=given or {})

    @property
    def injected(self) -> dict[str, Any]:
        """Values for injected parameters: ``values``, else the user, tenant or locale itself."""
        own = {"user": self.user, "tenant": self.tenant, "locale": self.locale}
        return {**{k: v for k, v in own.items() if v is not None}, **self.values}


def names(what: str, given: Iterable[str]) -> frozenset[str]:
    """A set of names; one string in its place is a set of letters and always a mistake."""
    if isinstance(given, str):
        raise ConfigurationError(f"{what} is a set of names, got one string; write {{{given!r}}}")
    return frozenset(given)


NOBODY = ExecutionContext()
"""The context of an application that says nothing about who is asking."""
