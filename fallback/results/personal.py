"""Personal data in a text, replaced by what kind of data it was.

A number is taken for a card or an account only where its check digits are right, so that ids,
measurements and dates stay.
"""

from __future__ import annotations

import re

__all__ = ["mask_personal_data"]

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,6}(?!\w)")
# ISO 13616: country, two check digits, up to 30 characters, in groups of four when printed.
_IBAN = re.compile(r"(?<!\w)[A-Z]{2}\d{2}(?:[ ]?[A-Z0-9]{4}){2,7}(?:[ ]?[A-Z0-9]{1,3})?(?!\w)")
# ISO/IEC 7812: 13 to 19 digits, in groups when printed.
_CARD = re.compile(r"(?<![\w.+-])\d(?:[ -]?\d){12,18}(?![\w-])")
_PHONE = re.compile(
    r"""(?x) (?<![\w.+/-]) (?<!\d[ ]) (?:
        \+ [1-9] (?: [ ()./-]{0,2} \d ){7,14}  # +47 22 12 34 56 (E.164)
      | \(? 0{1,2}[1-9]\d{0,3} \)? [ /-] \d{3,8} (?: [ -] \d{1,6} ){0,3} # 0664 12 34 56
      | (?: \(\d{3}\)[ ]? | \d{3}[-. ] ) \d{3} [-.] \d{4}  # (555) 123-4567
    ) (?! [\w-] )"""
)
_LEAST_PHONE_DIGITS = 7


def mask_personal_data(text: str) -> str:
    """Replace e-mail addresses, IBANs, card and phone numbers by ``(e-mail)``, ``(IBAN)``, ...

    It knows forms, not people: names and addresses stay. May be given to ``Session(mask=[...])``.
    """
    if "@" in text:
        text = _EMAIL.sub("(e-mail)", text)
    text = _IBAN.sub(lambda m: "(IBAN)" if _is_iban(m[0]) else m[0], text)
    text = _CARD.sub(lambda m: "(card)" if _is_card(m[0]) else m[0], text)
    return _PHONE.sub(lambda m: "(phone)" if _is_phone(m[0]) else m[0], text)


def _is_iban(text: str) -> bool:
    """ISO 7064, MOD 97-10: the number made of the rearranged characters leaves 1."""
    plain = text.replace(" ", "")
    if not 15 <= len(plain) <= 34:
        return False
    return int("".join(str(int(c, 36)) for c in plain[4:] + plain[:4])) % 97 == 1


def _is_card(text: str) -> bool:
    """ISO/IEC 7812-1, annex B (Luhn): every second digit from the right counts double."""
    digits = [int(c) for c in text if c.isdigit()]
    if len(set(digits)) == 1:  # zeros and the like pass the check, and are nobody's card
        return False
    doubled = (sum(divmod(2 * d, 10)) for d in digits[-2::-2])
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _is_phone(text: str) -> bool:
    return sum(c.isdigit() for c in text) >= _LEAST_PHONE_DIGITS
