from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from fallback.errors import InvalidToolError
from fallback.limits import Limits
from fallback.schema import CompiledSchema, check, coerce, normalise, violations
from fallback.schema.document import Document, Node, escape
from fallback.tools import Tool


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        (of(a={"type": "datum"}), r"\$\.properties\.a\.type: \"datum\" is no type of JSON Schema"),
        (of(a={"type": []}), r"\$\.properties\.a\.type"),
        (of(a="string"), r"\$\.properties\.a: \"string\" is not of types"),
        (of(a={"minimum": "3"}), r"\$\.properties\.a\.minimum"),
        (of(a={"pattern": "("}), r"\$\.properties\.a\.pattern: .* not a regular expression"),
        (of(a={"pattern": "(a{1000}){1000}"}), r"\$\.properties\.a\.pattern"),
        (of(a={"enum": "x"}), r"\$\.properties\.a\.enum"),
        ({"type": "object", "required": "a"}, r"\$\.required"),
        (of(a={"$ref": "#/$defs/Nope"}), r"\$\.properties\.a: \$ref .*Nope.* leads nowhere"),
        (
            of(**{"odd key": {"$ref": "#x"}}),
            r'\$\.properties\["odd key"\]: \$ref "#x" leads nowhere',
        ),
        (of(a={"$dynamicRef": "#x"}), r"\$\.properties\.a: \$dynamicRef"),
        ({"$defs": {"a": {"type": "zz"}}, **of()}, r"\$\[\"\$defs\"\]\.a\.type"),
    ],
)
def test_an_invalid_schema_is_refused_with_tool_and_place(schema: Any, place: str) -> None:
    with pytest.raises(InvalidToolError, match=rf"^tool 'get_weather': {place}") as caught:
        check(schema, name="get_weather")
    assert "\n" not in str(caught.value)


def test_without_a_name_the_place_alone_is_said() -> None:
    with pytest.raises(InvalidToolError, match=r"^\$\.properties\.a\.type"):
        check(of(a={"type": "datum"}))


@pytest.mark.parametrize(
    "schema",
    [
        None,
        of(a={"format": "phone", "x-vendor": {"anything": True}}),
        of(a={"anyOf": [{"type": "string"}, {"type": "null"}]}),
        {"$ref": "#/$defs/Args", "$defs": {"Args": of(a={"type": "string"})}},
        of(a={"$ref": "#here"}) | {"$defs": {"x": {"$anchor": "here", "type": "string"}}},
        of(a={"$ref": "#"}),
        of(a={"pattern": r"^(?P<year>\d{4})(?=-)"}),
        of(a={"default": None, "examples": "one"}),
    ],
)
def test_schemas_as_they_are_met_pass(schema: Any) -> None:
    check(schema)


class _Listening(HTTPServer):
    asked: list[str]


@pytest.fixture
def server() -> Iterator[_Listening]:
    class Handler(BaseHTTPRequestHandler):
        server: _Listening

        def do_GET(self) -> None:
            self.server.asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"type": "string"}')

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is given
            pass

    listening = _Listening(("127.0.0.1", 0), Handler)
    listening.asked = []
    thread = threading.Thread(target=listening.serve_forever, daemon=True)
    thread.start()
    yield listening
    listening.shutdown()
    thread.join()
    listening.server_close()


