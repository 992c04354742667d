"""What is known about a family of models: how a conversation is written down for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from fallback.messages import Role

__all__ = ["Family", "Style"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How one model's own template differs from the plainest one of its family.

    Everything is read from the text of the template (:mod:`fallback.families.styles`) or named for
    one of Ollama's builtin renderers; the template itself is never run.

    Attributes:
        trim: whether white space around texts is cut off.
        drop: what becomes of the reasoning in past replies: kept, or cut off up to its closing tag;
            what follows may then lose line breaks (``lines``) or all white space (``space``).
        keep_last: whether the last reply of all keeps its reasoning.
        opening: text after the assistant's opener in which the model begins to think.
        closed: the same where thinking is switched off.
        past: text that stands before every past reply.
        system_header: text that stands before the system text.
        default_system: what the template says where the conversation has no system text.
        system_place: Mistral: own turn, first user turn, or last user turn.
        before, after: white space before and after the opener of an instruction.
        close: text before an instruction's, or after a heading's, end.
        lead: text before a past reply.
        end: text after a past reply, or after a user's text.
        turn_bos: BOS that stands before every instruction but the first.
    """

    trim: bool = False
    drop: Literal["keep", "cut", "lines", "space"] = "keep"
    opening: str = ""
    closed: str = ""
    keep_last: bool = False
    past: str = ""
    system_header: str = ""
    default_system: str | None = None
    system_place: Literal["turn", "first", "last"] = "turn"
    before: str = ""
    after: str = ""
    close: str = ""
    lead: str = ""
    end: str = ""
    turn_bos: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One chat format.

    Attributes:
        name: as it appears in :attr:`fallback.backend.ModelInfo.family` and in paths.
        template: file under ``templates/chat/`` that writes the conversation down.
        stop: strings that end a reply; always sent, as Ollama's ``stop`` replaces the model's own.
        special: turn markers of this family beyond the common tokens of
            :mod:`fallback.families.neutral`; text may never spell them.
        bos: how the beginning of a sequence is spelled; written only where the tokenizer does not.
        trims: roles whose text is trimmed if the model's template trims at all.
        gap: what stands between the assistant's opener and its text.
    """

    name: str
    template: str
    stop: tuple[str, ...]
    special: tuple[str, ...] = ()
    bos: str = ""
    trims: tuple[Role, ...] = ("user", "assistant")
    gap: str = ""
    style: Style = field(default_factory=Style)
