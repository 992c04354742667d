"""Tools from a file: a Python module with ``@tool`` functions, or JSON as servers take it.

A Python file is imported, so it can do whatever its author wrote: it is code, trusted like code. A
JSON file is data: its tools have no handler, so they can be offered and read, but not run.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from fallback.catalogue import Catalogue
from fallback.errors import InvalidToolError, ToolFileError
from fallback.limits import DEFAULT_LIMITS, Limits
from fallback.tools import Tool

LIST_NAME = "TOOLS"
"""Where a module lists its tools itself; otherwise all module-level ``Tool`` objects count."""


def load_catalogue(paths: Sequence[Path], *, limits: Limits = DEFAULT_LIMITS) -> Catalogue:
    """One catalogue of the tools of all files, in the order given.

    Raises:
        ToolFileError: a file cannot be read, or holds no tool, or one that cannot be offered, or a
            name that another file has too; names the file, and the line if there is one.
    """
    found: list[Tool] = []
    for path in paths:
        try:
            catalogue = Catalogue(load(path), limits=limits)
        except InvalidToolError as error:
            raise ToolFileError(f"{path}: {error}") from error
        found += [*catalogue, *catalogue.hidden]
    try:
        return Catalogue(found, limits=limits)
    except InvalidToolError as error:
        raise ToolFileError(f"{', '.join(map(str, paths))}: {error}") from error


def load(path: Path) -> list[Any]:
    """The tools of one file, as :class:`~fallback.catalogue.Catalogue` takes them.

    Raises:
        ToolFileError: see :func:`load_catalogue`.
    """
    readers: dict[str, Callable[[Path], list[Any]]] = {".py": _from_python, ".json": _from_json}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise ToolFileError(f"{path}: tools come from a .py or a .json file")
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise ToolFileError(f"{path}: {what}")
    tools = reader(path)
    if not tools:
        raise ToolFileError(
            f"{path}: no tools in it; decorate a function with @tool, or list them in {LIST_NAME}"
        )
    return tools


def _from_json(path: Path) -> list[Any]:
    import json

    try:
        data = json.loads(path.read_bytes().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ToolFileError(f"{path}: not UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise ToolFileError(f"{path}:{error.lineno}:{error.colno}: {error.msg}") from error
    except (OSError, RecursionError, ValueError) as error:
        raise ToolFileError(f"{path}: {_one_line(error)}") from error
    tools = data.get("tools") if isinstance(data, dict) else data
    if not isinstance(tools, list) or not all(isinstance(entry, dict) for entry in tools):
        raise ToolFileError(f'{path}: expected a list of tools, or {{"tools": [...]}}')
    return tools


def _from_python(path: Path) -> list[Any]:
    module = _imported(path)
    listed = getattr(module, LIST_NAME, None)
    if listed is None:
        unique = {id(value): value for value in vars(module).values() if isinstance(value, Tool)}
        return list(unique.values())
    if isinstance(listed, str | Mapping) or not isinstance(listed, Iterable):
        raise ToolFileError(f"{path}: {LIST_NAME} is {type(listed).__name__}, expected a list")
    tools = list(listed)
    for entry in tools:
        if not isinstance(entry, Tool | Mapping) and not callable(entry):
            raise ToolFileError(f"{path}: {LIST_NAME} holds {type(entry).__name__}, not a tool")
    return tools


def _imported(path: Path) -> ModuleType:
    """Import the file under a name of its own; its folder is importable, as if it had been run."""
    place = path.resolve()
    name = f"toolfile_{place.stem}"
    spec = spec_from_file_location(name, place)
    if spec is None or spec.loader is None:
        raise ToolFileError(f"{path}: cannot be imported")
    module = module_from_spec(spec)
    folder = str(place.parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    # Registered before it runs: dataclasses and annotations are resolved through this entry.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # whatever the file's own code raises
        del sys.modules[name]
        raise ToolFileError(_where(path, place, error)) from error
    return module


def _where(path: Path, place: Path, error: BaseException) -> str:
    """``tools.py:3: NameError: ...``: the innermost line that stands in the file itself."""
    if isinstance(error, SyntaxError) and error.filename:
        same = Path(error.filename) == place
        file = path if same else error.filename
        return f"{file}:{error.lineno}: {type(error).__name__}: {error.msg}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == place]
    line = f":{lines[-1]}" if lines else ""
    return f"{path}{line}: {_one_line(error)}"


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
