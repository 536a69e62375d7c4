"""The stored schema of a task, for processes whose program does not have the task.

A program stores a schema of each task that it declares: the parameters as a JSON Schema, and the
options for the scheduler. The command line, or a server of another program, builds a task from the
schema, which checks parameters and fills templates as the original does. A template that is a
function, and the paths of outputs, are known only to the program itself; a task that has them is
refused with that reason.
"""

import inspect
from datetime import date, datetime, time, timedelta
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NotRequired, Union, cast
from uuid import UUID

import msgspec
import pydantic
from msgspec import Struct
from pydantic import Field, SecretStr
from typing_extensions import TypedDict

from fairlane.core.retry import Retry
from fairlane.errors import UsageError
from fairlane.task.definition import Definition
from fairlane.tasks import Policies, Task

if TYPE_CHECKING:
    from fairlane.client.submissions import Submissions

_TEMPLATES: Final = ("lane", "bucket", "dedupe", "limits", "requires")
_UNKNOWN: Final = inspect.Parameter.empty
_PLAIN: Final = {"integer": int, "number": float, "boolean": bool, "null": NoneType}
_FORMATS: Final = {
    "date-time": datetime, "date": date, "time": time, "duration": timedelta, "uuid": UUID,
    "path": Path, "file-path": Path, "directory-path": Path,
}  # fmt: skip
_BOUNDS: Final = {
    "minimum": "ge", "exclusiveMinimum": "gt", "maximum": "le", "exclusiveMaximum": "lt",
    "multipleOf": "multiple_of", "minLength": "min_length", "maxLength": "max_length",
    "pattern": "pattern", "minItems": "min_length", "maxItems": "max_length",
}  # fmt: skip


class TaskSchema(Struct, kw_only=True, omit_defaults=True):
    """The stored form of a task. `program_only` names options that only its program can compute."""

    parameters: dict[str, Any]
    secrets: tuple[str, ...] = ()
    encrypted: bool = False  # its program stores secrets encrypted
    policies: dict[str, Any] = {}
    program_only: tuple[str, ...] = ()
    text: str = ""  # the first paragraph of the docstring

    @property
    def queue(self) -> str:
        return str(self.policies.get("queue", "default"))


def task_schema_of(task: Task[Any, Any]) -> TaskSchema:
    policies, definition = task.policies, task.definition
    program_only = [name for name in _TEMPLATES if _has_function(getattr(policies, name))]
    if definition.outputs:
        program_only.append("outputs")
    plain = {n: getattr(policies, n) for n in Policies.__struct_fields__ if n not in program_only}
    return TaskSchema(
        parameters=definition.parameters.schema,
        secrets=definition.parameters.secrets,
        encrypted=definition.parameters.cipher is not None,
        policies=msgspec.to_builtins({n: v for n, v in plain.items() if v not in (None, (), {})}),
        program_only=tuple(program_only),
        text=inspect.cleandoc(task.__doc__ or "").partition("\n\n")[0],
    )


def decode_task_schema(text: str) -> TaskSchema | None:
    """Decode a stored schema; None if another version of Fairlane wrote it in another form."""
    try:
        return msgspec.json.decode(text, type=TaskSchema)
    except msgspec.ValidationError:
        return None


def task_from_schema(name: str, schema: TaskSchema, submissions: "Submissions") -> Task[Any, Any]:
    """Build a task that this process can submit but not run."""
    if schema.program_only:
        names = ", ".join(schema.program_only)
        raise UsageError(
            f'task "{name}" can be submitted only by its own program, which computes its {names}; '
            "use that program's server (--url), or submit it from the program"
        )

    def run_in_another_program(**_: Any) -> None:
        raise UsageError(f'task "{name}" belongs to another program and cannot run in this one')

    run_in_another_program.__signature__ = _signature(schema)  # type: ignore[attr-defined]
    retry = msgspec.convert(schema.policies.get("retry"), Retry | None)
    policies = Policies(**{**schema.policies, "retry": retry})
    definition = Definition(run_in_another_program, name=name)
    definition.parameters.needs_cipher = schema.encrypted
    return Task(submissions, definition, policies)


