from __future__ import annotations

from typing import Any

import pytest

from fallback.catalogue import Catalogue, fold
from fallback.errors import ConfigurationError, InvalidToolError
from fallback.limits import Limits
from fallback.tools import Tool, tool


def named(*names: str) -> Catalogue:
    return Catalogue([{"name": name} for name in names])


def meant(catalogue: Catalogue, name: str) -> str | None:
    found = catalogue.resolve(name)
    return found.name if found else None


def test_tools_functions_and_dictionaries_can_be_mixed() -> None:
    @tool
    def one() -> None: ...

    def two(x: int) -> None: ...

    catalogue = Catalogue([one, two, {"name": "three"}, {"function": {"name": "four"}}])
    assert catalogue.names == ("one", "two", "three", "four")
    assert [entry.name for entry in catalogue] == list(catalogue.names)
    assert len(catalogue) == 4
    assert catalogue.get("one") is one
    assert "two" in catalogue
    assert "five" not in catalogue
    assert 3 not in catalogue
    assert catalogue.get("Two") is None
    assert repr(catalogue) == "Catalogue(one, two, three, four)"


def test_an_empty_catalogue_is_one() -> None:
    catalogue = Catalogue()
    assert (len(catalogue), catalogue.names, catalogue.hidden) == (0, (), ())
    assert catalogue.resolve("x") is None
    assert catalogue.nearest("x") == ()


def test_hidden_tools_are_there_for_the_application_only() -> None:
    secret = Tool(name="get_secret", hidden=True)
    catalogue = Catalogue([Tool(name="search"), secret])
    assert catalogue.names == ("search",)
    assert catalogue.hidden == (secret,)
    assert len(catalogue) == 1
    assert "get_secret" not in catalogue
    assert catalogue.get("get_secret") is None
    for name in ("get_secret", "Get-Secret", "functions.get_secret"):
        assert catalogue.resolve(name) is None
        assert not catalogue.is_ambiguous(name)
    assert catalogue.nearest("get_secre") == ()
    assert catalogue.only("search").hidden == (secret,)
    with pytest.raises(ConfigurationError):
        catalogue.only("get_secret")


def test_a_catalogue_of_a_catalogue_is_the_same() -> None:
    catalogue = Catalogue([Tool(name="a"), Tool(name="b", hidden=True)])
    again = Catalogue(catalogue)
    assert list(again) == list(catalogue)
    assert again.hidden == catalogue.hidden


@pytest.mark.parametrize("hidden", [False, True])
def test_two_tools_of_one_name_are_refused(hidden: bool) -> None:
    with pytest.raises(InvalidToolError, match=r"two tools are called 'a'"):
        Catalogue([{"name": "a"}, Tool(name="a", hidden=hidden)])


@pytest.mark.parametrize(
    ("tools", "why"),
    [
        ({"name": "a"}, "tools are given as a list, got dict"),
        ("get_weather", "tools are given as a list, got str"),
        (5, "tools are given as a list, got int"),
        (Tool(name="a"), "tools are given as a list, got Tool"),
        ([5], "a tool is a function, a Tool or a dictionary, got int"),
        (["get_weather"], "a tool is a function, a Tool or a dictionary, got str"),
        ([None], "got NoneType"),
    ],
)
def test_what_is_no_list_of_tools_is_refused(tools: Any, why: str) -> None:
    with pytest.raises(InvalidToolError, match=why):
        Catalogue(tools)


def test_the_limits_count() -> None:
    with pytest.raises(InvalidToolError, match=r"3 tools, at most 2 \(max_tools\)"):
        Catalogue([{"name": n} for n in "abc"], limits=Limits(max_tools=2))
    deep = {"name": "f", "parameters": {"properties": {"a": {"properties": {"b": {}}}}}}
    for entry in (deep, Tool.from_dict(deep)):
        with pytest.raises(InvalidToolError, match=r"tool 'f': .*deeper than 3 levels"):
            Catalogue([entry], limits=Limits(max_depth=3))


# --- names


@pytest.mark.parametrize(
    ("name", "folded"),
    [
        ("get_weather", "get_weather"),
        ("Get-Weather", "get_weather"),
        ("get.weather", "get_weather"),
        ("GET WEATHER", "get_weather"),
        ("server/get__weather", "server_get_weather"),
        ("getWeather", "getweather"),
        ("STRASSE", "strasse"),
        ("straße", "strasse"),
        ("Cafe\u0301", "café"),
        ("_a_", "a"),
    ],
)
def test_folding_ignores_case_and_separators(name: str, folded: str) -> None:
    assert fold(name) == folded


