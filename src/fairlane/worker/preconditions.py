"""The checks before a job may start on this machine: its preconditions and its output paths."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from fairlane.core.live_job import Reason
from fairlane.errors import OutputBusy
from fairlane.runtime.threads import in_thread
from fairlane.store.views import Payload
from fairlane.task.attempt_outputs import published_paths, records
from fairlane.task.definition import Definition
from fairlane.task.output_files import (
    OutputPolicy,
    OutputRegistry,
    is_locked_by_others,
    output_exists,
    resolve,
)


class Obstacle(Struct, frozen=True):
    """The reason why a job cannot start now; a final one means that it is skipped."""

    reason: Reason
    is_final: bool = False


def planned_outputs(options: str) -> list[str]:
    """Return the output paths that were fixed when the job was submitted."""
    return list(msgspec.json.decode(options).get("outputs", []))


async def check_preconditions(
    job: str,
    payload: Payload,
    definition: Definition,
    values: Mapping[str, Any],
    registry: OutputRegistry,
) -> list[Path] | Obstacle:
    """Reserve all declared outputs together, or return the obstacle."""
    return await in_thread(_check, job, payload, definition, values, registry)


def check_preconditions_blocking(
    job: str, payload: Payload, definition: Definition, registry: OutputRegistry
) -> list[Path] | Obstacle:
    """Do the same in the calling thread; disks and preconditions may be slow."""
    params = definition.parameters.decrypt(payload.params, payload.options)
    values = definition.parameters.decode(params)
    return _check(job, payload, definition, values, registry)


def _check(
    job: str,
    payload: Payload,
    definition: Definition,
    values: Mapping[str, Any],
    registry: OutputRegistry,
) -> list[Path] | Obstacle:
    for precondition in definition.preconditions:
        unmet = precondition(values)
        if unmet:
            return Obstacle(Reason("precondition", unmet) if isinstance(unmet, str) else unmet)
    chosen = definition.policy(values) if definition.outputs else OutputPolicy.RENAME
    planned = [resolve(path) for path in planned_outputs(payload.options)]
    own = published_paths(records(payload.stored_values))
    reserved: list[Path] = []
    for path in planned:
        # A file that an earlier attempt of this same job published is no obstacle.
        policy = OutputPolicy.OVERWRITE if path in own else chosen
        result = _reserve(job, path, policy, registry)
        if isinstance(result, Obstacle):
            registry.release(job)
            return result
        reserved.append(result)
    return reserved


def _reserve(
    job: str, path: Path, policy: OutputPolicy, registry: OutputRegistry
) -> Path | Obstacle:
    holder = registry.holder(path)
    if policy is OutputPolicy.RENAME:
        if holder == job and not os.path.lexists(path):
            return path  # reserved when the job was submitted
        return registry.reserve_unused_path(job, path)
    if holder is not None and holder != job:
        message = f"{path} is being written by job {holder}"
        return Obstacle(Reason("output_busy", message, {"path": str(path), "job": holder}))
    if os.path.lexists(path):
        if policy is OutputPolicy.SKIP:
            return Obstacle(output_exists(path), is_final=True)
        if policy is OutputPolicy.WAIT:
            message = f"{path} exists; waiting until it is moved or deleted"
            return Obstacle(Reason("output_exists", message, {"path": str(path)}))
        if is_locked_by_others(path):
            message = f"another program holds {path} open"
            return Obstacle(Reason("output_busy", message, {"path": str(path)}))
    try:
        return registry.reserve(job, [path])[0]
    except OutputBusy as busy:
        return Obstacle(Reason("output_busy", busy.message, {"path": str(path)}))
