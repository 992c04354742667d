"""A model in this process, behind Ollama's wire (extra ``embedded``).

:class:`~fallback.engine.core.Engine` answers requests, the transports put it under an ``httpx``
client, and ``serve`` under a port. Nothing here is loaded by ``import fallback``.
"""
