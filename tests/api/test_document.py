"""The OpenAPI document, as a generator of clients needs it."""

import json
import re
from typing import Any, Final

import pytest

from fairlane import Fairlane

DOCUMENT: Final[dict[str, Any]] = Fairlane("memory://").asgi().openapi()
OPERATIONS: Final[dict[str, Any]] = {
    f"{method.upper()} {path}": operation
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}


def test_every_operation_has_a_short_name_of_its_own_a_tag_and_a_summary() -> None:
    names = [operation["operationId"] for operation in OPERATIONS.values()]
    assert len(set(names)) == len(names)
    known = {tag["name"] for tag in DOCUMENT["tags"]}
    for operation in OPERATIONS.values():
        assert re.fullmatch(r"[a-z]+(_[a-z]+){0,2}", operation["operationId"])
        assert len(operation["tags"]) == 1
        assert set(operation["tags"]) <= known
        assert operation["summary"]


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_problem_is_documented_as_one(name: str) -> None:
    responses = OPERATIONS[name]["responses"]
    assert {"401", "403", "422", "503"} <= responses.keys()
    for status, response in responses.items():
        if int(status) >= 400:
            (kind,) = response["content"].items()
            assert kind[0] == "application/problem+json", status
            assert kind[1]["schema"] == {"$ref": "#/components/schemas/Problem"}
        elif status not in ("204",):
            for content in response["content"].values():
                assert content["schema"], "an answer needs a schema"


def test_what_is_referred_to_is_there() -> None:
    wanted = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(DOCUMENT)))
    assert wanted <= DOCUMENT["components"]["schemas"].keys()


def test_links_lead_to_operations_that_exist() -> None:
    names = {operation["operationId"] for operation in OPERATIONS.values()}
    links = [
        link
        for operation in OPERATIONS.values()
        for response in operation["responses"].values()
        for link in response.get("links", {}).values()
    ]
    assert links
    assert {link["operationId"] for link in links} <= names


def test_tokens_are_documented_where_they_are_needed() -> None:
    assert "securitySchemes" not in DOCUMENT["components"]
    document = Fairlane("memory://").asgi(token="a-long-token-1").openapi()  # noqa: S106
    assert set(document["components"]["securitySchemes"]) == {"token"}
    assert document["security"] == [{"token": []}]
    assert document["paths"]["/healthz"]["get"]["security"] == []
