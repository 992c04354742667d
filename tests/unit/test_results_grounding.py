from __future__ import annotations

import pytest

from fallback.results import ungrounded


@pytest.mark.parametrize(
    ("answer", "source"),
    [
        ("4 degrees and rain in Oslo.", "4 degrees celsius and rain in Oslo"),
        ("Some 720,000 people.", "717710"),
        ("Some 2.7 million people.", '{"population": 2748109}'),
        ("1,234.50 or 1.234,50 or 1'234.5 or 1\u00a0234.5", "1234.5"),
        ("About 23 degrees, pi is 3.14", "22.7 and 3.14159"),
        ("It grew by 25%.", "growth: 0.25"),
        ("-5 degrees", "minus 5"),
        ("On December 24, 2031", "2031-12-24"),
        ("On the 24th of December", "2031-12-24T08:00:00Z"),
        ("24.12.2031 or 12/24/2031", "2031-12-24"),
        ("3/4/2031", "2031-04-03"),
        ("in 2031", "2031-12-24"),
        ("at 2:30 pm", "2031-12-24T14:30:00"),
        ("Order INV-2031-07 at gate b12", "inv-2031-07, gate B12"),
        ("order 48213377", "id: INV48213377"),
        (
            "see https://example.org/a, or mail a@example.org.",
            "https://example.org/a a@example.org",
        ),
        ("1. first\n2) second\n10. tenth", "first second tenth"),
        ("the 3rd of 20km in 5h", "3, 20 and 5"),
        ("3 posts, twice", "three posts"),
        ("It is 20 °C", "20"),
        ("no numbers at all", ""),
        ("", ""),
    ],
)
def test_what_the_sources_say_in_other_words_is_grounded(answer: str, source: str) -> None:
    assert ungrounded(answer, [source]) == ()


@pytest.mark.parametrize(
    ("answer", "source", "missing"),
    [
        ("14 degrees", "41 degrees", ("14",)),
        ("20 degrees", "23 degrees", ("20",)),
        ("some 20,000", "17000", ("20,000",)),
        ("3.15", "3.14159", ("3.15",)),
        ("1234", "123 and 4", ("1234",)),
        ("On December 25, 2031.", "2031-12-24", ("December 25, 2031",)),
        ("2031-12-24", "24 December 2030", ("2031-12-24",)),
        ("at 3:30 pm or 4 pm", "14:30, 4", ("3:30 pm",)),
        ("order INV-2031-08", "INV-2031-07", ("INV-2031-08",)),
        ("https://example.org/b.", "https://example.org/a", ("https://example.org/b",)),
        ("7, 8 and 7 again, then B99", "8", ("7", "B99")),
    ],
)
def test_what_no_source_says_is_listed_in_order(
    answer: str, source: str, missing: tuple[str, ...]
) -> None:
    assert ungrounded(answer, [source]) == missing


def test_all_sources_count() -> None:
    assert ungrounded("1, 2 and 3", ["1", "2", "3"]) == ()


def test_an_answer_full_of_numbers_is_not_listed_whole() -> None:
    assert len(ungrounded(" ".join(str(n) for n in range(1_000, 2_000)), [""])) == 20
