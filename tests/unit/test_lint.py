from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest

from fallback import Catalogue, Injected, Risk, Tool, tool
from fallback.errors import ConfigurationError
from fallback.lint import RULES, Finding, lint
from fallback.lint.check import _ORDER
from fallback.lint.cost import MOST_OF_A_TOOL, estimate
from fallback.toolfile import load_catalogue

ROOT = Path(__file__).resolve().parents[2]


def declared(
    name: str = "find_trains",
    description: str = "Find trains between two cities.",
    *,
    required: list[str] | None = None,
    risk: Risk | None = Risk.READ_ONLY,
    **properties: Any,
) -> Tool:
    """A tool that only the rule under test has anything to say about."""
    schema = {"type": "object", "properties": properties, "required": required or []}
    return Tool(name=name, description=description, parameters=schema, risk=risk)


def text(description: str = "what is meant", **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **more}


def a(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "description": "what is meant", **more}


def unrequired(**properties: Any) -> Tool:
    schema = {"type": "object", "properties": properties}
    return Tool(name="find_trains", description="Find trains by city.", parameters=schema)


LONG = "Search the posts of a user for a word and return the newest ones first"
BIG = {f"field_{i}": text("one of the many things that may be given here, with a reason") for i in
       range(60)}  # fmt: skip
HUGE = [declared(f"tool_{w}", f"{w} " * 30 + "things.", c=text(f"{w} " * 250)) for w in
        ("alpha", "bravo", "coral", "delta", "ember", "fjord", "gamma", "hotel", "igloo", "joker",
         "karma", "lemon", "mango")]  # fmt: skip