@pytest.mark.parametrize(
    "written",
    [
        "get_weather",
        "Get_Weather",
        "get-weather",
        "get weather",
        "get.weather",
        "functions.get_weather",
        "function.get_weather",
        "tools.get_weather",
        "default_api.get_weather",
        "Functions.Get-Weather",
        "functions.get_weather:0",
        "get_weather:12",
        r"get\_weather",
        "`get_weather`",
        '"get_weather"',
        "**get_weather**",
        ": get_weather",
        " get_weather\n",
        "get_weather()",
        "get_weather:",
    ],
)
def test_a_name_resolves_however_a_model_writes_it(written: str) -> None:
    assert meant(named("search", "get_weather"), written) == "get_weather"


@pytest.mark.parametrize(
    ("declared", "written"),
    [
        ("list-vpcs", "list_vpcs"),
        ("resolve-library-id", "resolve_library_id"),
        ("Search the internet", "search_the_internet"),
        ("math.factorial", "math_factorial"),
        ("functions.read", "functions.read"),
        ("functions.read", "functions_read"),
        ("task:0", "task:0"),
        ("mcp__s__t", "mcp__s__t"),
        ("HassTurnOn", "hassturnon"),
    ],
)
def test_the_declared_spelling_is_reported(declared: str, written: str) -> None:
    assert meant(named("other", declared), written) == declared


@pytest.mark.parametrize(
    "written",
    [
        *(
            "serch",
            "get_wether",
            "weather",
            "get",
            "getweather",
            "search2",
            "",
            " ",
            ":",
            "()",
            "functions.",
        ),
        *(
            "functions.",
            "get_weather_v2",
            "x" * 10_000,
            "search; get_weather",
            "`",
            "\ud800",
            "search()()",
        ),
    ],
)
def test_a_name_that_is_only_similar_resolves_to_nothing(written: str) -> None:
    catalogue = named("search", "get_weather")
    assert catalogue.resolve(written) is None
    assert not catalogue.is_ambiguous(written)


def test_two_tools_that_a_name_can_mean_are_none() -> None:
    catalogue = named("get-file", "get_file", "GET_FILE", "read")
    assert meant(catalogue, "get-file") == "get-file"
    assert meant(catalogue, "get_file") == "get_file"
    assert meant(catalogue, "functions.get_file") == "get_file"
    assert catalogue.resolve("Get File") is None
    assert catalogue.is_ambiguous("Get File")
    assert not catalogue.is_ambiguous("get-file")
    assert not catalogue.is_ambiguous("read")
    assert not catalogue.is_ambiguous("Read")


def test_a_prefix_is_only_taken_off_what_is_not_declared() -> None:
    catalogue = named("functions.read", "read", "task:1", "task")
    assert meant(catalogue, "functions.read") == "functions.read"
    assert meant(catalogue, "read") == "read"
    assert meant(catalogue, "task:1") == "task:1"
    assert meant(catalogue, "task:2") == "task"
    # Both the whole and the shorter form are somebody's name: nobody can say which was meant.
    assert catalogue.resolve("Functions.Read") is None
    assert catalogue.is_ambiguous("Functions.Read")


@pytest.mark.parametrize(
    ("written", "first"),
    [
        ("serch_web", "web_search"),
        ("web_serch", "web_search"),
        ("get_wether", "get_weather"),
        ("weather", "get_weather"),
        ("ReadFiles", "read_file"),
    ],
)
def test_the_nearest_names_are_suggested(written: str, first: str) -> None:
    catalogue = named("read_file", "get_weather", "web_search", "delete_user")
    assert catalogue.nearest(written)[0] == first
    assert len(catalogue.nearest(written, limit=1)) == 1


def test_nothing_is_suggested_where_nothing_is_near() -> None:
    catalogue = named("execute")
    assert catalogue.nearest("python") == ()
    assert catalogue.nearest("execute", limit=0) == ()
    assert catalogue.nearest("x" * 100_000) == ()


def test_part_of_a_catalogue_keeps_the_order() -> None:
    catalogue = named("a", "b", "c")
    assert catalogue.only("c", "a").names == ("a", "c")
    assert catalogue.only().names == ()
    with pytest.raises(ConfigurationError, match='no tool is called "d"; there are a, b, c'):
        catalogue.only("a", "d")
