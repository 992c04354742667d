"""The names users build on, and what it costs to import them."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

import fallback

HEAVY = (
    "docstring_parser",
    "httpx",
    "jinja2",
    "jiter",
    "jsonschema_rs",
    "lark",
    "pydantic",
    "rapidfuzz",
    "rich",
    "typer",
    "xllamacpp",
)


def in_a_fresh_interpreter(code: str) -> Any:
    """The JSON that ``code`` prints, run where nothing has been imported yet."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_all_is_complete_and_sorted() -> None:
    assert list(fallback.__all__) == sorted(fallback.__all__)
    assert set(fallback.__all__) == set(fallback._HOME)


@pytest.mark.parametrize("name", fallback.__all__)
def test_every_public_name_is_there_and_knows_its_home(name: str) -> None:
    value = getattr(fallback, name)
    assert value.__module__.startswith("fallback.")


def test_names_appear_in_dir() -> None:
    assert set(fallback.__all__) <= set(dir(fallback))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'sesion'"):
        _ = fallback.sesion


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import json, sys, fallback; print(json.dumps(sorted(sys.modules)))"
    loaded = in_a_fresh_interpreter(code)
    assert not set(HEAVY) & set(loaded)


def test_importing_the_package_costs_no_more_than_importing_httpx() -> None:
    # Counted in modules, which is what the time goes into and which no busy machine can change.
    cost = "import sys; before = len(sys.modules); import {}; print(len(sys.modules) - before)"
    ours, theirs = (in_a_fresh_interpreter(cost.format(name)) for name in ("fallback", "httpx"))
    assert ours <= theirs


def test_the_names_for_reading_replies_need_no_network_code() -> None:
    code = (
        "import json, sys; from fallback import Catalogue, Parser, parse, tool;"
        "print(json.dumps(sorted(sys.modules)))"
    )
    loaded = in_a_fresh_interpreter(code)
    assert not {"httpx", "rich", "typer", "xllamacpp", "asyncio"} & set(loaded)


def test_importing_the_package_does_no_io() -> None:
    code = """
import json, sys
seen = []
def watch(event, args):
    if event == "open" and not str(args[0]).endswith((".py", ".pyc")):
        seen.append(f"open {args[0]}")
    elif event.startswith(("socket.", "subprocess.", "sqlite3.", "os.mkdir", "os.remove")):
        seen.append(event)
sys.addaudithook(watch)
import fallback
print(json.dumps(seen))
"""
    assert in_a_fresh_interpreter(code) == []


def test_the_version_is_that_of_the_distribution() -> None:
    from importlib.metadata import version

    assert fallback.__version__ == version("toolcall-fallback")


def test_python_dash_m_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fallback", "--version"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout.strip()) == (0, f"fallback {fallback.__version__}")
