"""Tool calling for language models that cannot call tools.

The public names, and nothing else. Each is loaded when it is first used, so that importing the
package costs next to nothing and does no I/O.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fallback.catalogue import Catalogue as Catalogue
    from fallback.limits import Limits as Limits
    from fallback.loop import Decide as Decide
    from fallback.messages import Problem as Problem
    from fallback.messages import Reading as Reading
    from fallback.messages import ToolCall as ToolCall
    from fallback.messages import ToolResult as ToolResult
    from fallback.messages import Turn as Turn
    from fallback.parsing import Parser as Parser
    from fallback.parsing import parse as parse
    from fallback.policy import Deny as Deny
    from fallback.policy import ExecutionContext as ExecutionContext
    from fallback.policy import Policy as Policy
    from fallback.proxy.transport import AsyncTransport as AsyncTransport
    from fallback.proxy.transport import Transport as Transport
    from fallback.proxy.wrap import wrap as wrap
    from fallback.session import AsyncSession as AsyncSession
    from fallback.session import Session as Session
    from fallback.tools import Injected as Injected
    from fallback.tools import Risk as Risk
    from fallback.tools import Tool as Tool
    from fallback.tools import tool as tool

_HOME = {
    "AsyncSession": "fallback.session",
    "AsyncTransport": "fallback.proxy.transport",
    "Catalogue": "fallback.catalogue",
    "Decide": "fallback.loop",
    "Deny": "fallback.policy",
    "ExecutionContext": "fallback.policy",
    "Injected": "fallback.tools",
    "Limits": "fallback.limits",
    "Parser": "fallback.parsing",
    "Policy": "fallback.policy",
    "Problem": "fallback.messages",
    "Reading": "fallback.messages",
    "Risk": "fallback.tools",
    "Session": "fallback.session",
    "Tool": "fallback.tools",
    "ToolCall": "fallback.messages",
    "ToolResult": "fallback.messages",
    "Transport": "fallback.proxy.transport",
    "Turn": "fallback.messages",
    "parse": "fallback.parsing",
    "tool": "fallback.tools",
    "wrap": "fallback.proxy.wrap",
}

__all__ = [
    "AsyncSession",
    "AsyncTransport",
    "Catalogue",
    "Decide",
    "Deny",
    "ExecutionContext",
    "Injected",
    "Limits",
    "Parser",
    "Policy",
    "Problem",
    "Reading",
    "Risk",
    "Session",
    "Tool",
    "ToolCall",
    "ToolResult",
    "Transport",
    "Turn",
    "parse",
    "tool",
    "wrap",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("toolcall-fallback")
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
