"""What is known of a client before it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from benchmarks.clients.environments import Kind
from benchmarks.clients.offered import ADD
from benchmarks.clients.scenarios import Scenario, Task
from benchmarks.clients.scripts import Tool

__all__ = ["Client"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One client.

    Attributes:
        name: of its environment, and on the command line.
        packages: what is installed into it.
        program: file in ``programs``; an npm package's is run by node, or by Python when it is a
            command.
        variants: each a way of using it, and a row of the table.
        tool: what it offers.
        tools: what it offers instead, by a pattern of variants.
        tasks: what its program can do besides asking and running tools.
        skips: what says nothing about it, with the reason: a scenario, a model of one, or a pattern
            of ``variant/scenario/model``.
        causes: of failures that are its own, by the model of the scenario or the scenario.
        company: name and variant of the client that is asked at the same time where two are;
            without one it is a second one of its own.
        remark: what else was seen of it.
    """

    name: str
    kind: Kind = "python"
    packages: tuple[str, ...]
    program: str
    variants: tuple[str, ...] = ("",)
    tool: Tool = ADD
    tools: Mapping[str, Tool] = field(default_factory=dict)
    tasks: frozenset[Task] = frozenset()
    skips: Mapping[str, str] = field(default_factory=dict)
    causes: Mapping[str, str] = field(default_factory=dict)
    company: tuple[str, str] | None = None
    remark: str = ""

    def tool_of(self, variant: str) -> Tool:
        """What a variant offers."""
        others = (tool for pattern, tool in self.tools.items() if fnmatchcase(variant, pattern))
        return next(others, self.tool)

    def skip(self, variant: str, scenario: Scenario) -> str | None:
        """Why a case says nothing about a variant, if it does not."""
        place = f"{variant}/{scenario.id}/{scenario.model}"
        for key, reason in self.skips.items():
            if key in (scenario.id, scenario.model) or fnmatchcase(place, key):
                return reason
        return None
