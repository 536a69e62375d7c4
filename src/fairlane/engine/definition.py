"""A task as the worker sees it: the function, and how it wants to be run."""

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, get_args

from fairlane.engine.outputs import Policy
from fairlane.engine.parameters import Parameters, Results
from fairlane.errors import BadSetting

GRACE_SECONDS: Final = 10.0
Isolation = Literal["none", "process"]
Precondition = Callable[[Mapping[str, Any]], str | None]
Template = str | Callable[[Mapping[str, Any]], str | None]


class Definition:
    """Everything about a registered function that does not change from job to job."""

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
        self.function = function
        self.name: str = name or str(getattr(function, "__name__", ""))
        if not self.name or self.name == "<lambda>":
            raise BadSetting("a task needs a name: decorate a function, or say name=…")
        self.is_async = inspect.iscoroutinefunction(function)
        first = next(iter(inspect.signature(function).parameters), None)
        self.takes_context = first == "ctx"
        self.parameters = Parameters(self.name, function, skip_first=self.takes_context)
        self.results = Results(self.parameters.returns)
        self.isolation = isolation
        self.timeout_seconds = _positive(self.name, "timeout_seconds", timeout_seconds)
        self.stall_seconds = _positive(self.name, "stall_seconds", stall_seconds)
        self.grace_seconds = grace_seconds
        self.stages = tuple(stages)
        self.outputs = tuple(outputs)
        self.on_output = _policy(self.name, on_output)
        self.preconditions = tuple(preconditions)
        if isolation not in get_args(Isolation):
            raise BadSetting(f'isolation of task "{self.name}" must be "none" or "process"')
        if isolation == "process":
            self.location = locate(self.name, function)

    @property
    def has_checks(self) -> bool:
        return bool(self.preconditions or self.outputs)

    def call(self, context: Any, values: Mapping[str, Any]) -> Any:
        """Call the function; an async one gives its coroutine."""
        if self.takes_context:
            return self.function(context, **values)
        return self.function(**values)


def _positive(task: str, what: str, seconds: float | None) -> float | None:
    if seconds is not None and seconds <= 0:
        raise BadSetting(f'{what} of task "{task}" is {seconds}; it must be above zero, or None')
    return seconds


def _policy(task: str, policy: str) -> Policy:
    try:
        return Policy(policy)
    except ValueError:
        known = ", ".join(Policy)
        raise BadSetting(
            f'on_output of task "{task}" is {policy!r}; choose one of {known}'
        ) from None


def locate(task: str, function: Callable[..., Any]) -> tuple[str, str]:
    """Return where a child process finds the function: a module or a script, and the name in it."""
    name = function.__qualname__
    if "<locals>" in name or "<lambda>" in name:
        raise BadSetting(
            f'task "{task}" asks for isolation="process", but {name} is made inside a function; '
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


def fill(template: Template | None, values: Mapping[str, Any]) -> str | None:
    """Fill a job's values into a template such as "{handle}"."""
    if template is None or callable(template):
        return template(values) if template else None
    try:
        return template.format_map(values)
    except (KeyError, IndexError, AttributeError) as error:
        known = ", ".join(f"{{{name}}}" for name in values)
        raise BadSetting(
            f"the template {template!r} cannot be filled ({error!r}); parameters: {known or 'none'}"
        ) from None
