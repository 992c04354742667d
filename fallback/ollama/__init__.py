"""Ollama's wire: pure request builders, a decoder of replies, mapped errors, and the backend."""

from fallback.ollama.backend import Endpoint, OllamaBackend

__all__ = ["Endpoint", "OllamaBackend"]
