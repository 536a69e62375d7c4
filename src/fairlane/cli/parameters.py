"""Parameters as they are typed: name=value, JSON, or a file with a job in each line."""

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from fairlane.cli.exit_codes import Misused


class Shape:
    """What is known of a task's parameters, to read text by; the task itself checks them."""

    def __init__(self, schema: dict[str, Any] | None) -> None:
        schema = schema or {}
        self._properties: dict[str, Any] = schema.get("properties", {})
        self._named: dict[str, Any] = schema.get("$defs", {})
        self.required: list[str] = list(schema.get("required", ()))

    def read(self, name: str, text: str) -> Any:
        """Read a typed value: as it is where text is taken, as JSON where it is not."""
        if name in self._properties and self._takes_text(self._properties[name]):
            return text
        try:
            return loaded(text, name)
        except ValueError:
            return text

    def _takes_text(self, shape: dict[str, Any]) -> bool:
        if "$ref" in shape:
            shape = self._named.get(shape["$ref"].rpartition("/")[2], {})
        choices = shape.get("anyOf") or shape.get("oneOf")
        if choices:
            return any(self._takes_text(choice) for choice in choices)
        values = shape.get("enum") or ([shape["const"]] if "const" in shape else [])
        return shape.get("type") == "string" or any(isinstance(value, str) for value in values)


def params_from(shape: Shape, pairs: list[str], text: str | None) -> dict[str, Any]:
    """Put together what was given as --params and as name=value, which counts more."""
    params = _object(_piped() if text == "-" else text, "--params") if text else {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator or not name:
            raise Misused(f'"{pair}" is not a parameter; write name=value')
        params[name] = shape.read(name, value)
    return params


def lines_from(shape: Shape, path: Path, params: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Give the parameters of a job for each line of a file, or of the standard input for "-".

    A line is a JSON object, or the plain value of the one parameter that is still missing.
    """
    missing = [name for name in shape.required if name not in params]
    try:
        text = _piped() if str(path) == "-" else path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise Misused(f"{path} cannot be read: {error}") from None
    for number, line in enumerate(text.split("\n"), 1):  # U+2028 may stand inside of JSON
        if not line.strip():
            continue
        if line.lstrip().startswith("{"):
            yield {**params, **_object(line, f"line {number} of {path}")}
        elif len(missing) == 1:
            yield {**params, missing[0]: shape.read(missing[0], line.strip())}
        else:
            raise Misused(
                f"line {number} of {path} is not a JSON object; a plain value needs exactly one "
                f"parameter that is missing (missing: {', '.join(missing) or 'none'})"
            )


def _piped() -> str:
    """Read the standard input, which is there and in UTF-8 if all is well."""
    if sys.stdin is None:
        raise Misused("standard input is closed, and was to be read")
    try:
        return sys.stdin.read()
    except (OSError, UnicodeDecodeError) as error:
        raise Misused(f"standard input cannot be read: {error}") from None


def loaded(text: str, where: str) -> Any:
    """Read JSON, without what Python takes for it and nobody else does."""

    def refuse(number: str) -> NoReturn:
        raise Misused(f"{where} has the number {number[:50]}, which JSON cannot carry")

    def finite(number: str) -> float:
        value = float(number)
        return value if math.isfinite(value) else refuse(number)

    try:
        return json.loads(text, parse_constant=refuse, parse_float=finite)
    except RecursionError:
        raise Misused(f"{where} is nested too deep to be read") from None


def _object(text: str, where: str) -> dict[str, Any]:
    try:
        found = loaded(text, where)
    except ValueError as error:
        raise Misused(f"{where} is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise Misused(f'{where} is not a JSON object such as {{"name": "value"}}')
    return found