FIRES: list[tuple[str, str, list[Tool]]] = [
    ("reads_and_writes", "$.description", [declared("notes", "Reads, writes or deletes a note.")]),
    ("reads_and_writes", "$.description", [declared("notes", "List and delete notes.")]),
    ("reads_and_writes", "$.name", [declared("get_or_create_user", "The account of a person.")]),
    ("reads_and_writes", "$.name", [declared("read_write_file", "Everything about one file.")]),
    (
        "reads_and_writes",
        "$.parameters.properties.action",
        [declared(action=a("string", enum=["list", "delete"]))],
    ),
    (
        "reads_and_writes",
        "$.parameters.properties.action",
        [declared(action=text("what to do: one of list, create or delete"))],
    ),
    (
        "reads_and_writes",
        "$.parameters.properties.action",
        [
            declared(
                "notes", "Manage a note; action is one of create, read or delete.", action=text()
            )
        ],
    ),
    ("reads_and_writes", "$.description", [declared("rooms", "Finds a free room and books it.")]),
    ("reads_and_writes", "$.description", [declared("note", "Read a note or write to it.")]),
    ("names_overlap", "$.name", [declared("get_data"), declared("getdata", "Other words.")]),
    ("names_overlap", "$.name", [declared("get_user"), declared("fetch_users", "Other words.")]),
    ("names_overlap", "$.name", [declared("get-user"), declared("get_user", "Other words.")]),
    ("names_overlap", "$.name", [declared("search_v1"), declared("search_v2", "Other words.")]),
    ("descriptions_overlap", "$.description", [declared("a", LONG), declared("b", LONG + ".")]),
    ("description_missing", "$.description", [declared(description=" ")]),
    ("description_vague", "$.description", [declared(description="Find trains.")]),
    ("description_vague", "$.description", [declared(description="Helper function for stuff")]),
    ("description_vague", "$.description", [declared(description="Timetables")]),
    ("parameter_undescribed", "$.parameters.properties.data", [declared(data={"type": "object"})]),
    ("parameter_undescribed", "$.parameters.properties.city", [declared(city={"type": "string"})]),
    ("risk_undeclared", "$.risk", [declared(risk=None)]),
    ("risk_doubtful", "$.risk", [declared("delete_posts", "Take posts off the wall.")]),
    ("count_unbounded", "$.parameters.properties.days", [declared(days=a("number"))]),
    ("count_unbounded", "$.parameters.properties.numGuests", [declared(numGuests=a("number"))]),
    ("count_unbounded", "$.parameters.properties.limit", [declared(limit=a("integer"))]),
    ("enum_in_prose", "$.parameters.properties.unit", [declared(unit=text("celsius or kelvin."))]),
    ("enum_in_prose", "$.parameters.properties.o", [declared(o=text('either "asc" or "desc"'))]),
    ("enum_in_prose", "$.parameters.properties.o", [declared(o=text("The order (asc|desc)"))]),
    ("enum_in_prose", "$.parameters.properties.o", [declared(o=text("Options: 'a', 'b', 'c'"))]),
    ("enum_in_prose", "$.parameters.properties.o", [declared(o=text("One of low, mid or high"))]),
    ("required_missing", "$.parameters.required", [unrequired(city=text())]),
    ("required_missing", "$.parameters.required", [declared(city=text(), required=["town"])]),
    (
        "required_missing",
        "$.parameters.properties.at.required",
        [declared(at=a("object", properties={"x": a("number")}))],
    ),
    ("identity_from_model", "$.parameters.properties.user_id", [declared(user_id=text())]),
    ("identity_from_model", "$.parameters.properties.tenantId", [declared(tenantId=text())]),
    ("identity_from_model", "$.parameters.properties.token", [declared(token=text())]),
    ("identity_from_model", "$.parameters.properties.role", [declared(role=text())]),
    (
        "identity_from_model",
        "$.parameters.properties.login.properties.password",
        [declared(login=a("object", properties={"password": text()}, required=["password"]))],
    ),
    ("free_code", "$.parameters.properties.sql", [declared(sql=text())]),
    ("free_code", "$.parameters.properties.command", [declared(command=text())]),
    ("free_code", "$.parameters.properties.query", [declared(query=text("a SQL query"))]),
    ("free_url", "$.parameters.properties.url", [declared(url=text())]),
    ("free_url", "$.parameters.properties.page", [declared(page=text(format="uri"))]),
    ("dropped_by_server", "$.parameters.properties.x", [declared(x={"oneOf": [a("string")]})]),
    ("dropped_by_server", "$.parameters", [declared(n=a("integer", maximum=7))]),
    ("refused_by_server", "$.parameters.properties.x", [declared(x=True)]),
    ("tool_cost", "$.parameters", [declared(**BIG)]),
    ("catalogue_cost", "$", HUGE),
]

