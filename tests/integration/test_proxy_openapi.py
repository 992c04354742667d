"""The OpenAPI document is true: Schemathesis asks whatever it allows, and compares the answers."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
import schemathesis
from proxy_models import CALL
from proxy_servers import Pair, pair
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from fallback.proxy.gateway import WIRES, Gateway
from fallback.proxy.openapi import document
from fallback.proxy.settings import Settings
from fallback.testing.scripted_server import Model, Reply

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
EXAMPLES = 8


def for_these_models() -> dict[str, Any]:
    """The document, where a model is one of those that are there, or one that is not."""
    told = copy.deepcopy(dict(document()))
    for methods in told["paths"].values():
        if "post" in methods:
            body = methods["post"]["requestBody"]["content"]["application/json"]["schema"]
            body["properties"]["model"] = {"enum": ["text", "call", "missing"]}
    return told


SCHEMA = schemathesis.openapi.from_dict(for_these_models())
OPERATIONS = [found.ok() for found in SCHEMA.get_all_operations()]


@pytest.fixture(scope="module")
def servers() -> Iterator[Pair]:
    replies = {"text": [Reply(text="Paris.")], "call": [Reply(text=CALL), Reply(text="It is 3.")]}
    with pair({name: Model(replies=said) for name, said in replies.items()}) as running:
        yield running


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.label)
def test_the_server_answers_as_its_document_says(servers: Pair, operation: Any) -> None:
    @hypothesis.settings(
        max_examples=EXAMPLES if operation.method == "post" else 2,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(case=operation.as_strategy())
    def asked(case: Any) -> None:
        case.call_and_validate(base_url=servers.url, checks=CHECKS)

    asked()


def test_the_document_has_every_route_and_no_other() -> None:
    gateway = Gateway(Settings(upstream="http://127.0.0.1:9"))
    routes = {("POST", path) for path in WIRES}
    routes |= {route for route in gateway._routes if route[0] != "HEAD"}
    told = {
        (method.upper(), path)
        for path, methods in document()["paths"].items()
        for method in methods
    }
    assert told == routes


def test_it_is_served(servers: Pair) -> None:
    import httpx

    served = httpx.get(f"{servers.url}/openapi.json", trust_env=False)
    assert served.json() == document()
