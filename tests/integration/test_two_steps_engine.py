"""A task of two steps with a real model: what the first call returns is needed for the second."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fallback import Session, tool
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
    """The id stands nowhere but in the first result. Left to itself this model answers behind the
    first result, so the second step is asked for, and a call is demanded of it."""
    session = Session(
        MODEL,
        tools=[find_order, read_order],
        backend=backend,
        mode="prompt",
        tool_choice="required",
        options={"seed": 1, "num_predict": 48},
        num_ctx=2048,
    )
    found = session.run("Find the order of the customer Ada.")
    read = session.run("Read that order. What did she order?")
    assert (found.tools_used, read.tools_used) == (("find_order",), ("read_order",))
    assert found.steps[0].calls[0].arguments == {"customer": "Ada"}
    assert read.steps[0].calls[0].arguments == {"order_id": 8317}
    assert read.steps[0].results[0].value == "Ada ordered a violin."
    assert {step.mode for turn in (found, read) for step in turn.steps} == {"prompt"}