QUIET: list[tuple[str, list[Tool]]] = [
    ("reads_and_writes", [declared("list_dates", "List the dates and update times of a file.")]),
    ("reads_and_writes", [declared("get_total", "Get the prices and add tax to the sum.")]),
    ("reads_and_writes", [declared(mode=text("either walk or drive"))]),
    ("reads_and_writes", [declared(action=text("what to do: one of list, find or show"))]),
    ("reads_and_writes", [declared("search_books", "Search the books of a library.")]),
    ("reads_and_writes", [declared("get_moves", "Get and sort the moves of a chess game.")]),
    ("reads_and_writes", [declared(action=a("string", enum=["list", "search"]))]),
    ("names_overlap", [declared("enable_user"), declared("disable_user", "Other words.")]),
    ("names_overlap", [declared("get_user"), declared("get_user_posts", "Other words.")]),
    ("descriptions_overlap", [declared("a", LONG), declared("b", LONG.replace("posts", "mails"))]),
    (
        "descriptions_overlap",
        [
            declared("a", "Convert degrees from Celsius to Fahrenheit."),
            declared("b", "Convert degrees from Fahrenheit to Celsius."),
        ],
    ),
    ("description_missing", [declared()]),
    ("description_vague", [declared(description="Function values at given points.")]),
    ("description_vague", [declared(description="検索します。都市間の列車を探します")]),
    ("parameter_undescribed", [declared(order=a("string", enum=["asc", "desc"]))]),
    ("risk_undeclared", [declared()]),
    (
        "risk_doubtful",
        [declared("delete_posts", risk=Risk.DESTRUCTIVE), declared("book_of_the_day", "One.")],
    ),
    ("count_unbounded", [declared(days=a("integer"), weight=a("number"), price=a("number"))]),
    ("count_unbounded", [declared(limit=a("integer", maximum=50), day=a("number", minimum=1))]),
    ("count_unbounded", [declared(average_days=a("number"))]),
    ("enum_in_prose", [declared(city=text("a city, such as 'Oslo' or 'Rome'"))]),
    ("enum_in_prose", [declared(city=text("a city, e.g. one of Oslo, Rome or Paris"))]),
    ("enum_in_prose", [declared(height=text("in the system's unit (meters/feet)"))]),
    ("enum_in_prose", [declared(o=text('"asc" or "desc"', enum=["asc", "desc"]))]),
    ("enum_in_prose", [declared(day=text("today or a date"))]),
    ("required_missing", [unrequired(city=text(default="Oslo"), at=text("optional: the time"))]),
    ("required_missing", [declared(city=text())]),
    ("required_missing", [Tool(name="now", description="The time right now.")]),
    ("identity_from_model", [declared(users=text(), max_tokens=a("integer"), rolename=text())]),
    ("free_code", [declared(query=text("what to look for"), country_code=text())]),
    ("free_code", [declared(command=a("string", enum=["start", "stop"]))]),
    ("free_url", [declared(url=text(pattern="^https://wiki[.]example/"))]),
    (
        "dropped_by_server",
        [
            declared(
                way=a("array", items={"type": "string", "const": "x"}),
                n=a("integer", maximum=7) | {"description": "at most 7"},
                maybe={"anyOf": [a("string"), a("null")], "description": "or nothing"},
            )
        ],
    ),
    ("refused_by_server", [declared(x={})]),
    ("tool_cost", [declared()]),
    ("catalogue_cost", [declared()]),
]


def found(rule: str, tools: list[Tool]) -> list[Finding]:
    return [f for f in lint(Catalogue(tools)).findings if f.rule == rule]


@pytest.mark.parametrize(("rule", "place", "tools"), FIRES, ids=lambda v: str(v)[:40])
def test_a_rule_finds_what_it_is_for_and_says_where(
    rule: str, place: str, tools: list[Tool]
) -> None:
    (finding, *_) = found(rule, tools)
    assert finding.place == place
    assert finding.tool == ("" if rule == "catalogue_cost" else tools[-1].name)
    assert finding.message
    assert finding.fix


@pytest.mark.parametrize(("rule", "tools"), QUIET, ids=lambda v: str(v)[:40])
def test_a_rule_says_nothing_of_what_is_all_right(rule: str, tools: list[Tool]) -> None:
    assert found(rule, tools) == []


def test_every_rule_has_a_case_that_fires_and_one_that_does_not() -> None:
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names)
    assert {rule for rule, *_ in FIRES} == set(names) == {rule for rule, _ in QUIET}


def test_the_pair_that_overlaps_is_named() -> None:
    (finding,) = found("names_overlap", [declared("get_user"), declared("fetch_user", "Other.")])
    assert "`get_user` and `fetch_user`" in finding.message


def test_names_that_resolve_to_the_same_are_an_error() -> None:
    names = ("fetch_user", "get-user", "Get.User")
    tools = [declared(name, f"About {name}.") for name in names]
    error, warning = found("names_overlap", tools)
    assert (error.severity, error.tool) == ("error", "Get.User")
    assert "`get-user` and `Get.User`" in error.message
    assert (warning.severity, warning.tool) == ("warning", "get-user")


def test_an_injected_parameter_is_nobodys_finding() -> None:
    @tool(risk=Risk.READ_ONLY)
    def posts(query: str, user_id: Annotated[str, Injected]) -> str:
        """Search the posts of whoever asks.

        Args:
            query: a word to look for.
            user_id: filled by the application.
        """
        return query + user_id

    assert lint(Catalogue([posts])).findings == ()


