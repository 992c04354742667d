"""Schemas as they are met, made into plain JSON Schema 2020-12 that means the same.

Tools come from OpenAPI 3.0 (``nullable``, boolean ``exclusiveMinimum``), from draft 4 to draft 7
(``items`` as a list, ``dependencies``), from hand (``"type": "dict"``, ``"required": true`` inside
a property) and from data sets that write Python's type names. A validator refuses or, worse,
ignores these; the author's meaning is plain in each case. Nothing else is touched: no constraint is
dropped, so validation is against what the author wrote.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from fallback.errors import InvalidToolError
from fallback.limits import DEFAULT_LIMITS, Limits
from fallback.schema.shape import ANNOTATIONS, JsonCopier, subschemas

Schema = dict[str, Any]

TYPES = ("object", "array", "number", "integer", "string", "boolean", "null")
_TYPE_NAMES = {
    **dict.fromkeys(("dict", "map", "mapping", "hashmap", "record"), "object"),
    **dict.fromkeys(("list", "tuple", "set", "arraylist"), "array"),
    **dict.fromkeys(("float", "double", "decimal"), "number"),
    **dict.fromkeys(("int", "long", "short", "bigint"), "integer"),
    **dict.fromkeys(("str", "text", "char"), "string"),
    **dict.fromkeys(("bool",), "boolean"),
    **dict.fromkeys(("none", "nil"), "null"),
    **dict(zip(TYPES, TYPES, strict=True)),
}
"""Type names of Python, Java and JavaScript, in any case; Google's wire writes ``STRING``."""

_ANY_TYPE = frozenset({"any", "unknown", "mixed"})
_MAY_BE_NULL = frozenset({"default", "const"})
_SAYS_OBJECT = frozenset(
    {"properties", "required", "patternProperties", "additionalProperties", "minProperties"}
    | {"maxProperties", "propertyNames", "not", "$ref", "allOf", "anyOf", "oneOf"}
)
# RFC 3986: what may stand in a fragment. Names like ``Map«string»`` have to be escaped.
_NOT_IN_REFERENCE = re.compile(r"[^A-Za-z0-9\-._~!$&'()*+,;=:@/?%#]")


def normalise(parameters: Any, *, limits: Limits = DEFAULT_LIMITS) -> Schema:
    """The parameters of a tool as an object schema; the argument is not changed.

    Missing, ``null``, ``""``, ``[]`` and ``{}`` mean a tool without parameters, and so does an
    object schema whose ``properties`` are missing or empty.

    Raises:
        InvalidToolError: not an object schema, not JSON, too deep or too large.
    """
    if parameters is None or parameters in ("", [], {}, ()):
        return {"type": "object", "properties": {}}
    if not isinstance(parameters, Mapping):
        kind = type(parameters).__name__
        raise InvalidToolError(f"parameters must be a JSON Schema object, got {kind}")
    schema = modernise(parameters, limits=limits)
    kinds = schema.get("type")
    if kinds is None and not (_SAYS_OBJECT & set(schema) or set(schema) <= ANNOTATIONS):
        raise InvalidToolError(
            "parameters must be an object schema, "
            'such as {"type": "object", "properties": {"city": {"type": "string"}}}'
        )
    if kinds not in (None, "object") and not (isinstance(kinds, list) and "object" in kinds):
        raise InvalidToolError(f"parameters must be of type object, got {kinds!r}")
    schema.pop("title", None)
    schema.setdefault("properties", {})
    return {"type": "object", **{k: v for k, v in schema.items() if k != "type"}}


def modernise(schema: Mapping[str, Any], *, limits: Limits = DEFAULT_LIMITS) -> Schema:
    """Any schema as a copy in plain JSON Schema 2020-12; see the module's text.

    Raises:
        InvalidToolError: not JSON, too deep or too large.
    """
    root: Schema = JsonCopier(limits).copy(schema)
    base = root.get("$id") or root.get("id")
    if isinstance(root.get("required"), bool):
        del root["required"]
    waiting: list[Any] = [root]
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if not isinstance(node, dict) or id(node) in seen:
            continue
        seen.add(id(node))
        for mend in _MENDERS:
            mend(node)
        _mend_reference(node, base)
        if isinstance(ref := node.get("$ref"), str):
            # A target outside ``$defs``, such as ``#/components/schemas/X``, is a schema too.
            waiting.append(follow(root, ref))
        waiting.extend(sub for _, sub in subschemas(node))
    return root


def follow(root: Schema, ref: str) -> Any:
    """What a local reference such as ``#/$defs/City`` points to; ``None`` if it points nowhere."""
    if not ref.startswith("#"):
        return None
    here: Any = root
    for part in pointer_parts(ref[1:]):
        if isinstance(here, list) and part.isascii() and part.isdigit() and int(part) < len(here):
            here = here[int(part)]
        elif isinstance(here, dict) and part in here:
            here = here[part]
        else:
            return None
    return here


def pointer_parts(pointer: str) -> list[str]:
    """The keys of a JSON pointer (RFC 6901) written as a URI fragment."""
    if not pointer.startswith("/"):
        return [pointer] if pointer else []
    return [_unescape(part) for part in pointer.split("/")[1:]]


