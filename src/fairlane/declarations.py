"""The declarations of a program: queues, limits, resources, tasks, schedules and hooks.

An engine reads them once, when it starts; a declaration after that is refused.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from fairlane.client.submissions import Submissions
from fairlane.core.inputs import ChangeSetting, Input, SaveRecord
from fairlane.core.queues import settings_from
from fairlane.core.validation import (
    check_amounts,
    check_name,
    check_option_names,
    check_path_name,
    check_seconds,
)
from fairlane.errors import BadSetting, UnknownName, UsageError
from fairlane.leader.end_hooks import hook_name
from fairlane.leader.hook_delivery import DeclaredHook
from fairlane.leader.schedule import Rules, Schedule, decode_schedule, make_schedule
from fairlane.leader.webhook import Hook
from fairlane.task.definition import Definition
from fairlane.task_schema import task_schema_of
from fairlane.tasks import Call, Policies, Task, require_call
from fairlane.worker.device import Device

_TASK_OPTIONS: Final = [
    *(name for name in inspect.signature(Definition).parameters if name != "function"),
    *Policies.__struct_fields__,
]


class Declarations:
    """The declarations of one app. `is_started` tells whether its engine has read them."""

    def __init__(self, tasks: dict[str, Task[Any, Any]], is_started: Callable[[], bool]) -> None:
        self.tasks = tasks
        self.definitions: dict[str, Definition] = {}
        self.settings: dict[tuple[str, str], ChangeSetting] = {}
        self.schedules: dict[str, Schedule] = {}
        self.hooks: list[DeclaredHook] = []
        self.drivers: dict[str, type[Device]] = {}  # by the queue whose devices they drive
        self._is_started = is_started

    def add_queue(self, name: str, devices: bool | type[Device], values: dict[str, Any]) -> None:
        driver = devices if isinstance(devices, type) and issubclass(devices, Device) else None
        if devices is not False:
            values["devices"] = True if driver is not None else devices
        settings_from(name, values)
        self._refuse_when_started("queue", name)
        self.drivers.pop(name, None)
        if driver is not None:
            self.drivers[name] = driver
        self.settings["queue", name] = ChangeSetting("", "queue", name, "code", values)

    def add_limit(self, key: str, values: dict[str, Any]) -> None:
        check_amounts("rate", key, values)
        self._refuse_when_started("limit", key)
        self.settings["rate", key] = ChangeSetting("", "rate", key, "code", values)

    def add_resource(self, name: str, values: dict[str, Any]) -> None:
        check_amounts("resource", name, values)
        self._refuse_when_started("resource", name)
        self.settings["resource", name] = ChangeSetting("", "resource", name, "code", values)

    def add_task(
        self, submissions: Submissions, function: Callable[..., Any], options: dict[str, Any]
    ) -> Task[Any, Any]:
        check_option_names("task", options, _TASK_OPTIONS)
        for_scheduler = {k: v for k, v in options.items() if k in Policies.__struct_fields__}
        for_worker = {k: v for k, v in options.items() if k not in for_scheduler}
        if for_scheduler.get("uses") is None:
            for_scheduler["uses"] = {}
        definition, policies = Definition(function, **for_worker), Policies(**for_scheduler)
        policies.check(definition)
        self._refuse_when_started("task", definition.name)
        if definition.name in self.tasks:
            raise BadSetting(f'there is already a task "{definition.name}"; give this one a name=…')
        task: Task[Any, Any] = Task(submissions, definition, policies)
        self.tasks[definition.name] = task
        self.definitions[definition.name] = definition
        return task

    def add_schedule(self, name: str, call: Call[Any], rules: Rules) -> None:
        check_path_name("schedule", name)
        submission = require_call(call).submission()
        self._refuse_when_started("schedule", name)
        self.schedules[name] = make_schedule(name, submission, rules)

    def add_hook(self, hook: Hook, name: str | None, retry_seconds: float) -> None:
        if not callable(hook):
            raise BadSetting(f"on_end takes a function, got {hook!r}")
        check_seconds("retry_seconds of a hook", retry_seconds, zero=True)
        name = hook_name(hook) if name is None else name
        check_name("hook", name)
        self._refuse_when_started("hook", name)
        self.hooks.append(DeclaredHook(hook, name, retry_seconds))

    def _refuse_when_started(self, kind: str, name: str) -> None:
        if self._is_started():
            raise UsageError(
                f'{kind} "{name}" comes too late, the engine is started; '
                "declare it before the engine starts"
            )

    def check_queues(self, names: Iterable[str]) -> None:
        """Raise for the first name that is not a declared queue."""
        queues = [name for kind, name in self.settings if kind == "queue"]
        for name in names:
            if name not in queues:
                raise UnknownName("queue", name, queues)

    def inputs(self, stored: Mapping[tuple[str, str], str]) -> list[Input]:
        """Return the declarations as inputs of the leader; `stored` are the records before."""
        inputs: list[Input] = list(self.settings.values())
        for name, schedule in self.schedules.items():
            text = stored.get(("schedule", name))
            before = None if text is None else decode_schedule(text)
            after = schedule.declared_after(before)
            inputs.append(SaveRecord("", "schedule", name, after.text()))
        for task in self.tasks.values():
            body = msgspec.json.encode(task_schema_of(task)).decode()
            inputs.append(SaveRecord("", "task", task.name, body))
        return inputs
