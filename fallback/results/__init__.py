"""Tool results as data: what is shown of them, what is hidden, and what an answer rests on."""

from __future__ import annotations

from fallback.results.grounding import GroundingCheck, ungrounded
from fallback.results.html import html_to_text, is_html
from fallback.results.pages import pages_to_text
from fallback.results.personal import mask_personal_data
from fallback.results.shrink import shrink

__all__ = [
    "GroundingCheck",
    "html_to_text",
    "is_html",
    "mask_personal_data",
    "pages_to_text",
    "shrink",
    "ungrounded",
]
