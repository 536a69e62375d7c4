"""The parameters and the result of a task, as its signature declares them, checked by pydantic."""

import hashlib
import inspect
import json
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import NoneType, UnionType
from typing import Any, Final, Union, cast, get_args, get_origin

import msgspec
import pydantic
import pydantic_core
from pydantic import SecretBytes, SecretStr, TypeAdapter
from typing_extensions import TypedDict

from fairlane.errors import BadParameters, BadSetting, Permanent, TooLarge, UsageError
from fairlane.redaction import secret_names
from fairlane.task.secret_cipher import VARIABLE, SecretCipher, decrypt_secrets, encrypt_secrets

LARGEST_PARAMETERS: Final = 1024 * 1024
LARGEST_RESULT: Final = 8 * 1024 * 1024


class Parameters:
    """Validates the arguments of a caller, writes them as JSON and reads them with their types."""

    def __init__(self, task: str, parameters: Sequence[inspect.Parameter]) -> None:
        self._task = task
        for parameter in parameters:
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL,
                                  parameter.VAR_KEYWORD):  # fmt: skip
                raise BadSetting(
                    f'task "{task}" takes {parameter}; every parameter must have a name, '
                    "because parameters are stored by name"
                )
        empty = inspect.Parameter.empty
        self.names = [parameter.name for parameter in parameters]
        self._defaults = {p.name: p.default for p in parameters if p.default is not empty}
        types = {p.name: Any if p.annotation is empty else p.annotation for p in parameters}
        self._types = types
        self.secrets = tuple(name for name, type in types.items() if _is_secret(type))
        self.cipher: SecretCipher | None = None
        self.needs_cipher = False  # the program of the task encrypts its secrets
        # A type checker cannot follow a type that is made at run time.
        shape: Any = cast(Any, TypedDict)(f"{task} parameters", types)
        # Pydantic would write NaN as null; the stored value must equal the argument.
        shape.__pydantic_config__ = pydantic.ConfigDict(
            extra="forbid", ser_json_inf_nan="constants"
        )
        try:
            self._adapter: TypeAdapter[dict[str, Any]] = TypeAdapter(shape)
            self._refuse_hidden_secrets()
        except pydantic.errors.PydanticUserError as error:
            raise BadSetting(f'parameters of task "{task}" cannot be checked: {error}') from None

    def _refuse_hidden_secrets(self) -> None:
        """Raise if a secret lies inside another parameter, where it could not be masked."""
        schema = self.schema
        shapes = {name: s for name, s in schema["properties"].items() if name not in self.secrets}
        if '"writeOnly":true' in msgspec.json.encode([shapes, schema.get("$defs")]).decode():
            raise BadSetting(
                f'task "{self._task}" takes a secret inside another parameter; give each secret a '
                "separate parameter, such as token: SecretStr"
            )

    def validate(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
        """Return the checked values, defaults filled in, or raise one readable error."""
        if len(arguments) > len(self.names):
            raise BadParameters(self._task, [{
                "where": "arguments", "message": f"at most {len(self.names)} are accepted",
                "got": len(arguments)}])  # fmt: skip
        values = {**self._defaults, **dict(zip(self.names, arguments, strict=False)), **named}
        try:
            return self._adapter.validate_python(values)
        except pydantic.ValidationError as error:
            raise BadParameters(self._task, _problems(error, self.secrets)) from None

    def encode(self, values: dict[str, Any]) -> str:
        try:
            if self.secrets:
                plain = self._adapter.dump_python(values, mode="json")
                for name in self.secrets:
                    plain[name] = _revealed(values[name])
                text = msgspec.json.encode(plain)
            else:
                text = self._adapter.dump_json(values)
                _refuse_nan(text)
        except (pydantic.ValidationError, ValueError, TypeError) as error:
            problem = {
                "where": "value",
                "message": f"cannot be written as JSON: {error}",
                "got": "…",
            }
            raise BadParameters(self._task, [problem]) from None
        if len(text) > LARGEST_PARAMETERS:
            raise TooLarge(f'the parameters of task "{self._task}"', len(text), LARGEST_PARAMETERS)
        return text.decode()

    def encrypt(self, text: str) -> str:
        """Return encoded values as they are stored: their secrets encrypted, if there is a key."""
        if not self.secrets:
            return text
        values = json.loads(text)  # not by msgspec, which would round a very large integer
        if self.cipher is not None:
            return json.dumps(encrypt_secrets(values, self.secrets, self.cipher))
        if self.needs_cipher and any(values[name] is not None for name in self.secrets):
            raise UsageError(
                f'task "{self._task}" takes a secret, which its program stores encrypted; give '
                f"this process the same key: Fairlane(secrets_key=…) or {VARIABLE}"
            )
        return text

    def decrypt(self, text: str, options: str) -> str:
        """Undo `encrypt`; `options` of the submission name the secrets."""
        names = secret_names(options)
        if not names:
            return text
        values = json.loads(text)
        clear = decrypt_secrets(values, names, self.cipher)
        return text if clear == values else json.dumps(clear)

    def decode(self, text: str) -> dict[str, Any]:
        """Read stored values; a parameter that was added to the code later has its default."""
        try:
            try:
                return self._adapter.validate_json(text)
            except pydantic.ValidationError as error:
                if not any(item["type"] == "missing" for item in error.errors()):
                    raise
                return self._adapter.validate_json(self._completed(text))
        except pydantic.ValidationError as error:
            raise BadParameters(self._task, _problems(error, self.secrets)) from None

    def _completed(self, text: str) -> bytes:
        values = msgspec.json.decode(text)
        for name, default in self._defaults.items():
            if name not in values and name in self.secrets:
                values[name] = _revealed(default)
            elif name not in values:
                adapter: TypeAdapter[Any] = TypeAdapter(self._types[name])
                values[name] = adapter.dump_python(default, mode="json", warnings=False)
        return msgspec.json.encode(values)

    @cached_property
    def schema(self) -> dict[str, Any]:
        """Describe the parameters as a JSON Schema; a default that is secret is left out."""
        schema = self._adapter.json_schema()
        for name, default in self._defaults.items():
            shape = schema["properties"][name]
            if name not in self.secrets or default is None:
                try:
                    adapter: TypeAdapter[Any] = TypeAdapter(self._types[name])
                    plain = adapter.dump_python(default, mode="json", warnings=False)
                    _refuse_nan(pydantic_core.to_json(plain, inf_nan_mode="constants"))
                    shape["default"] = plain
                except (pydantic_core.PydanticSerializationError, ValueError, TypeError):
                    pass  # a default that is not JSON is left out
        required = [name for name in schema.get("required", ()) if name not in self._defaults]
        return {**schema, "required": required}


def _is_secret(type: Any) -> bool:
    """Whether a type is SecretStr or SecretBytes, or one of them or None."""
    is_choice = get_origin(type) in (Union, UnionType)
    choices = [choice for choice in get_args(type) if choice is not NoneType]
    return all(c in (SecretStr, SecretBytes) for c in (choices if is_choice else [type]))


def _revealed(secret: SecretStr | SecretBytes | None) -> str | None:
    if secret is None:
        return None
    value = secret.get_secret_value()
    return value.decode() if isinstance(value, bytes) else value


def _problems(error: pydantic.ValidationError, secrets: tuple[str, ...]) -> list[dict[str, Any]]:
    problems = []
    for item in error.errors(include_url=False, include_context=False):
        where = ".".join(str(part) for part in item["loc"]) or "parameters"
        hidden = bool(item["loc"]) and item["loc"][0] in secrets
        # An unknown parameter may be a secret with a misspelt name.
        hidden = hidden or (bool(secrets) and item["type"] == "extra_forbidden")
        if item["type"] == "missing":
            got = "nothing"
        else:
            got = "a secret" if hidden else repr(item["input"])
        # The message of a user's own check needs no prefix.
        message = item["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
        problems.append({"where": where, "message": message, "got": got[:200]})
    return problems


def _refuse_nan(text: bytes) -> None:
    """Raise if a number is infinite or not a number: JSON has neither, and reading would fail."""
    if b"NaN" in text or b"Infinity" in text:
        try:
            msgspec.json.decode(text)
        except msgspec.DecodeError:
            raise ValueError("it holds a number that is infinite or not a number") from None


def digest(task: str, params: str, outputs: str, cipher: SecretCipher | None = None) -> str:
    """Return a digest that is equal when task, parameters and outputs are equal.

    64 bits are enough: digests are compared inside one lane only. The leader holds one in memory
    for each waiting job. With a cipher the digest depends on its first key: after a change of keys,
    a call that equals an active job is a conflict, and not merged.
    """
    text = f"{task}\n{params}\n{outputs}"
    if cipher is not None:
        text = cipher.digests(text)[0]
    return b64encode(hashlib.blake2b(text.encode(), digest_size=8).digest()).decode()[:11]


class Results:
    """Writes the result of a function as JSON and reads it, with the type of its annotation."""

    def __init__(self, annotation: Any) -> None:
        known = annotation not in (inspect.Signature.empty, Any)
        try:
            self._adapter: TypeAdapter[Any] | None = TypeAdapter(annotation) if known else None
        except pydantic.errors.PydanticUserError:
            self._adapter = None  # a type that pydantic does not know is read as plain JSON

    @classmethod
    def of(cls, function: Callable[..., Any]) -> "Results":
        try:
            return cls(inspect.signature(function, eval_str=True).return_annotation)
        except (NameError, TypeError, ValueError):
            return cls(Any)

    @staticmethod
    def encode(value: Any) -> str:
        if value is None:
            return "null"
        try:
            text = pydantic_core.to_json(value)
            _refuse_nan(text)
        except (pydantic_core.PydanticSerializationError, ValueError) as error:
            raise Permanent(
                f"the result {str(value)[:100]!r} cannot be written as JSON ({error}); return "
                "numbers, text, lists, dicts, dataclasses or pydantic models",
                code="bad_result",
            ) from None
        if len(text) > LARGEST_RESULT:
            raise TooLarge("the result", len(text), LARGEST_RESULT)
        return text.decode()

    def decode(self, text: str) -> Any:
        return self._adapter.validate_json(text) if self._adapter else msgspec.json.decode(text)

    def decode_or_plain(self, text: str) -> Any:
        """Read a result, as plain JSON if it has another type: it may come from a fallback."""
        try:
            return self.decode(text)
        except pydantic.ValidationError:
            return msgspec.json.decode(text)

    def from_json_value(self, value: Any) -> Any:
        try:
            return value if self._adapter is None else self._adapter.validate_python(value)
        except pydantic.ValidationError as error:
            raise UsageError(
                f"the result does not fit the return annotation of the task: {error}; the stored "
                "result is in `show().result`"
            ) from None