def _unescape(part: str) -> str:
    if "%" in part:
        raw = re.sub(rb"%([0-9A-Fa-f]{2})", lambda m: bytes([int(m[1], 16)]), part.encode("utf-8"))
        part = raw.decode("utf-8", "replace")
    return part.replace("~1", "/").replace("~0", "~")


def _drop_nulls(node: Schema) -> None:
    """``"description": null`` says nothing, but is not valid."""
    for keyword in [k for k, v in node.items() if v is None and k not in _MAY_BE_NULL]:
        del node[keyword]


def _drop_identity(node: Schema) -> None:
    """Every schema here stands alone: it is one document, read as 2020-12."""
    for keyword in ("$schema", "$id", "$vocabulary"):
        node.pop(keyword, None)


def _mend_type(node: Schema) -> None:
    kind = node.get("type")
    names = [kind] if isinstance(kind, str) else kind
    if not isinstance(names, list):
        return
    plain = ["null" if n is None else n for n in names]
    if any(isinstance(n, str) and n.casefold() in _ANY_TYPE for n in plain):
        del node["type"]
        return
    mended = [_TYPE_NAMES.get(n.casefold(), n) if isinstance(n, str) else n for n in plain]
    unique = [n for i, n in enumerate(mended) if n not in mended[:i]]
    node["type"] = unique[0] if len(unique) == 1 else unique


def _mend_properties(node: Schema) -> None:
    if node.get("properties") == []:
        node["properties"] = {}
    properties = node.get("properties")
    required = node.get("required", [])
    if isinstance(properties, dict):
        # ``"required": true`` inside a property is draft 3; it belongs into the object's own list.
        own = [
            n for n, p in properties.items() if isinstance(p, dict) and p.get("required") is True
        ]
        for prop in properties.values():
            if isinstance(prop, dict) and isinstance(prop.get("required"), bool):
                del prop["required"]
        if own and isinstance(required, list):
            required = required + own
    if isinstance(required, list) and ("required" in node or required):
        node["required"] = [n for i, n in enumerate(required) if n not in required[:i]]


def _mend_bounds(node: Schema) -> None:
    """OpenAPI 3.0 and draft 4 write ``"minimum": 0, "exclusiveMinimum": true``."""
    for exclusive, plain in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(node.get(exclusive), bool):
            strict = node.pop(exclusive)
            if strict and plain in node:
                node[exclusive] = node.pop(plain)


def _mend_items(node: Schema) -> None:
    """Up to draft 2019-09 a list under ``items`` is what is ``prefixItems`` now."""
    if isinstance(node.get("items"), list):
        first = node.pop("items")
        rest = node.pop("additionalItems", None)
        if first:
            node.setdefault("prefixItems", first)
        if rest is not None:
            node["items"] = rest
    if "examples" in node and not isinstance(node["examples"], list):
        node["examples"] = [node["examples"]]


def _mend_dependencies(node: Schema) -> None:
    """Draft 7 has one keyword for what are two now."""
    held = node.get("dependencies")
    if not isinstance(held, dict):
        return
    del node["dependencies"]
    names = {key: needs for key, needs in held.items() if isinstance(needs, list)}
    rules = {key: needs for key, needs in held.items() if not isinstance(needs, list)}
    for keyword, part in (("dependentRequired", names), ("dependentSchemas", rules)):
        if part:
            node[keyword] = {**part, **node.get(keyword, {})}


def _mend_nullable(node: Schema) -> None:
    """OpenAPI 3.0's ``"nullable": true``, which the people who write it mean for ``enum`` as
    well."""
    if not isinstance(node.get("nullable"), bool) or not node.pop("nullable"):
        return
    if "const" in node:
        node["enum"] = [node.pop("const")]
    if isinstance(node.get("enum"), list) and None not in node["enum"]:
        node["enum"] = [*node["enum"], None]
    kinds = node.get("type")
    if kinds is not None:
        kinds = kinds if isinstance(kinds, list) else [kinds]
        node["type"] = [*kinds, "null"] if "null" not in kinds else kinds
    if any(k in node for k in ("$ref", "allOf", "anyOf", "oneOf")):
        inner = {k: node.pop(k) for k in list(node) if k not in ANNOTATIONS}
        node["anyOf"] = [inner, {"type": "null"}]


def _mend_reference(node: Schema, base: Any) -> None:
    if node.pop("$recursiveRef", None) == "#":
        node.setdefault("$ref", "#")
    ref = node.get("$ref")
    if not isinstance(ref, str):
        return
    if isinstance(base, str) and base and ref.startswith(base.rstrip("#") + "#"):
        ref = ref[len(base.rstrip("#")) :]
    node["$ref"] = _NOT_IN_REFERENCE.sub(
        lambda m: "".join(f"%{byte:02X}" for byte in m[0].encode("utf-8")), ref
    )


_MENDERS: tuple[Callable[[Schema], None], ...] = (
    _drop_nulls,
    _drop_identity,
    _mend_type,
    _mend_properties,
    _mend_bounds,
    _mend_items,
    _mend_dependencies,
    _mend_nullable,
)
