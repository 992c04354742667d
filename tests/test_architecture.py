"""The layers of ARCHITECTURE.md, as the imports really are, those inside functions included."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "fallback"

# A module may import its own layer and those before it. A name stands for the module or the whole
# subpackage. ``validation`` stands with the parser because only a validated call may become the
# parser's ``CallReady``.
LAYERS: dict[str, tuple[str, ...]] = {
    "0 values": ("errors", "limits", "messages", "resources"),
    "1 tools": ("schema", "tools", "catalogue"),
    "2 text": (
        "parsing",
        "dialects",
        "rendering",
        "results",
        "families",
        "validation",
        "templating",
    ),
    "3 decisions": ("backend", "routing", "policy", "loop", "ways"),
    "4 I/O": ("execution", "ledger", "mcp", "ollama", "hosts", "engine", "profiles", "session"),
    "5 edges": (
        "cli",
        "testing",
        "toolfile",
        "doctor",
        "compare",
        "examples",
        "lint",
        "flow",
        "proxy",
        "__main__",
    ),
}
LEVEL = {name: level for level, names in enumerate(LAYERS.values()) for name in names}
MODULES = sorted(PACKAGE.rglob("*.py"))

# What a layer may take from outside; heavier things belong further out. Layers 4 and 5 are free.
STANDARD_ONLY = frozenset[str]()
THIRD_PARTY: dict[int, frozenset[str]] = {
    0: STANDARD_ONLY,
    1: frozenset(
        {"pydantic", "typing_extensions", "docstring_parser", "jsonschema_rs", "jiter", "rapidfuzz"}
    ),
    2: frozenset({"jinja2", "markupsafe", "lark", "jiter", "jsonschema_rs"}),
    3: STANDARD_ONLY,
}
IO_MODULES = {
    "asyncio",
    "httpx",
    "os",
    "random",
    "secrets",
    "select",
    "socket",
    "subprocess",
    "threading",
    "time",
    "urllib",
}


def part_of(path: Path) -> str:
    """``fallback/parsing/json_body.py`` belongs to the part ``parsing``."""
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imports_in(source: str, package: tuple[str, ...]) -> set[str]:
    """Dotted names of all modules that a source imports anywhere, relative ones made absolute."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            if module == "fallback":
                names |= {f"fallback.{alias.name}" for alias in node.names}
            else:
                names.add(module)
    return names


def imports_of(path: Path) -> set[str]:
    package = ("fallback", *path.relative_to(PACKAGE).parent.parts)
    return imports_in(path.read_text(encoding="utf-8"), package)


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def test_every_module_has_a_layer() -> None:
    parts = {part_of(path) for path in MODULES} - {"__init__"}
    assert parts == set(LEVEL)


@pytest.mark.parametrize("path", [m for m in MODULES if part_of(m) in LEVEL], ids=name_of)
def test_a_module_imports_only_its_own_layer_or_lower(path: Path) -> None:
    own = LEVEL[part_of(path)]
    for name in imports_of(path):
        if not name.startswith("fallback."):
            continue
        part = name.split(".")[1]
        if part == "__version__":
            continue
        assert LEVEL[part] <= own, f"{name_of(path)} imports {name}"


def third_party(path: Path) -> set[str]:
    import sys

    tops = {name.partition(".")[0] for name in imports_of(path)}
    return tops - sys.stdlib_module_names - {"fallback"}


@pytest.mark.parametrize(
    "path", [m for m in MODULES if LEVEL.get(part_of(m), 9) in THIRD_PARTY], ids=name_of
)
def test_the_inner_layers_take_little_from_outside(path: Path) -> None:
    assert third_party(path) <= THIRD_PARTY[LEVEL[part_of(path)]]


@pytest.mark.parametrize("path", [m for m in MODULES if LEVEL.get(part_of(m), 9) <= 3], ids=name_of)
def test_the_inner_layers_do_no_io(path: Path) -> None:
    assert not {name.partition(".")[0] for name in imports_of(path)} & IO_MODULES


def test_every_way_to_import_is_seen() -> None:
    source = """
import fallback.cli.run as r
from fallback import doctor
from fallback.hosts import connect
def late():
    from ..session import Session
    from . import events
    from .. import loop
"""
    assert imports_in(source, ("fallback", "parsing")) == {
        "fallback.cli.run",
        "fallback.doctor",
        "fallback.hosts",
        "fallback.session",
        "fallback.parsing",
        "fallback.loop",
    }


def test_the_layers_drawn_are_the_layers_tested() -> None:
    text = (PACKAGE.parent / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for layer, names in LAYERS.items():
        (row,) = re.findall(rf"^\| {re.escape(layer)} \| (.+?) \|", text, re.MULTILINE)
        assert set(re.findall(r"`(\w+)`", row)) == set(names) - {"__main__"}
