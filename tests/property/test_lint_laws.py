"""What holds for the review of any catalogue at all: it ends, and says nothing malformed."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fallback import Catalogue
from fallback.errors import InvalidToolError
from fallback.lint import RULES, lint

WORDS = st.sampled_from(
    ["url", "sql", "user", "limit", "n", "items", "properties", "$ref", "one of a, b or c", "'a'"]
)
TEXTS = st.one_of(WORDS, st.text(max_size=30))
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), TEXTS)
KEYWORDS = st.sampled_from(
    ["type", "properties", "items", "required", "enum", "anyOf", "oneOf", "description", "default"]
)
ODD = st.recursive(
    st.one_of(LEAVES, st.sampled_from(["object", "string", "number", "integer"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(KEYWORDS, TEXTS), inner, max_size=4),
    ),
    max_leaves=15,
)


@given(st.lists(st.tuples(st.text(), st.dictionaries(TEXTS, ODD, max_size=4)), max_size=3))
def test_any_catalogue_is_reviewed(given: list[tuple[str, Any]]) -> None:
    tools = [
        {"name": f"t{i}", "description": told, "parameters": {"properties": properties}}
        for i, (told, properties) in enumerate(given)
    ]
    try:
        catalogue = Catalogue(tools)
    except InvalidToolError:
        return
    before = [tool.to_dict() for tool in catalogue]
    report = lint(catalogue)
    names = {rule.name for rule in RULES}
    for finding in report.findings:
        assert finding.rule in names
        assert finding.place.startswith("$")
        assert finding.tool in (*catalogue.names, "")
    assert [tool.to_dict() for tool in catalogue] == before
    assert set(report.costs) == set(catalogue.names)


@given(st.text(max_size=2_000))
def test_any_description_is_read(told: str) -> None:
    schema = {"properties": {"x": {"type": "string", "description": told}}}
    lint(Catalogue([{"name": "t", "description": told, "parameters": schema}]))


def test_a_flood_in_a_description_is_read_in_no_time() -> None:
    # Each of these makes a careless pattern try every way to split it.
    for piece in ("'a', ", "a or ", "a/", "(a|", "one of ", '"', "read and write "):
        test_any_description_is_read.hypothesis.inner_test((piece * 20_000)[:50_000])  # type: ignore[attr-defined]  # set by given
