"""One malformed tool must not cost the others of its page, which the SDK checks as a whole.

The streams of a transport are read through a :class:`Sieve`, which takes out of a list of tools
those that are not what the protocol says, before the SDK looks.

Source of the form: ``tools/list`` of the Model Context Protocol; its models are those of the SDK.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Self

from fallback.schema.places import preview

__all__ = ["Sieve", "sifted"]


class Sieve:
    """A stream of messages as the SDK reads them.

    Args:
        stream: the transport's.
        version: gives the protocol version that was agreed on.
        dropped: told a line for each tool that is taken out.
    """

    def __init__(
        self, stream: Any, version: Callable[[], str | None], dropped: Callable[[str], object]
    ) -> None:
        self._stream, self._version, self._dropped = stream, version, dropped

    @property
    def last_context(self) -> Any:
        """Variables of the task that has sent the last message."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> Any:
        """The next message."""
        return self._sifted(await self._stream.receive())

    async def aclose(self) -> None:
        """Close the transport's stream."""
        await self._stream.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        return self._sifted(await self._stream.__anext__())

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> Any:
        return await self._stream.__aexit__(*exc)

    def _sifted(self, item: Any) -> Any:
        message = getattr(item, "message", None)
        result: Any = getattr(message, "result", None)
        tools = result.get("tools") if isinstance(result, dict) else None
        if message is None or not isinstance(tools, list):
            return item
        kept = [tool for tool in tools if self._fits(tool)]
        if len(kept) == len(tools):
            return item
        told = message.model_copy(update={"result": {**result, "tools": kept}})
        return replace(item, message=told)

    def _fits(self, tool: Any) -> bool:
        from mcp_types import methods
        from pydantic import ValidationError

        version = self._version() or "2025-11-25"
        page = {"tools": [tool], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        try:
            methods.parse_server_result("tools/list", version, page)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"][2:])) or "it"
            name = preview(tool.get("name")) if isinstance(tool, dict) else "a tool"
            self._dropped(f"{name} is left out, it is malformed: {where}: {first['msg']}")
            return False
        except (KeyError, ValueError):  # a version that the SDK does not check
            return True
        return True


@asynccontextmanager
async def sifted(
    transport: Any, version: Callable[[], str | None], dropped: Callable[[str], object]
) -> AsyncIterator[tuple[Any, Any]]:
    """The transport with a sieve on what it reads."""
    async with transport as (read, write):
        yield Sieve(read, version, dropped), write