def _has_function(template: Any) -> bool:
    several = template if isinstance(template, list | tuple) else (template,)
    return any(callable(one) for one in several)


def _signature(schema: TaskSchema) -> inspect.Signature:
    shapes = schema.parameters.get("properties", {})
    types = _TypesFromSchema(schema.parameters.get("$defs", {}))
    required = schema.parameters.get("required", [])

    def parameter(name: str, shape: dict[str, Any]) -> inspect.Parameter:
        is_secret = name in schema.secrets
        # A default that is secret, or not JSON, is not stored: the caller has to pass a value.
        default = _UNKNOWN if name in required else shape.get("default", _UNKNOWN)
        return inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=default,
            annotation=types.secret(shape) if is_secret else types.of(shape),
        )

    return inspect.Signature([parameter(name, shape) for name, shape in shapes.items()])


class _TypesFromSchema:
    """The types that pydantic validates with, rebuilt from the JSON Schema that it wrote."""

    def __init__(self, named: dict[str, Any]) -> None:
        self._named = named
        self._open: list[str] = []  # names being rebuilt: a type that contains itself becomes Any

    def secret(self, shape: dict[str, Any]) -> Any:
        may_be_missing = any(s.get("type") == "null" for s in shape.get("anyOf", ()))
        return SecretStr | None if may_be_missing else SecretStr

    def of(self, shape: dict[str, Any]) -> Any:
        if "$ref" in shape:
            return self._of_named(shape["$ref"].rpartition("/")[2])
        if "const" in shape:
            return Literal[shape["const"]]
        if "enum" in shape:
            return Literal[tuple(shape["enum"])]
        choices = shape.get("anyOf") or shape.get("oneOf")
        if choices:
            return Union[tuple(self.of(choice) for choice in choices)]  # noqa: UP007
        if len(shape.get("allOf", ())) == 1:
            return self.of(shape["allOf"][0])
        kind = shape.get("type")
        if kind == "array":
            return self._bounded(self._array(shape), shape)
        if kind == "object":
            return self._object(shape)
        if kind == "string":
            format = _FORMATS.get(shape.get("format", ""))
            return self._bounded(str, shape) if format is None else format
        return self._bounded(_PLAIN[kind], shape) if kind in _PLAIN else Any

    def _of_named(self, name: str) -> Any:
        if name in self._open or name not in self._named:
            return Any
        self._open.append(name)
        try:
            return self.of(self._named[name])
        finally:
            self._open.pop()

    def _array(self, shape: dict[str, Any]) -> Any:
        if "prefixItems" in shape:
            return tuple[tuple(self.of(item) for item in shape["prefixItems"])]  # type: ignore[misc]
        item = self.of(shape.get("items", {}))
        return set[item] if shape.get("uniqueItems") else list[item]  # type: ignore[valid-type]

    def _object(self, shape: dict[str, Any]) -> Any:
        properties = shape.get("properties")
        if properties is None:
            values = shape.get("additionalProperties", {})
            return dict[str, self.of(values) if isinstance(values, dict) else Any]  # type: ignore[misc]
        required = shape.get("required", [])
        fields = {
            name: self.of(inner) if name in required else NotRequired[self.of(inner)]
            for name, inner in properties.items()
        }
        made: Any = cast(Any, TypedDict)(shape.get("title", "object"), fields)
        extra: Literal["forbid", "allow"] = (
            "forbid" if shape.get("additionalProperties") is False else "allow"
        )
        made.__pydantic_config__ = pydantic.ConfigDict(extra=extra)
        return made

    def _bounded(self, type: Any, shape: dict[str, Any]) -> Any:
        bounds = {_BOUNDS[name]: value for name, value in shape.items() if name in _BOUNDS}
        return Annotated[type, Field(**bounds)] if bounds else type
