"""Two short drivers of one turn: :class:`Session` blocks, :class:`AsyncSession` does not."""

from fallback.session.awaiting import AsyncSession
from fallback.session.blocking import Session

__all__ = ["AsyncSession", "Session"]
