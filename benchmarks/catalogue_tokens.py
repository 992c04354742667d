"""What the catalogue costs in the prompt, against the same tools as pretty JSON Schema.

    python benchmarks/catalogue_tokens.py [MODEL] [--json]

Tokens are those of the embedded model's own tokenizer. "compact" is what a system prompt shows for
a tool, "json" is the tool object that servers take, indented by two, as most prompts paste it. The
tools stand for what applications declare: small and large, flat and nested, described or not.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from fallback import Catalogue
from fallback.engine.llama import LlamaServer
from fallback.engine.models import DEFAULT_MODEL, pull
from fallback.schema import signature

TARGET = 0.60
"""The most that the compact form may cost, as a share of the JSON form."""


def string(description: str = "", **more: Any) -> dict[str, Any]:
    words = {"description": description} if description else {}
    return {"type": "string", **words, **more}


def tool(name: str, description: str, required: list[str], **properties: Any) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": False,
            },
        },
    }


ADDRESS = {
    "type": "object",
    "properties": {
        "street": string("Street and number"),
        "postcode": string(),
        "city": string(),
        "country": string("Two letters, as in ISO 3166", minLength=2, maxLength=2),
    },
    "required": ["street", "city", "country"],
}
TOOLS = [
    tool("now", "The current date and time.", []),
    tool(
        "get_weather",
        "Forecast for a city.",
        ["city"],
        city=string("Name of the city, such as Oslo"),
        days={"type": "integer", "minimum": 1, "maximum": 14, "default": 1},
        unit={"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
    ),
    tool(
        "search_files",
        "Find files whose text matches a pattern.",
        ["pattern"],
        pattern=string("A regular expression"),
        folder=string("Where to search", default="."),
        glob=string("Only files whose name matches", default="*"),
        ignore_case={"type": "boolean", "default": False},
        limit={"type": "integer", "default": 50, "description": "Most matches to return"},
    ),
    tool(
        "send_mail",
        "Send a mail to one or more people.",
        ["to", "subject", "body"],
        to={"type": "array", "items": string("An address"), "minItems": 1},
        cc={"type": "array", "items": string()},
        subject=string(),
        body=string("Plain text"),
        priority={"type": "string", "enum": ["low", "normal", "high"]},
    ),
    tool(
        "place_order",
        "Order goods for a customer.",
        ["customer", "lines", "ship_to"],
        customer=string("Number of the customer"),
        lines={
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "sku": string("Article number"),
                    "quantity": {"type": "integer", "minimum": 1},
                    "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                },
                "required": ["sku", "quantity"],
            },
        },
        ship_to=ADDRESS,
        bill_to={"anyOf": [ADDRESS, {"type": "null"}], "default": None},
    ),
    tool(
        "query_database",
        "Run one read-only SQL query and return its rows.",
        ["sql"],
        sql=string("A single SELECT statement"),
        parameters={"type": "object", "additionalProperties": True},
        timeout={"type": "number", "description": "Seconds", "default": 30},
    ),
]


def measured(model: str) -> dict[str, Any]:
    catalogue = Catalogue(TOOLS)
    server = LlamaServer(pull(model).path, num_ctx=2048, threads=1)
    try:
        rows = {
            visible.name: {
                "compact": len(server.tokenize(signature(visible), add_special=False)),
                "json": len(server.tokenize(json.dumps(declared, indent=2), add_special=False)),
            }
            for visible, declared in zip(catalogue, TOOLS, strict=True)
        }
    finally:
        server.close()
    total = {kind: sum(row[kind] for row in rows.values()) for kind in ("compact", "json")}
    return {
        "model": model,
        "tools": rows,
        "total": total,
        "share": total["compact"] / total["json"],
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("model", nargs="?", default=DEFAULT_MODEL)
    options.add_argument("--json", action="store_true", help="one JSON object")
    given = options.parse_args()
    result = measured(given.model)
    if given.json:
        print(json.dumps(result))
    else:
        print(f"{'tool':<16} {'compact':>8} {'json':>8} {'share':>7}   tokens of {given.model}")
        for name, row in [*result["tools"].items(), ("all", result["total"])]:
            share = row["compact"] / row["json"]
            print(f"{name:<16} {row['compact']:>8} {row['json']:>8} {share:>7.0%}")
    assert result["share"] <= TARGET, f"the catalogue costs {result['share']:.0%} of the JSON"


if __name__ == "__main__":
    main()
