"""What holds for every set of names."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fallback.catalogue import Catalogue, fold
from fallback.errors import InvalidToolError
from fallback.tools import check_name

WORDS = st.sampled_from(["get", "Get", "file", "FILE", "functions", "tools", "0", "größe", "x"])
NAMES = st.builds(
    lambda words, marks: "".join(w + m for w, m in zip(words, [*marks, ""], strict=False)),
    st.lists(WORDS, min_size=1, max_size=4),
    st.lists(st.sampled_from(["_", "-", ".", " ", "/", "__", ":"]), min_size=4, max_size=4),
).map(lambda name: name.strip(" _-./:"))
CATALOGUES = st.lists(NAMES, max_size=6, unique=True).map(
    lambda names: Catalogue([{"name": name} for name in names])
)


@given(NAMES)
def test_folding_twice_is_folding_once(name: str) -> None:
    assert fold(fold(name)) == fold(name)


@given(st.text())
def test_folding_never_raises(text: str) -> None:
    assert fold(text) == fold(fold(text))


@given(CATALOGUES)
def test_every_declared_name_resolves_to_itself(catalogue: Catalogue) -> None:
    for name in catalogue.names:
        found = catalogue.resolve(name)
        assert found is not None
        assert found.name == name
        assert not catalogue.is_ambiguous(name)


@given(CATALOGUES, NAMES, st.sampled_from([str.upper, str.lower, str.title, str]))
def test_a_name_resolves_only_to_one_that_folds_alike(
    catalogue: Catalogue, name: str, case: type[str]
) -> None:
    written = case(name)
    found = catalogue.resolve(written)
    alike = [n for n in catalogue.names if fold(n) == fold(written)]
    if written in catalogue:
        assert found is catalogue.get(written)
    elif len(alike) > 1:
        assert found is None
        assert catalogue.is_ambiguous(written)
    elif found is not None and not alike:
        # A namespace or a number was left out: the name is the end or the beginning of it.
        short = fold(found.name)
        assert fold(written).endswith(short) or fold(written).startswith(short)
    elif found is not None:
        assert found.name == alike[0]


@given(CATALOGUES, st.text())
def test_resolving_anything_never_raises_and_never_does_two_things(
    catalogue: Catalogue, text: str
) -> None:
    found = catalogue.resolve(text)
    assert found is None or not catalogue.is_ambiguous(text)
    assert set(catalogue.nearest(text)) <= set(catalogue.names)
    assert len(catalogue.nearest(text)) <= 3


@given(CATALOGUES, st.randoms(use_true_random=False))
def test_the_order_of_tools_does_not_decide(catalogue: Catalogue, random: object) -> None:
    names = list(catalogue.names)
    random.shuffle(names)  # type: ignore[attr-defined] # a random.Random made by Hypothesis
    other = Catalogue([{"name": name} for name in names])
    for name in [*names, *(n.upper() for n in names), *(f"functions.{n}:0" for n in names)]:
        mine, theirs = catalogue.resolve(name), other.resolve(name)
        assert (mine and mine.name) == (theirs and theirs.name)


@given(st.text())
def test_any_text_is_either_a_name_or_refused(text: str) -> None:
    try:
        assert check_name(text) == text
    except InvalidToolError:
        return
    assert text.isprintable()
    assert text == text.strip()
