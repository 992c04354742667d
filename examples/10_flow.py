"""Lesson 10: instructions that build on each other, through values and not through prose.

The model reads the first result wrongly and says so. The second step does not hear of it: it is
given what the tool returned. What each step did is on record, and the run can be taken up there.
"""

import json

from fallback import Risk, Session, tool
from fallback.flow import Flow, FlowRun, Step
from fallback.testing import ScriptedBackend


@tool(risk=Risk.READ_ONLY)
def find_order(customer: str) -> dict[str, object]:
    """Find the newest order of a customer.

    Args:
        customer: the customer's name.
    """
    return {"id": "A-17", "customer": customer, "items": [{"sku": "tent", "count": 1}]}


@tool(risk=Risk.READ_ONLY)
def get_price(sku: str) -> float:
    """Price of an article, in euros.

    Args:
        sku: the article's id.
    """
    return {"tent": 249.0, "lamp": 12.5}[sku]


def call(name: str, arguments: str) -> str:
    return f'```tool_call\n{{"name": "{name}", "arguments": {arguments}}}\n```'


flow = Flow(
    [
        Step(name="order", ask="Find the order of ${customer}.", tools=("find_order",)),
        Step(
            name="price",
            ask="What does the article ${order.items[0].sku} cost?",
            tools=("get_price",),
            max_steps=3,
        ),
    ],
    inputs=["customer"],
)
model = ScriptedBackend(
    [
        call("find_order", '{"customer": "Ada"}'),
        "Ada has ordered a lamp.",  # wrong, and of no consequence
        call("get_price", '{"sku": "tent"}'),
        "It costs 249 euros.",
    ]
)
with Session("any", tools=[find_order, get_price], backend=model) as session:
    run = flow.run(session, inputs={"customer": "Ada"})

assert run.done
assert run.value == 249.0
assert run.steps[1].question == "What does the article tent cost?"
assert "lamp" not in model.requests[2].messages[-1].content

# The record is JSON. A run that broke off goes on from there; here is nothing left to do.
again = FlowRun.from_json(json.loads(json.dumps(run.to_json())))
with Session("any", tools=[find_order, get_price], backend=ScriptedBackend([])) as session:
    assert flow.run(session, record=again).value == 249.0

print(f"{run.steps[1].question} {run.value}")
