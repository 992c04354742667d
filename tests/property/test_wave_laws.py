"""Whatever the calls of a reply are: writes run alone and in order, and every call has a result."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from loop_driver import Driver, native

from fallback import Catalogue, Limits, Policy, Risk, Tool
from fallback.messages import ToolResult

RISKS: dict[str, Risk | None] = {
    "look": Risk.READ_ONLY,
    "find": Risk.READ_ONLY,
    "save": Risk.REVERSIBLE_WRITE,
    "send": Risk.EXTERNAL_COMMUNICATION,
    "undeclared": None,
}
PARAMETERS = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TOOLS = Catalogue(
    [
        *(
            Tool(name=name, parameters=PARAMETERS, handler=dict, risk=risk)
            for name, risk in RISKS.items()
        ),
        Tool(name="elsewhere", parameters=PARAMETERS),
    ]
)
POLICY = Policy(reversible_write="run", external_communication="run")
CALLS = st.lists(
    st.tuples(st.sampled_from([*RISKS, "elsewhere"]), st.integers(0, 3)), min_size=1, max_size=12
)


@given(calls=CALLS, allowed=st.integers(0, 12))
def test_waves_keep_the_order_and_nothing_runs_beside_a_write(
    calls: list[tuple[str, int]], allowed: int
) -> None:
    driver = Driver(
        catalogue=TOOLS, mode="native", limits=Limits(max_calls_per_turn=allowed), policy=POLICY
    )
    driver.answer = lambda name: ToolResult(call_id="?", name=name, content=name)
    paused = any(name == "elsewhere" for name, _ in calls)
    reply = native(*((name, {"n": n}) for name, n in calls))
    turn = driver.play(reply, *([] if paused else ["Done."]))

    step = turn.steps[0]
    assert [r.call_id for r in step.results] == [c.id for c in step.calls]
    distinct = list(dict.fromkeys(calls))
    runnable = [name for name, _ in distinct if name != "elsewhere"][:allowed]
    assert [name for wave in driver.waves for name in wave] == runnable
    for wave in driver.waves:
        assert len(wave) == 1 or all(RISKS[name] is Risk.READ_ONLY for name in wave)
    results = {r.call_id: r for r in step.results}
    for result in step.results:
        if result.copy_of is not None:
            assert results[result.copy_of].content == result.content
