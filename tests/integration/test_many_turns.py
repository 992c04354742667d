"""A thousand turns at once over one backend and one set of tools: nothing is lost or crosses."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Generator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar

from fallback import AsyncSession, Policy, Risk, Session, Tool, Turn
from fallback.backend import Chunk, GenerationRequest, ModelInfo

TURNS = 1000
WHO: ContextVar[int] = ContextVar("who")
RUNS = Policy(reversible_write="run")


class Stateless:
    """A model that calls three tools with the number it is asked about, and repeats the results."""

    def describe(self, model: str) -> ModelInfo:
        return ModelInfo(name=model, capabilities=frozenset({"completion"}))

    async def adescribe(self, model: str) -> ModelInfo:
        return self.describe(model)

    def pieces(self, request: GenerationRequest) -> list[str]:
        said = request.messages[-1].content
        results = re.findall(r"^(\w+ \d+) is (-?\d+)$", said, re.MULTILINE)
        if results:
            return [f"{name} is {value}. " for name, value in results]
        asked = re.search(r"number (\d+)", said)
        assert asked is not None
        given = {"n": int(asked[1])}
        return [
            f"<tool_call>{json.dumps({'name': name, 'arguments': given})}</tool_call>\n"
            for name in ("double", "negate", "store")
        ]

    def stream(self, request: GenerationRequest) -> Generator[Chunk]:
        yield from (Chunk(text=piece) for piece in self.pieces(request))
        yield Chunk(done=True)

    async def astream(self, request: GenerationRequest) -> AsyncGenerator[Chunk]:
        for piece in self.pieces(request):
            await asyncio.sleep(0)
            yield Chunk(text=piece)
        yield Chunk(done=True)


class Counted:
    """Tools that check for whom they run, and count what they did."""

    def __init__(self) -> None:
        self.stored: list[int] = []

    def double(self, n: int) -> str:
        """Double it."""
        return f"double {n} is {2 * self.mine(n)}"

    def negate(self, n: int) -> str:
        """Negate it."""
        return f"negate {n} is {-self.mine(n)}"

    def store(self, n: int) -> str:
        """Store it."""
        self.stored.append(self.mine(n))
        return f"store {n} is {n}"

    async def adouble(self, n: int) -> str:
        """Double it, later."""
        await asyncio.sleep(0)
        return self.double(n)

    async def anegate(self, n: int) -> str:
        """Negate it, later."""
        await asyncio.sleep(0)
        return self.negate(n)

    async def astore(self, n: int) -> str:
        """Store it, later."""
        await asyncio.sleep(0)
        return self.store(n)

    def mine(self, n: int) -> int:
        assert n == WHO.get()
        return n

    def tools(self, prefix: str = "") -> list[Tool]:
        risks = {"double": Risk.READ_ONLY, "negate": Risk.READ_ONLY, "store": "reversible_write"}
        return [
            Tool.from_function(getattr(self, prefix + name), name=name, risk=Risk(risk))
            for name, risk in risks.items()
        ]


def check(turns: list[Turn], counted: Counted) -> None:
    for n, turn in enumerate(turns):
        assert turn.answer == f"double {n} is {2 * n}. negate {n} is {-n}. store {n} is {n}."
        step = turn.steps[0]
        assert [r.call_id for r in step.results] == [c.id for c in step.calls]
    assert sorted(counted.stored) == list(range(len(turns)))


def test_a_thousand_turns_in_one_event_loop() -> None:
    counted, backend = Counted(), Stateless()
    tools = counted.tools("a")

    async def one(n: int) -> Turn:
        WHO.set(n)
        session = AsyncSession("m", tools, backend=backend, policy=RUNS)
        return await session.run(f"What of number {n}?")

    async def every() -> list[Turn]:
        return await asyncio.gather(*(one(n) for n in range(TURNS)))

    check(asyncio.run(every()), counted)


def test_a_thousand_turns_in_many_threads() -> None:
    counted, backend = Counted(), Stateless()
    tools = counted.tools()

    def one(n: int) -> Turn:
        WHO.set(n)
        session = Session("m", tools, backend=backend, policy=RUNS, eager=True)
        return session.run(f"What of number {n}?")

    with ThreadPoolExecutor(32) as pool:
        check(list(pool.map(one, range(TURNS))), counted)
