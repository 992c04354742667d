"""Conversations as text: what a model without tools is shown, and nothing it could mistake.

Law: ``parse(call_text(calls)) == calls`` with no repairs, and ``parse(result_text(x))`` has no
calls.
"""

from fallback.rendering.prompt import prompt_messages
from fallback.rendering.text import call_text, correction_text, result_text, system_text

__all__ = ["call_text", "correction_text", "prompt_messages", "result_text", "system_text"]