def test_no_reference_is_ever_fetched(server: _Listening, tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text('{"type": "integer"}', encoding="utf-8")
    remote = f"http://127.0.0.1:{server.server_port}/schema.json"
    for ref in (
        remote,
        f"{remote}#/a",
        secret.as_uri(),
        "file:///etc/passwd",
        "other.json",
        "urn:x:y",
    ):
        for schema in (of(a={"$ref": ref}), of() | {"$defs": {"a": {"$ref": ref}}}, {"$ref": ref}):
            with pytest.raises(
                InvalidToolError, match="leads out of the schema; nothing is fetched"
            ):
                check(schema)
    for keyword in ("$schema", "$id"):
        check(of(a={"type": "string"}) | {keyword: remote})
    assert server.asked == []


def test_what_has_not_been_checked_is_not_fetched_either(server: _Listening) -> None:
    remote = f"http://127.0.0.1:{server.server_port}/schema.json"
    ready = CompiledSchema(normalise(of(a={"$ref": remote})))
    with pytest.raises(InvalidToolError, match="not followed"):
        violations(ready, {"a": 1})
    assert server.asked == []


def test_a_pattern_that_explodes_elsewhere_is_harmless() -> None:
    for pattern in ("^(a+)+$", r"^(a|a)*$", r"^(a+)+\1$", r"^(?=(a+)+$)a"):
        ready = CompiledSchema(normalise(of(a={"type": "string", "pattern": pattern})))
        assert violations(ready, {"a": "a" * 5000 + "!"})
        coerce({"a": "a" * 5000 + "!"}, ready)


def multiplied(levels: int, keyword: str) -> dict[str, Any]:
    definitions: dict[str, Any] = {
        f"d{i}": {keyword: [{"$ref": f"#/$defs/d{i + 1}"}, {"$ref": f"#/$defs/d{i + 1}"}]}
        for i in range(levels)
    }
    definitions[f"d{levels}"] = {"type": "integer"}
    return of(x={"$ref": "#/$defs/d0"}) | {"$defs": definitions}


@pytest.mark.parametrize("keyword", ["allOf", "anyOf"])
def test_references_that_multiply_cannot_stop_the_process(keyword: str) -> None:
    small = Tool(name="f", parameters=multiplied(8, keyword))
    assert not violations(small.compiled, {"x": 1})
    assert coerce({"x": "1"}, small.compiled)[0] == {"x": 1}
    large = Tool(name="f", parameters=multiplied(40, keyword))
    assert violations(large.compiled, {"x": 1})[0].keyword == "depth"
    coerce({"x": "1"}, large.compiled)
    with pytest.raises(InvalidToolError, match="multiply beyond"):
        check({"allOf": [{"$ref": "#/$defs/d0"}], **multiplied(40, keyword)})


def test_a_chain_of_references_has_an_end() -> None:
    links = {f"d{i}": {"anyOf": [{"$ref": f"#/$defs/d{i + 1}"}]} for i in range(3000)}
    schema = of(x={"$ref": "#/$defs/d0"}) | {"$defs": links | {"d3000": {"type": "integer"}}}
    with pytest.raises(InvalidToolError, match="in a chain longer than 128"):
        check(schema)


def expression(depth: int) -> Any:
    return 1 if not depth else {"op": "+", "left": expression(depth - 1), "right": 1}


BRANCHES = [
    of(op={"const": op}, left={"$ref": "#/$defs/E"}, right={"$ref": "#/$defs/E"})
    | {"required": ["op", "left", "right"]}
    for op in "+-*"
]
TREE = of(x={"$ref": "#/$defs/E"}) | {"$defs": {"E": {"oneOf": [*BRANCHES, {"type": "number"}]}}}


def test_a_recursive_schema_is_checked_as_deep_as_can_be_afforded() -> None:
    ready = Tool(name="f", parameters=TREE).compiled
    assert ready.document.multiplies
    assert not violations(ready, {"x": expression(10)})
    assert violations(ready, {"x": expression(100)})[0].keyword == "depth"
    wrong = {"op": "+", "left": expression(2), "right": "two"}
    assert [v.path for v in violations(ready, {"x": wrong})] == ["$.x.right"]


def test_a_schema_that_repeats_nothing_is_not_counted_for_each_value() -> None:
    wide = of(**{f"p{i}": {"type": "string"} for i in range(1000)})
    assert not Document(normalise(wide)).multiplies
    assert Document(normalise(TREE)).multiplies


def test_values_too_deep_never_reach_the_validator() -> None:
    schema = of(a={"$ref": "#/$defs/L"}) | {"$defs": {"L": {"items": {"$ref": "#/$defs/L"}}}}
    ready = CompiledSchema(normalise(schema))
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    value = {"a": deep}
    assert coerce(value, ready)[0] is value
    [found] = violations(ready, value)
    assert (found.path, found.keyword) == ("$", "depth")
    assert "at most 128 levels" in found.message
    # Taken apart by hand: the interpreter would recurse to free it.
    while deep:
        deep = deep.pop()


def test_the_limits_of_the_caller_count() -> None:
    schema = of(a=of(b=of(c={})))
    check(schema)
    with pytest.raises(InvalidToolError, match="deeper than 4 levels"):
        check(schema, limits=Limits(max_depth=4))


@pytest.mark.parametrize("key", ["a", "a b", "a/b", "a~b", "é%", "«x»", ""])
def test_pointers_lead_where_they_came_from(key: str) -> None:
    document = Document({"properties": {key: {"type": "string"}}})
    node = document.root.at("properties", key)
    assert document.target(f"#{node.pointer}") == node
    assert node == Node(f"/properties/{escape(key)}", {"type": "string"})


def test_the_schema_is_json_after_all() -> None:
    assert json.loads(json.dumps(normalise(TREE))) == normalise(TREE)


def test_one_argument_can_be_asked_about_alone() -> None:
    ready = Tool(name="f", parameters=TREE | {"required": ["x", "y"]}).compiled
    assert ready.argument_accepts("x", expression(3))
    assert not ready.argument_accepts("x", None)
    with pytest.raises(KeyError):
        ready.argument_accepts("y", 1)


def test_a_schema_that_is_not_valid_for_other_reasons_is_refused_too() -> None:
    with pytest.raises(InvalidToolError):
        check(of(a={"$anchor": "not an anchor"}))
    with pytest.raises(InvalidToolError, match="not a valid schema"):
        violations({"type": "datum"}, {})


@pytest.mark.parametrize(
    "schema",
    [
        {"items": {"$ref": "#"}, "contains": {"$ref": "#"}, "prefixItems": [{"$ref": "#"}]},
        {"additionalProperties": {"$ref": "#"}, "patternProperties": {"a": {"$ref": "#"}}},
        {"properties": {"a": {"$ref": "#"}}, "not": {"$ref": "#/properties/a", "const": 3}},
        {"dependentSchemas": {"a": {"$ref": "#"}}, "items": True, "if": False},
    ],
)
def test_what_a_recursive_schema_costs_is_worked_out_for_every_keyword(schema: Any) -> None:
    document = Document(normalise({"properties": {"x": schema}, **of()}) | schema)
    assert document.multiplies
    for value in ([[1, [2]], []], {"a": {"a": {}}, "b": 1}, 5, "text"):
        assert document.affordable(document.root, value, 1000)
        assert not document.affordable(document.root, value, 0)


def test_a_value_larger_than_the_budget_is_not_affordable() -> None:
    document = Document({"$ref": "#/$defs/T", "$defs": {"T": {"items": {"$ref": "#/$defs/T"}}}})
    assert not document.affordable(document.root, [[]] * 1000, 500)
    links: dict[str, Any] = {f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(3000)}
    chain = Document({"$ref": "#/$defs/d0", "$defs": links | {"d3000": {"$ref": "#"}}})
    assert not chain.affordable(chain.root, 1, 10**9)


def test_an_anchor_inside_a_list_of_schemas_is_found() -> None:
    schema = of(a={"$ref": "#deep"}) | {"allOf": [True, {"$anchor": "deep", "type": "string"}]}
    check(schema)
    assert violations(schema, {"a": 3})
