"""For tests of reading: a tool that needs something, one that needs nothing, and both."""

from __future__ import annotations

from typing import Any

from fallback import Catalogue

WEATHER: dict[str, Any] = {
    "name": "get_weather",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    },
}
NOW: dict[str, Any] = {"name": "now", "parameters": {"type": "object", "properties": {}}}
CATALOGUE = Catalogue([WEATHER, NOW])
