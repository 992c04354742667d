"""Whatever a model proposes: what happened is what somebody allowed, once, and on record."""

from __future__ import annotations

from typing import Any

from gates_kit import MODES, Mode, Shop, a_session, reply, run
from hypothesis import given
from hypothesis import strategies as st

from fallback import Session
from fallback.ledger import Approval
from fallback.policy import Policy

PEOPLE = st.sampled_from(["bob", "eve"])
CALLS = st.one_of(
    st.tuples(st.just("pay"), st.fixed_dictionaries({"to": PEOPLE, "amount": st.integers(1, 6)})),
    st.tuples(st.just("wipe"), st.fixed_dictionaries({"table": st.sampled_from("ab")})),
    st.tuples(st.just("look"), st.fixed_dictionaries({"item": st.sampled_from(["tea", "ice"])})),
    st.tuples(st.just("fetch"), st.fixed_dictionaries({"url": st.just("u")})),
    st.tuples(st.sampled_from(["pay", "nope", "PAY"]), st.dictionaries(PEOPLE, st.none())),
)
REPLIES = st.lists(st.lists(CALLS, min_size=1, max_size=4), min_size=1, max_size=4)


def allowed(arguments: Any) -> bool:
    """What this person approves: small even amounts for Bob, and nothing else."""
    return arguments.get("to") == "bob" and arguments.get("amount", 1) % 2 == 0


@given(REPLIES, st.sampled_from(MODES), st.booleans())
def test_an_effect_needs_a_yes_for_exactly_this_call_and_happens_once(
    replies: list[list[tuple[str, Any]]], mode: Mode, pre_approved: bool
) -> None:
    shop, yes = Shop(), []

    def ask(approval: Approval) -> bool:
        if allowed(approval.arguments):
            yes.append(approval.id)
        return allowed(approval.arguments)

    script = [*(reply(mode, *calls) for calls in replies), *["Done."] * 10]
    policy = Policy(pre_approved={"pay"} if pre_approved else frozenset())
    session = a_session(Session, shop.tools(), script, mode=mode, policy=policy, approve=ask)
    run(session, "Do what you like.")

    effects = [done for done in shop.done if done[0] in ("pay", "wipe")]
    assert len(effects) == len(set(effects)), "the same call happened twice in one turn"
    free = proposed_before_the_page_was_read(replies) if pre_approved else []
    for name, _, to, amount in effects:
        assert allowed({"to": to, "amount": amount}) or (name, to, amount) in free
    finished = [(s.tool, s.arguments["to"], s.arguments["amount"]) for s in session.ledger.list()]
    assert sorted(finished) == sorted((name, to, amount) for name, _, to, amount in effects)
    assert sorted(a.id for a in session.ledger.approvals.list("used")) == sorted(yes)
    assert session.ledger.verify() is None


def proposed_before_the_page_was_read(replies: list[list[tuple[str, Any]]]) -> list[Any]:
    """Payments of the replies up to the first one that fetches; it was written before it, too."""
    free = []
    for calls in replies:
        free += [(name, made.get("to"), made.get("amount")) for name, made in calls]
        if any(name == "fetch" for name, _ in calls):
            break
    return free
