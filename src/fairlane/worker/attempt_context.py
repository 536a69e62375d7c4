"""Building the context of an attempt, in the process of the worker or in a child process."""

import asyncio
from collections.abc import Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import msgspec

from fairlane.core.decisions import EMPTY_REPORT
from fairlane.process.process_group import ProcessDeadline
from fairlane.store.views import Payload, Progress, ReportBody
from fairlane.task.attempt_outputs import OutputPublisher
from fairlane.task.attempt_report import AttemptReport
from fairlane.task.context import Context, JobFacts, SyncContext
from fairlane.task.definition import Definition
from fairlane.task.output_files import OutputRegistry
from fairlane.task.worker_link import WorkerLink

_decode_report = msgspec.json.Decoder(ReportBody)
_NO_REPORT = ReportBody()


def build_context(
    definition: Definition,
    values: Mapping[str, Any],
    facts: JobFacts,
    payload: Payload,
    stored_values: dict[str, str],
    link: WorkerLink,
    *,
    outputs: OutputRegistry,
    declared: list[Path],
    loop: asyncio.AbstractEventLoop,
    process_deadline: ProcessDeadline | None = None,
    threads: Executor | None = None,
) -> tuple[Context | SyncContext, AttemptReport]:
    stored = None if payload.report == EMPTY_REPORT else payload.report
    earlier = _decode_report.decode(stored) if stored else _NO_REPORT
    checkpoint = earlier.checkpoint
    if stored is None and payload.checkpoint:
        checkpoint = msgspec.json.decode(payload.checkpoint)
    report = AttemptReport(link, earlier=earlier, stages=definition.stages, checkpoint=checkpoint)
    if earlier.progress != Progress():
        report.changed()  # the message of the earlier attempt is void, and with stages its percent
    publisher = OutputPublisher(
        facts.id, facts.attempt, outputs, link, stored_values, policy=definition.policy(values),
        declared=declared,
    )  # fmt: skip
    kind = Context if definition.is_async else SyncContext
    context = kind(facts, link, report, publisher, stored_values, loop, process_deadline, threads)
    return context, report
