"""A memory of limited size."""

from __future__ import annotations

from fallback.proxy.kept import Kept


def test_of_too_many_what_was_not_used_for_longest_goes() -> None:
    kept = Kept[int, str]()
    for number in range(256):
        kept.keep(number, "")
    assert kept.get(0) == ""
    kept.keep(1, "again")
    kept.keep(256, "one more")
    assert (kept.get(0), kept.get(1), kept.get(256)) == ("", "again", "one more")
    assert kept.get(2) is None
    assert kept.get(3) == ""
