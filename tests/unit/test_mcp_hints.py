from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fallback import Policy, Risk, tool
from fallback.mcp.hints import Hints, tier_of

ORDER = list(Risk)
SAID = st.sampled_from([None, True, False])
HINTS = st.builds(Hints, read_only=SAID, destructive=SAID, idempotent=SAID, open_world=SAID)


def test_the_tiers_stand_in_order() -> None:
    assert ORDER[0] is Risk.READ_ONLY
    assert ORDER[-1] is Risk.DESTRUCTIVE


@given(own=st.sampled_from(ORDER), hints=HINTS, trusted=st.booleans())
def test_no_hint_makes_a_tool_less_guarded_than_the_application_says(
    own: Risk, hints: Hints, trusted: bool
) -> None:
    assert ORDER.index(tier_of(own, hints, trusted=trusted)) >= ORDER.index(own)


@given(hints=HINTS)
def test_a_server_that_is_not_trusted_cannot_spare_anybody_a_question(hints: Hints) -> None:
    @tool(risk=tier_of(None, hints, trusted=False))
    def it() -> None:
        """Anything."""

    assert Policy().approvers(it, tainted=False) == 1


@given(hints=HINTS)
def test_a_trusted_tool_runs_at_once_only_if_it_says_that_it_only_reads(hints: Hints) -> None:
    reads = tier_of(None, hints, trusted=True) is Risk.READ_ONLY
    assert reads == (hints.read_only is True)


def test_trusted_hints_have_the_defaults_of_the_specification() -> None:
    assert tier_of(None, Hints(), trusted=True) is Risk.DESTRUCTIVE
    adds = Hints(destructive=False)
    assert tier_of(None, adds, trusted=True) is Risk.EXTERNAL_COMMUNICATION
    closed = Hints(destructive=False, open_world=False)
    assert tier_of(None, closed, trusted=True) is Risk.REVERSIBLE_WRITE
