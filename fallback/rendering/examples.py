"""Worked examples: questions with their right calls, shown to the model in the system prompt.

They stand in place of the example that is made of a tool's parameters, and are written as real
calls and results are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from fallback.messages import ToolCall, ToolResult

__all__ = ["Example"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Example:
    """A question, the right calls, and what they return.

    Attributes:
        results: one for each call, or none at all, which leaves them out of what is shown.
    """

    question: str
    calls: tuple[ToolCall, ...]
    results: tuple[ToolResult, ...] = ()

    @property
    def tools(self) -> frozenset[str]:
        """The tools that are called."""
        return frozenset(call.name for call in self.calls)

    def without_results(self) -> Example:
        """The same, as if nothing had come back."""
        return replace(self, results=())
