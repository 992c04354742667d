from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from fallback.errors import ToolFileError
from fallback.toolfile import load_catalogue


@pytest.fixture(autouse=True)
def own_import_state() -> Iterator[None]:
    """A tool file's folder joins the search path of the process; not that of the next test."""
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name.startswith("toolfile_") or name == "my_helper":
            del sys.modules[name]


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(dedent(text), encoding="utf-8")
    return path


def openai(name: str) -> dict[str, object]:
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": "Does it.",
            "parameters": {"type": "object", "properties": {"x": {"type": "integer"}}},
        },
    }


def test_the_tools_of_a_module_come_in_the_order_of_the_file(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "my_tools.py",
        '''
        from fallback import tool

        @tool
        def zebra(x: int) -> int:
            """Count stripes."""
            return x

        @tool
        def ant(x: int) -> int:
            """Count legs."""
            return x * 6

        def helper():
            """Not a tool."""

        alias = ant
        ''',
    )
    catalogue = load_catalogue([path])
    assert list(catalogue.names) == ["zebra", "ant"]
    ant = catalogue.get("ant")
    assert ant is not None
    assert ant(2) == 12


def test_a_list_named_tools_decides_alone(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "t.py",
        '''
        from fallback import tool

        @tool
        def not_offered(x: int) -> int:
            """Kept back."""
            return x

        def plain(x: int) -> int:
            """A function without a decorator."""
            return x

        TOOLS = [plain, {"name": "bare", "parameters": {"type": "object", "properties": {}}}]
        ''',
    )
    assert list(load_catalogue([path]).names) == ["plain", "bare"]


def test_hidden_tools_stay_hidden(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "t.py",
        '''
        from fallback import tool

        @tool
        def shown(x: int) -> int:
            """Shown."""
            return x

        @tool(hidden=True)
        def unseen(x: int) -> int:
            """Unseen."""
            return x
        ''',
    )
    catalogue = load_catalogue([path])
    assert list(catalogue.names) == ["shown"]
    assert [tool.name for tool in catalogue.hidden] == ["unseen"]


def test_the_folder_of_the_file_is_importable(tmp_path: Path) -> None:
    written(tmp_path, "my_helper.py", "FACTOR = 3\n")
    path = written(
        tmp_path,
        "t.py",
        '''
        from my_helper import FACTOR
        from fallback import tool

        @tool
        def triple(x: int) -> int:
            """Triple it."""
            return x * FACTOR
        ''',
    )
    triple = load_catalogue([path]).get("triple")
    assert triple is not None
    assert triple(4) == 12


@pytest.mark.parametrize("wrap", [False, True], ids=["a list", "an object"])
def test_json_holds_tools_as_servers_take_them(tmp_path: Path, wrap: bool) -> None:
    tools = [openai("a"), {"name": "b", "parameters": {"type": "object", "properties": {}}}]
    text = json.dumps({"tools": tools} if wrap else tools)
    assert list(load_catalogue([written(tmp_path, "t.json", text)]).names) == ["a", "b"]


def test_several_files_make_one_catalogue(tmp_path: Path) -> None:
    paths = [written(tmp_path, f"{n}.json", json.dumps([openai(n)])) for n in ("b", "a")]
    assert list(load_catalogue(paths).names) == ["b", "a"]


def test_the_same_name_in_two_files_is_refused(tmp_path: Path) -> None:
    paths = [written(tmp_path, f"{n}.json", json.dumps([openai("same")])) for n in ("b", "a")]
    with pytest.raises(ToolFileError, match=r"b\.json, .*a\.json: .*same"):
        load_catalogue(paths)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.json", "[{]", r"t\.json:1:3: "),
        ("t.json", "{}", r"t\.json: expected a list of tools"),
        ("t.json", '["a"]', r"t\.json: expected a list of tools"),
        ("t.json", "[]", r"t\.json: no tools in it"),
        ("t.json", "[" * 100_000, r"t\.json: "),
        ("t.json", '[{"name": "a{b", "parameters": {}}]', r"t\.json: .*a\{b"),
        ("t.json", '[{"name": "a", "parameters": {"type": "string"}}]', r"t\.json: .*object"),
        ("t.py", "x = 1\n", r"t\.py: no tools in it; decorate a function with @tool"),
        ("t.py", "x = 1\ndef f(:\n", r"t\.py:2: SyntaxError: invalid syntax"),
        ("t.py", "\n\nimport no_such_module_here\n", r"t\.py:3: ModuleNotFoundError: No module"),
        ("t.py", "def f():\n  1 / 0\n\nf()\n", r"t\.py:2: ZeroDivisionError: division by zero"),
        ("t.py", "raise SystemExit(0)\n", r"t\.py:1: SystemExit"),
        ("t.py", "TOOLS = 'abc'\n", r"t\.py: TOOLS is str, expected a list"),
        ("t.py", "TOOLS = [1]\n", r"t\.py: TOOLS holds int, not a tool"),
        ("t.txt", "", r"t\.txt: tools come from a \.py or a \.json file"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ToolFileError, match=message) as raised:
        load_catalogue([path])
    assert "\n" not in str(raised.value)


def test_a_mistake_in_an_imported_helper_is_told_at_the_import(tmp_path: Path) -> None:
    written(tmp_path, "my_helper.py", "\n\nundefined_name\n")
    path = written(tmp_path, "t.py", "\nimport my_helper\n")
    with pytest.raises(ToolFileError, match=r"t\.py:2: NameError: name 'undefined_name'"):
        load_catalogue([path])


def test_a_syntax_error_in_an_imported_helper_names_the_helper(tmp_path: Path) -> None:
    written(tmp_path, "my_helper.py", "\n)\n")
    path = written(tmp_path, "t.py", "\nimport my_helper\n")
    with pytest.raises(ToolFileError, match=r"my_helper\.py:2: SyntaxError: "):
        load_catalogue([path])


def test_a_file_that_failed_leaves_no_module_behind(tmp_path: Path) -> None:
    path = written(tmp_path, "half.py", "x = 1\n1 / 0\n")
    with pytest.raises(ToolFileError):
        load_catalogue([path])
    assert "toolfile_half" not in sys.modules


def test_a_missing_file_and_a_folder_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(ToolFileError, match=r"gone\.py: does not exist"):
        load_catalogue([tmp_path / "gone.py"])
    (tmp_path / "folder.py").mkdir()
    with pytest.raises(ToolFileError, match=r"folder\.py: is a folder"):
        load_catalogue([tmp_path / "folder.py"])


def test_a_json_file_that_is_not_utf8_says_where(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(b'["\xff"]')
    with pytest.raises(ToolFileError, match=r"t\.json: not UTF-8 at byte 2"):
        load_catalogue([path])


def test_json_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps([openai("a")]), encoding="utf-8-sig")
    assert list(load_catalogue([path]).names) == ["a"]
