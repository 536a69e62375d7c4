"""The definition of a task, as the worker needs it: the function and its options."""

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from string import Formatter
from typing import Any, Final, Literal, get_args

from fairlane.core.live_job import Reason
from fairlane.core.validation import check_name, check_seconds
from fairlane.errors import BadSetting
from fairlane.task.option_checks import OptionChecks, signature_of, takes_context
from fairlane.task.output_files import OutputPolicy
from fairlane.task.parameters import Parameters, Results

GRACE_SECONDS: Final = 10.0
Isolation = Literal["none", "process"]
Precondition = Callable[[Mapping[str, Any]], str | Reason | None]
Template = str | Callable[[Mapping[str, Any]], str | None]


class Definition:
    """A registered function with the options that are the same for all its jobs."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        isolation: Isolation = "none",
        timeout_seconds: float | None = None,
        stall_seconds: float | None = None,
        grace_seconds: float = GRACE_SECONDS,
        stages: Sequence[str] = (),
        outputs: Sequence[Template] = (),
        on_output: str = "rename",
        preconditions: Sequence[Precondition] = (),
    ) -> None:
        if not callable(function):
            raise BadSetting(f"a task must be a function, got {function!r}")
        self.function = function
        self.name: str = name or str(getattr(function, "__name__", ""))
        if not self.name or self.name == "<lambda>":
            raise BadSetting("a task needs a name: decorate a function, or say name=…")
        check_name("task", self.name)
        self.is_async = inspect.iscoroutinefunction(function)
        signature = signature_of(self.name, function)
        parameters = list(signature.parameters.values())
        self.takes_context = takes_context(self.name, parameters, is_async=self.is_async)
        parameters = parameters[1:] if self.takes_context else parameters
        self.parameters = Parameters(self.name, parameters)
        self.results = Results(signature.return_annotation)
        declared = OptionChecks(self.name, self.parameters)
        declared.seconds("timeout_seconds", timeout_seconds)
        declared.seconds("stall_seconds", stall_seconds)
        check_seconds(f'grace_seconds of task "{self.name}"', grace_seconds, zero=True)
        declared.items("stages", stages, example='"saving"', texts=True)
        declared.templates("outputs", outputs, example='"{path}"')
        declared.items("preconditions", preconditions, example="has_room", functions=True)
        self.isolation = isolation
        self.timeout_seconds = timeout_seconds
        self.stall_seconds = stall_seconds
        self.grace_seconds = grace_seconds
        self.stages = tuple(stages)
        self.outputs = tuple(outputs)
        if not _is_template(on_output):
            _policy(self.name, on_output, on_output)
        declared.templates("on_output", [on_output], example='"{on_exists}"')
        self.on_output = on_output
        self.preconditions = tuple(preconditions)
        is_known = isolation in get_args(Isolation)
        declared.expect(is_known, "isolation", isolation, '"none" or "process"')
        if isolation == "process":
            self.location = locate(self.name, function)

    @property
    def has_checks(self) -> bool:
        return bool(self.preconditions or self.outputs)

    def policy(self, values: Mapping[str, Any]) -> OutputPolicy:
        """Return the policy for existing output files, which may depend on the parameters."""
        return _policy(self.name, self.on_output, fill(self.on_output, values))

    def call(self, context: Any, values: Mapping[str, Any]) -> Any:
        """Call the function; an async function returns its coroutine."""
        if self.takes_context:
            return self.function(context, **values)
        return self.function(**values)


def _is_template(value: object) -> bool:
    return isinstance(value, str) and "{" in value


def _policy(task: str, declared: str, policy: str | None) -> OutputPolicy:
    try:
        return OutputPolicy(policy)  # type: ignore[arg-type]  # unknown values raise
    except ValueError:
        known = ", ".join(OutputPolicy)
        became = "" if policy == declared else f", which became {policy!r}"
        raise BadSetting(
            f'on_output of task "{task}" is {declared!r}{became}; choose one of {known}'
        ) from None


def locate(task: str, function: Callable[..., Any]) -> tuple[str, str]:
    """Return the module or script of the function, and its name there, for a child process."""
    name = function.__qualname__
    if "<locals>" in name or "<lambda>" in name:
        raise BadSetting(
            f'task "{task}" asks for isolation="process", but {name} is defined inside a function; '
            "define it at the top level of a module, where a child process can import it"
        )
    module = function.__module__
    if module != "__main__":
        return module, name
    file = getattr(sys.modules["__main__"], "__file__", None)
    if file is None:
        raise BadSetting(
            f'task "{task}" asks for isolation="process" and is defined at a prompt; '
            "put it into a file, where a child process can import it"
        )
    return str(Path(file).resolve()), name


class _Filling(Formatter):
    """Formats an enum as its value, which is also its stored form, and not as Color.RED."""

    def format_field(self, value: Any, format_spec: str) -> str:
        plain = value.value if isinstance(value, Enum) else value
        return str(super().format_field(plain, format_spec))


def fill(template: Template | None, values: Mapping[str, Any]) -> str | None:
    """Fill a job's values into a template such as "{handle}"."""
    if template is None or callable(template):
        return template(values) if template else None
    try:
        return _Filling().vformat(template, (), values)
    except (KeyError, IndexError, AttributeError, ValueError, TypeError) as error:
        known = ", ".join(f"{{{name}}}" for name in values)
        raise BadSetting(
            f"the template {template!r} cannot be filled ({error!r}); parameters: {known or 'none'}"
        ) from None