def test_a_hidden_tool_is_not_reviewed() -> None:
    hidden = Tool(name="x", parameters={"properties": {"sql": {"type": "string"}}}, hidden=True)
    assert lint(Catalogue([hidden])).findings == ()


def test_errors_come_first_and_then_the_order_of_the_tools() -> None:
    tools = [declared("a_one", "Other", risk=None), declared("b_two", "", token=text())]
    findings = lint(Catalogue(tools)).findings
    ranks = [_ORDER.index(f.severity) for f in findings]
    assert ranks == sorted(ranks)
    assert findings[0].tool == "b_two"
    assert "a_one" in {f.tool for f in findings}


def test_a_rule_that_is_off_is_reported_with_its_reason() -> None:
    tools = Catalogue([declared("one", url=text()), declared("two", "Other", url=text())])
    report = lint(tools, off={"free_url@one": "only our wiki", "description_vague": "a test"})
    assert [s.reason for s in report.silenced if s.finding.rule == "free_url"] == ["only our wiki"]
    assert [f.tool for f in report.findings if f.rule == "free_url"] == ["two"]


def test_a_tool_can_switch_a_rule_off_for_itself() -> None:
    wrapped = {
        "name": "fetch_page",
        "description": "Fetch a page of the wiki.",
        "parameters": {"type": "object", "properties": {"url": text()}, "required": ["url"]},
        "x-lint-off": {"free_url": "checked against the wiki's host"},
    }
    report = lint(Catalogue([wrapped]))
    assert [s.reason for s in report.silenced] == ["checked against the wiki's host"]
    assert "x-lint-off" not in str(Catalogue([wrapped]).get("fetch_page").to_dict())  # type: ignore[union-attr]  # it is there


@pytest.mark.parametrize(
    ("off", "words"),
    [
        ({"free_ulr": "typo"}, "there is no rule 'free_ulr'; there are reads_and_writes"),
        ({"free_url": " "}, "without a reason"),
        ({"free_url@nobody": "x"}, "there is no tool 'nobody'"),
    ],
)
def test_switching_off_what_is_not_there_is_an_error(off: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        lint(Catalogue([declared()]), off=off)


def test_what_a_tool_costs_is_counted_by_the_tokenizer_that_is_given() -> None:
    report = lint(Catalogue([declared()]), count=len, counted_by="characters")
    cost = report.costs["find_trains"]
    assert 30 < cost.prompt < cost.native
    assert report.counted_by == "characters"
    assert (report.total.prompt, report.total.native) == (cost.prompt, cost.native)


def test_an_estimate_grows_with_the_text_and_knows_that_other_scripts_cost_more() -> None:
    assert estimate("") == 0
    assert estimate("a" * 350) == 100
    assert estimate("列車") == 2
    assert estimate("x" * 100) < MOST_OF_A_TOOL


def test_many_alike_tools_are_one_finding_each() -> None:
    tools = [declared(f"search_v{i}", LONG) for i in range(200)]
    assert len(found("descriptions_overlap", tools)) == 199
    assert len(found("names_overlap", tools)) == 199


EXAMPLES = [p for p in sorted((ROOT / "examples").glob("*.*")) if p.suffix in (".py", ".json")]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_are_what_a_reviewer_would_pass(path: Path) -> None:
    from fallback.cli.lint import switched_in_project

    if path.suffix == ".py" and "@tool" not in path.read_text(encoding="utf-8"):
        return
    report = lint(load_catalogue([path]), off=switched_in_project(path))
    assert report.of(("error", "warning")) == ()


def test_the_page_lists_the_rules_that_there_are() -> None:
    page = (ROOT / "docs" / "lint.md").read_text(encoding="utf-8")
    rows = [f"| `{r.name}` | {r.severity} | {r.finds} | {r.why} |" for r in RULES]
    assert [line for line in page.splitlines() if line.startswith("| `")] == rows
