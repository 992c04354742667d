"""Tools: what the model is offered, and how its arguments become the call of a function."""

from __future__ import annotations

from fallback.tools.binding import ArgumentsError
from fallback.tools.compensation import bind_beside, bind_compensation
from fallback.tools.functions import Injected
from fallback.tools.names import check_name
from fallback.tools.output import ToolOutput
from fallback.tools.record import Risk, Tool, ToolLike, tool

__all__ = [
    "ArgumentsError",
    "Injected",
    "Risk",
    "Tool",
    "ToolLike",
    "ToolOutput",
    "bind_beside",
    "bind_compensation",
    "check_name",
    "tool",
]
