"""Lesson 6: testing your application without a model.

``ScriptedBackend`` stands in for the model and for nothing else: prompt, parser, validation, tools
and loop are the real ones. What you test is how *your* code takes what a model may write.
"""

from fallback import Session, tool
from fallback.testing import ScriptedBackend

STOCK = {"apples": 5}


@tool(lint_off={"count_unbounded": "there is never more than the stock"})
def take(item: str, count: int) -> str:
    """Take items out of the stock.

    Args:
        item: what to take.
        count: how many.
    """
    if STOCK.get(item, 0) < count:
        raise ValueError(f"only {STOCK.get(item, 0)} {item} left")
    STOCK[item] -= count
    return f"{STOCK[item]} {item} left"


def block(*lines: str) -> str:
    return "\n".join(("```tool_call", *lines, "```"))


def test_a_tool_is_run_with_the_right_arguments() -> None:
    line = '{"name": "take", "arguments": {"item": "apples", "count": 2}}'
    backend = ScriptedBackend([block(line), "Done."])
    turn = Session("any", tools=[take], backend=backend).run("Two apples, please.")
    assert turn.steps[0].results[0].content == "3 apples left"
    assert backend.remaining == 0


def test_a_name_that_does_not_exist_is_corrected_and_not_guessed() -> None:
    wrong = '{"name": "take_items", "arguments": {"item": "apples", "count": 1}}'
    backend = ScriptedBackend([block(wrong), "I cannot do that."])
    turn = Session("any", tools=[take], backend=backend).run("One apple.")
    assert turn.tools_used == ()
    assert turn.steps[0].problems[0].kind == "unknown_tool"
    assert "take" in backend.requests[1].messages[-1].content


def test_a_tool_that_fails_does_not_end_the_turn() -> None:
    line = '{"name": "take", "arguments": {"item": "pears", "count": 1}}'
    backend = ScriptedBackend([block(line), "There are no pears."])
    turn = Session("any", tools=[take], backend=backend).run("A pear.")
    assert turn.steps[0].results[0].content == "Error: ValueError: only 0 pears left"
    assert turn.answer == "There are no pears."


def test_native_calls_take_the_same_way() -> None:
    call = {"name": "take", "arguments": {"item": "apples", "count": 1}}
    backend = ScriptedBackend([{"tool_calls": [call]}, "Here."], capabilities=["tools"])
    turn = Session("any", tools=[take], backend=backend).run("An apple.")
    assert turn.steps[0].mode == "native"
    assert turn.tools_used == ("take",)


def test_a_model_that_never_stops_is_stopped() -> None:
    line = '{"name": "take", "arguments": {"item": "apples", "count": 0}}'
    backend = ScriptedBackend([block(line)] * 5 + ["There are five apples."])
    turn = Session("any", tools=[take], backend=backend).run("How many apples are there?")
    assert turn.stop_reason == "repeated_call"
    assert turn.answer == "There are five apples."


# pytest collects the functions above; here they run by themselves.
for name, function in list(globals().items()):
    if name.startswith("test_"):
        STOCK["apples"] = 5
        function()
        print("passed:", name)
