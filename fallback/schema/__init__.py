"""JSON Schema: checked, shown compactly, coerced to without loss, and explained when it is broken.

What stands here is all that other parts use. Schemas are untrusted wherever a client sends them,
and so are the values: nothing is fetched, nothing is evaluated, and depth, size and work are
bounded.
"""

from __future__ import annotations

from fallback.schema.checking import check
from fallback.schema.coercion import coerce
from fallback.schema.compiled import CompiledSchema
from fallback.schema.faults import Violation, violations
from fallback.schema.normal import normalise
from fallback.schema.signatures import signature
from fallback.schema.skeletons import skeleton

__all__ = [
    "CompiledSchema",
    "Violation",
    "check",
    "coerce",
    "normalise",
    "signature",
    "skeleton",
    "violations",
]
