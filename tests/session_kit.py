"""For the tests of sessions: one tool, a call of it, and the same questions in both drivers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from fallback import AsyncSession, Session, Turn

OSLO = '```tool_call\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n```'


def get_weather(city: str) -> str:
    """Current weather.

    Args:
        city: the city.
    """
    return f"fine in {city}"


def blocking(backend: Any, *questions: str, **settings: Any) -> list[Turn]:
    with Session("m", [get_weather], backend=backend, **settings) as session:
        return [session.run(question) for question in questions]


def awaiting(backend: Any, *questions: str, **settings: Any) -> list[Turn]:
    async def run() -> list[Turn]:
        async with AsyncSession("m", [get_weather], backend=backend, **settings) as session:
            return [await session.run(question) for question in questions]

    return asyncio.run(run())


DRIVERS = pytest.mark.parametrize("drive", [blocking, awaiting])
Drive = Callable[..., list[Turn]]
