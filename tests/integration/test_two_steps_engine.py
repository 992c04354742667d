"""A task of two steps with a real model: what the first call returns is needed for the second."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fallback import Limits, Session, tool
from fallback.engine import models
from fallback.hosts import connect
from fallback.ollama import OllamaBackend

pytestmark = pytest.mark.engine

MODEL = models.DEFAULT_MODEL


@tool(risk="read_only")
def find_order(customer: str) -> str:
    """Find the order of a customer.

    Args:
        customer: name of the customer.
    """
    return "The order_id is 8317. Call read_order with it to see what was ordered."


@tool(risk="read_only")
def read_order(order_id: int) -> str:
    """Read an order.

    Args:
        order_id: id of the order.
    """
    return "Ada ordered a violin." if order_id == 8317 else f"There is no order {order_id}."


@pytest.fixture(scope="module")
def backend() -> Iterator[OllamaBackend]:
    models.pull(MODEL)
    made = connect("embedded")
    yield made
    made.close()


def test_half_a_billion_parameters_use_one_result_for_the_next_call(backend: OllamaBackend) -> None:
    """The id stands nowhere but in the first result. This model guesses before it looks, and is
    told; behind the second result the task is done, and the turn is ended there to be short."""
    session = Session(
        MODEL,
        tools=[find_order, read_order],
        backend=backend,
        mode="prompt",
        options={"seed": 1, "num_predict": 48},
        num_ctx=2048,
        limits=Limits(max_steps=4),
    )
    turn = session.run("Find the order of the customer Ada. What did she order?")
    made = [(r.name, r.content) for step in turn.steps for r in step.results if r.ok]
    found = [name for name, _ in made].index("find_order")
    assert ("read_order", "Ada ordered a violin.") in made[found + 1 :]
    asked = [call.arguments for step in turn.steps for call in step.calls]
    assert asked[-1] == {"order_id": 8317}
    assert turn.stop_reason in ("answered", "max_steps")
