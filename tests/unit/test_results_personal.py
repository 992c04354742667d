from __future__ import annotations

import pytest

from fallback.results import mask_personal_data


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("write to ada.l@mail.example.org!", "write to (e-mail)!"),
        ('{"mail": "a+b@x.io"}', '{"mail": "(e-mail)"}'),
        ("AT61 1904 3002 3457 3201 is mine", "(IBAN) is mine"),
        ("DE89370400440532013000", "(IBAN)"),
        ("card 4111 1111 1111 1111, thanks", "card (card), thanks"),
        ("5500-0055-5555-5559", "(card)"),
        ("call +47 22 12 34 56 now", "call (phone) now"),
        ("0664 123 45 67", "(phone)"),
        ("(555) 123-4567 or 555-123-4567", "(phone) or (phone)"),
    ],
)
def test_personal_data_is_replaced_by_its_kind(text: str, masked: str) -> None:
    assert mask_personal_data(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "4111 1111 1111 1112",  # the check digit is wrong
        "0000 0000 0000 0000",
        "DE88 3704 0044 0532 0130 00",
        "2031-12-24 14:30:00",
        "order 48213377 of 2031-12-24",
        "3.14159 and 1,234,567.89",
        "192.168.10.20",
        "550e8400-e29b-41d4-a716-446655440000",
        "version 1.2.3-4",
        "@ada and a@b",
        "ISBN 978-3-16-148410-0",
    ],
)
def test_what_is_no_personal_data_stays(text: str) -> None:
    assert mask_personal_data(text) == text
