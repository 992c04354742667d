"""A reply that goes on behind its results: what of it has been said, and what is the answer."""

from __future__ import annotations

from fallback.loop.ending import Ending
from fallback.loop.record import Record
from fallback.messages import Message, Reading
from fallback.rendering.running import Place, running_answer, running_place

__all__ = ["answer_of", "is_over", "next_place"]


def next_place(record: Record) -> Place:
    """Where the next reply begins, for a user who reads along."""
    place = running_place(record.messages[1:])
    last = record.messages[-1].result
    if record.steps and any(result is last for result in record.steps[-1].results):
        return place
    return place._replace(words=())  # told in front of a reply that was not kept


def is_over(record: Record, reading: Reading) -> bool:
    """Whether a running text ended with the result of its last call."""
    said = reading.finish_reason == "stop" and not reading.text.strip()
    return said and bool(running_answer(record.messages[1:]))


def answer_of(record: Record, ending: Ending) -> str:
    """All that was said, with the results that were put into it."""
    last = record.steps[-1].reading if record.steps else Reading()
    text = ending.answer
    if last.text.strip() == text.strip():
        text = last.text.rstrip()  # with the blanks that it went on with
    kept = {call.id for message in record.messages for call in message.tool_calls}
    if any(call.id in kept for call in last.calls):
        text = ""  # it has been said in front of these calls
    return running_answer((*record.messages[1:], Message(role="assistant", content=text)))
