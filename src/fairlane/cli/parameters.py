"""Parameters on the command line: name=value, JSON, or a file with one job per line."""

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from fairlane.cli.exit_codes import UsageProblem


class ParameterTypes:
    """The JSON Schema of a task's parameters, used to parse text; the task validates the values."""

    def __init__(self, schema: dict[str, Any] | None) -> None:
        schema = schema or {}
        self._properties: dict[str, Any] = schema.get("properties", {})
        self._named: dict[str, Any] = schema.get("$defs", {})
        self.required: list[str] = list(schema.get("required", ()))

    def read(self, name: str, text: str) -> Any:
        """Parse a value: as text if the parameter accepts text, else as JSON if it is JSON."""
        if name in self._properties and self._takes_text(self._properties[name]):
            return text
        try:
            return parse_json(text, name)
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


def parse_parameters(shape: ParameterTypes, pairs: list[str], text: str | None) -> dict[str, Any]:
    """Merge the parameters of --params and of name=value; the latter take precedence."""
    params = _parse_object(_read_stdin() if text == "-" else text, "--params") if text else {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator or not name:
            raise UsageProblem(f'"{pair}" is not a parameter; expected name=value')
        params[name] = shape.read(name, value)
    return params


def read_job_lines(
    shape: ParameterTypes, path: Path, params: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield the parameters of one job per line of a file, or of standard input for "-".

    A line is a JSON object, or the plain value of the only required parameter not given yet.
    """
    missing = [name for name in shape.required if name not in params]
    try:
        text = _read_stdin() if str(path) == "-" else path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UsageProblem(f"{path} cannot be read: {error}") from None
    for number, line in enumerate(text.split("\n"), 1):  # not splitlines(): JSON may contain U+2028
        if not line.strip():
            continue
        if line.lstrip().startswith("{"):
            yield {**params, **_parse_object(line, f"line {number} of {path}")}
        elif len(missing) == 1:
            yield {**params, missing[0]: shape.read(missing[0], line.strip())}
        else:
            raise UsageProblem(
                f"line {number} of {path} is not a JSON object; a plain value is only possible if "
                f"exactly one required parameter is missing (missing: "
                f"{', '.join(missing) or 'none'})"
            )


def _read_stdin() -> str:
    """Return the text of standard input, or raise if it is closed or not UTF-8."""
    if sys.stdin is None:
        raise UsageProblem("standard input is closed; pipe the parameters into it")
    try:
        return sys.stdin.read()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageProblem(f"standard input cannot be read: {error}") from None


def parse_json(text: str, where: str) -> Any:
    """Parse standard JSON; NaN and infinity, which Python accepts, are refused."""

    def refuse(number: str) -> NoReturn:
        raise UsageProblem(f"{where} contains the number {number[:50]}, which JSON does not allow")

    def finite(number: str) -> float:
        value = float(number)
        return value if math.isfinite(value) else refuse(number)

    try:
        return json.loads(text, parse_constant=refuse, parse_float=finite)
    except RecursionError:
        raise UsageProblem(f"{where} is nested too deeply to be parsed") from None


def _parse_object(text: str, where: str) -> dict[str, Any]:
    try:
        found = parse_json(text, where)
    except ValueError as error:
        raise UsageProblem(f"{where} is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise UsageProblem(
            f'{where} is not a JSON object; expected one such as {{"name": "value"}}'
        )
    return found
