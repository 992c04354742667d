"""What an approval and an idempotency key are bound to."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from fallback.policy import ExecutionContext, approval_hash, operation_key, own_key
from fallback.tools import Risk, Tool

NAMES = st.sampled_from(["ada", "bob", "", "Ada", "ada\u0000"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(st.text(max_size=6), VALUES, max_size=4)
CONTEXTS = st.builds(
    ExecutionContext,
    user=st.none() | NAMES,
    tenant=st.none() | NAMES,
    scopes=st.frozensets(NAMES, max_size=2),
    allowed_tools=st.none() | st.frozensets(st.sampled_from(["send", "look"])),
    locale=st.none() | st.sampled_from(["nb-NO", "en"]),
    values=st.dictionaries(st.just("account"), VALUES),
)
TOOLS = st.builds(
    Tool,
    name=st.sampled_from(["send", "send_", "Send"]),
    description=st.sampled_from(["Sends.", "Sends mail."]),
    parameters=st.sampled_from(
        [{"properties": {"to": {"type": "string"}}}, {"properties": {"to": {}}}]
    ),
    risk=st.sampled_from([None, *Risk]),
    injected=st.just(frozenset({"account"})),
)


def spelled(value: Any) -> str:
    """Python takes 1, 1.0 and True for equal; JSON, and so an approval, does not."""
    return json.dumps(value, sort_keys=True)


def parts(tool: Tool, arguments: dict[str, Any], context: ExecutionContext) -> list[Any]:
    declared = [tool.name, tool.description, spelled(tool.parameters), tool.risk]
    who = [context.user, context.tenant, context.scopes, context.allowed_tools, context.locale]
    injected = {k: v for k, v in context.injected.items() if k == "account"}
    return [declared, spelled(arguments), who, spelled(injected)]


@given(TOOLS, ARGUMENTS, CONTEXTS, TOOLS, ARGUMENTS, CONTEXTS)
def test_an_approval_is_good_for_exactly_one_call_tool_and_authority(
    tool: Tool,
    arguments: dict[str, Any],
    context: ExecutionContext,
    other_tool: Tool,
    other_arguments: dict[str, Any],
    other_context: ExecutionContext,
) -> None:
    same = parts(tool, arguments, context) == parts(other_tool, other_arguments, other_context)
    first = approval_hash(tool, arguments, context)
    assert (first == approval_hash(other_tool, other_arguments, other_context)) is same


@given(TOOLS, ARGUMENTS, CONTEXTS, st.text(min_size=1, max_size=6), VALUES)
def test_any_change_of_an_argument_invalidates(
    tool: Tool, arguments: dict[str, Any], context: ExecutionContext, name: str, value: Any
) -> None:
    changed = {**arguments, name: value}
    assume(spelled(changed) != spelled(arguments))
    before = approval_hash(tool, arguments, context)
    assert approval_hash(tool, changed, context) != before
    assert operation_key("t", tool, changed, context) != operation_key(
        "t", tool, arguments, context
    )


@given(TOOLS, ARGUMENTS, CONTEXTS, NAMES)
def test_another_user_needs_another_approval_and_makes_another_operation(
    tool: Tool, arguments: dict[str, Any], context: ExecutionContext, user: str
) -> None:
    assume(user != context.user)
    other = replace(context, user=user)
    assert approval_hash(tool, arguments, context) != approval_hash(tool, arguments, other)
    assert operation_key("t", tool, arguments, context) != operation_key(
        "t", tool, arguments, other
    )
    assert own_key("k", tool, context) != own_key("k", tool, other)


@given(ARGUMENTS)
def test_the_order_of_keys_does_not_matter(arguments: dict[str, Any]) -> None:
    tool, context = Tool(name="send"), ExecutionContext()
    turned = dict(reversed(arguments.items()))
    assert approval_hash(tool, arguments, context) == approval_hash(tool, turned, context)


class Connection:
    pass


def test_an_injected_object_is_known_by_its_kind_and_data_by_what_it_says() -> None:
    tool = Tool(name="send", injected=frozenset({"account"}))

    def hashed(value: Any) -> str:
        return approval_hash(tool, {}, ExecutionContext(values={"account": value}))

    assert hashed(Connection()) == hashed(Connection())
    assert hashed(Connection()) != hashed(object())
    assert hashed(date(2026, 1, 2)) != hashed(date(2026, 1, 3))
    assert hashed({"b", "a"}) == hashed({"a", "b"})
    endless: list[Any] = []
    endless.append(endless)
    assert hashed(endless) == hashed(endless)
    assert hashed({1: "x", "y": 2}) == hashed({1: "z", "w": 3})


def test_two_turns_are_two_operations() -> None:
    tool, context = Tool(name="send"), ExecutionContext()
    assert operation_key("t1", tool, {}, context) != operation_key("t2", tool, {}, context)
