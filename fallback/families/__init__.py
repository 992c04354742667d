"""Chat formats: which family a model belongs to, and how a conversation is written down for it.

``recognise`` reads the family off the model's template, ``render`` writes the raw prompt with our
own template of that family, ``neutralise`` keeps text from becoming a control token.
"""

from fallback.families.neutral import neutralise
from fallback.families.record import Family, Style
from fallback.families.render import Turns, opens_reasoning, recognise, render, turns_of
from fallback.families.table import FAMILIES

__all__ = [
    "FAMILIES",
    "Family",
    "Style",
    "Turns",
    "neutralise",
    "opens_reasoning",
    "recognise",
    "render",
    "turns_of",
]
