"""Checks of the options of a task, made when it is declared and not when a job first uses them."""

import re
from collections.abc import Callable, Iterator, Sequence
from inspect import Parameter, Signature, signature
from string import Formatter
from typing import Any

from fairlane.core.validation import check_seconds, guess, shown
from fairlane.errors import BadSetting
from fairlane.task.context import Context, SyncContext
from fairlane.task.parameters import Parameters


class OptionChecks:
    """The options of one task; a failed check raises with the value and the expectation."""

    def __init__(self, task: str, parameters: Parameters) -> None:
        self._task = task
        self._parameters = parameters.names
        self._secrets = parameters.secrets

    def expect(self, fits: bool, option: str, value: object, expected: str) -> None:
        if not fits:
            raise BadSetting(
                f'{option} of task "{self._task}" is {shown(value)}; it must be {expected}'
            )

    def seconds(self, option: str, value: float | None) -> None:
        check_seconds(f'{option} of task "{self._task}"', value, optional=True)

    def flag(self, option: str, value: object) -> None:
        self.expect(isinstance(value, bool), option, value, "True or False")

    def items(
        self,
        option: str,
        values: Any,
        *,
        example: str,
        texts: bool = False,
        functions: bool = False,
    ) -> None:
        """Check that this is a list; a text would be read letter by letter."""
        is_list = isinstance(values, Sequence) and not isinstance(values, str | bytes)
        self.expect(is_list, option, values, f"a list, e.g. {option}=[{example}]")
        kinds = ["text"] * texts + ["a function"] * functions
        for value in values:
            fits = (texts and isinstance(value, str) and value) or (functions and callable(value))
            self.expect(bool(fits), f"an item of {option}", value, " or ".join(kinds))

    def templates(self, option: str, values: Any, *, example: str) -> None:
        self.items(option, values, example=example, texts=True, functions=True)
        for value in values:
            self._fields(option, value)

    def template(self, option: str, value: Any) -> None:
        """Check a template that distinguishes jobs, where a bare parameter name is a mistake."""
        fits = value is None or callable(value) or (isinstance(value, str) and value != "")
        self.expect(fits, option, value, 'a template such as "{name}", a function, or None')
        self._fields(option, value)
        if value in self._parameters:
            raise BadSetting(
                f'{option} of task "{self._task}" is "{value}", the same for every job, and there '
                f'is a parameter of that name; did you mean "{{{value}}}"?'
            )

    def _fields(self, option: str, template: Any) -> None:
        if not isinstance(template, str):
            return
        known = ", ".join(f"{{{name}}}" for name in self._parameters) or "none"
        where = f'{option} of task "{self._task}" is {template!r}'
        try:
            fields = list(_fields_of(template))
        except ValueError as error:
            raise BadSetting(
                f"{where}, which is no template ({error}); write a brace itself twice (parameters: "
                f"{known})"
            ) from None
        for field in fields:
            if field in self._secrets:
                raise BadSetting(
                    f'{where}, but "{field}" is secret, and names made of it are visible to all; '
                    "use another parameter, or a digest that the caller makes"
                )
            if field not in self._parameters:
                raise BadSetting(
                    f'{where}, but there is no parameter "{field}"'
                    f"{guess(field, self._parameters)} (parameters: {known})"
                )


def _fields_of(template: str) -> Iterator[str]:
    """Yield the parameters in a template, also those inside a format such as {a:{width}}."""
    for _, field, layout, _ in Formatter().parse(template):
        if field is not None:
            yield re.split(r"[.\[]", field, maxsplit=1)[0]
            yield from _fields_of(layout or "")


def signature_of(task: str, function: Callable[..., Any]) -> Signature:
    try:
        return signature(function, eval_str=True)
    except NameError as error:
        raise BadSetting(
            f'an annotation of task "{task}" cannot be resolved ({error}); '
            "import that name at the top of the module"
        ) from None


def takes_context(task: str, parameters: Sequence[Parameter], *, is_async: bool) -> bool:
    """Whether the first parameter is the context; a context in another place is refused."""
    right, prefix = (Context, "async def") if is_async else (SyncContext, "def")
    advice = f"write {prefix} {task}(ctx: {right.__name__}, …)"
    for place, parameter in enumerate(parameters):
        if place == 0 and parameter.name in ("self", "cls"):
            raise BadSetting(
                f'task "{task}" takes {parameter.name}, so it is a method; a job has no object to '
                "call it on: decorate a function outside of the class"
            )
        is_context = parameter.annotation in (Context, SyncContext)
        is_bare = parameter.name == "ctx" and parameter.annotation is Parameter.empty
        if (is_context or is_bare) and (place > 0 or parameter.name != "ctx"):
            raise BadSetting(
                f'task "{task}" takes its context as parameter {place + 1}, "{parameter.name}"; '
                f"it must come first and be called ctx: {advice}"
            )
        if is_context and parameter.annotation is not right:
            kind = "an async" if is_async else "a plain"
            raise BadSetting(
                f'task "{task}" is {kind} function and annotates its ctx with '
                f"{parameter.annotation.__name__}; {advice}"
            )
    return bool(parameters) and parameters[0].name == "ctx"
