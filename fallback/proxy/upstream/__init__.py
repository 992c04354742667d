"""The server behind: found once, asked for generations, and handed everything else as it is."""

from fallback.proxy.upstream.server import Relayed, Upstream

__all__ = ["Relayed", "Upstream"]
