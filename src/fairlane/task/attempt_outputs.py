"""The outputs of one attempt: written to temporary files, published whole, recorded before both.

A record of each output (`output:…`) is stored durably before its first byte is written, so that
after a crash the half-written file can be found and removed. The record is stored again when the
file is published, so that a cancellation with `delete` finds the files of the job. The task does
not wait for the second record: the file is published already, and if the process dies before the
record is stored, waiting would not have stored it either.
"""

import hashlib
import logging
import os
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from fairlane.core.validation import LONGEST_NAME
from fairlane.errors import OutputBusy
from fairlane.runtime.threads import await_thread, in_thread, start_in_thread
from fairlane.task.output_files import (
    OutputPolicy,
    OutputRecord,
    OutputRegistry,
    discard,
    identify_file,
    publish,
    remove_leftovers,
    remove_published,
    resolve,
    temporary_name,
)
from fairlane.task.worker_link import WorkerLink

log = logging.getLogger("fairlane.outputs")

_PREFIX = "output:"


class OpenOutput(Struct, frozen=True):
    final: Path
    temporary: Path
    policy: OutputPolicy


def records(stored_values: Mapping[str, str]) -> list[OutputRecord]:
    return [
        msgspec.json.decode(body, type=OutputRecord)
        for name, body in stored_values.items()
        if name.startswith(_PREFIX)
    ]


def published_paths(found: Iterable[OutputRecord]) -> set[Path]:
    """Return the files that a job has published; its later attempts replace them by any policy.

    A file that replaced a published one belongs to another job or program, and is left out. It
    reads the disk: do not call it on the event loop.
    """
    return {Path(r.published) for r in found if r.published is not None and r.is_in_place}


def has_half_written(stored_values: Mapping[str, str]) -> bool:
    """Whether a half-written file may exist."""
    return any(r.published is None for r in records(stored_values))


def remove_half_written(stored_values: Mapping[str, str]) -> list[Path]:
    """Remove half-written files of an attempt; their names are unique, on every host."""
    return remove_leftovers(r for r in records(stored_values) if r.published is None)


def remove_published_outputs(
    stored_values: Mapping[str, str], *, everywhere: bool = False
) -> list[Path]:
    """Remove the files that a job has published, after a cancellation with `delete`.

    Files recorded by another host are left out, because the same path is another file there;
    `everywhere` includes them, for a store that only one host uses. A file that replaced a
    published one belongs to another job or program, and is left out too.
    """
    here = [r for r in records(stored_values) if everywhere or r.is_on_this_host]
    return remove_published(published_paths(here))


def outputs_on_other_hosts(
    stored_values: Mapping[str, str], *, finished: bool
) -> dict[str, dict[str, str]]:
    """Return the records of other hosts, by host: of half-written files, or (`finished`) of all."""
    by_host: dict[str, dict[str, str]] = {}
    for name, body in stored_values.items():
        if name.startswith(_PREFIX):
            record = msgspec.json.decode(body, type=OutputRecord)
            if not record.is_on_this_host and (finished or record.published is None):
                by_host.setdefault(record.host, {})[name] = body
    return by_host


def remove_all_outputs(stored_values: Mapping[str, str]) -> None:
    """Remove published and half-written files, as a leader on another host ordered."""
    removed = [*remove_published_outputs(stored_values), *remove_half_written(stored_values)]
    if removed:
        log.info("removed %s, as the leader ordered", ", ".join(map(str, removed)))


def _record_name(path: Path) -> str:
    """Return the path, or a digest of it: a path may be longer than the name of a stored value."""
    text = str(path)
    long = len(text.encode(errors="replace")) > LONGEST_NAME
    return hashlib.blake2b(os.fsencode(text), digest_size=16).hexdigest() if long else text


def _publish(output: OpenOutput) -> tuple[Path | None, str]:
    """Publish an output; return its name and the text that identifies its file."""
    file = identify_file(output.temporary)  # before another program can replace the published file
    return publish(output.temporary, output.final, output.policy), file


class OutputPublisher:
    def __init__(
        self,
        job: str,
        attempt: int,
        registry: OutputRegistry,
        link: WorkerLink,
        stored_values: dict[str, str],
        *,
        policy: OutputPolicy,
        declared: Iterable[Path] = (),
    ) -> None:
        self._job = job
        # Different for each attempt: an attempt that counts as dead may still write, or its files
        # may be removed, while the next attempt writes.
        self._writer = f"{job}.{attempt}"
        self._registry = registry
        self._link = link
        self._stored_values = stored_values
        self._policy = policy
        self.declared = list(declared)
        self._recorded = records(stored_values)  # by earlier attempts
        self._earlier: set[Path] | None = None  # of these, the files that are still in place

    async def open(self, path: str | os.PathLike[str], on_exists: str | None) -> OpenOutput:
        policy = OutputPolicy(on_exists) if on_exists is not None else self._policy
        final, is_earlier = await in_thread(self._prepare, path, policy)
        if is_earlier:
            policy = OutputPolicy.OVERWRITE  # this attempt replaces the file
        output = OpenOutput(final, temporary_name(final, self._writer), policy)
        name, body = self._record(output, None)
        await self._link.store_value(name, body)
        self._stored_values[name] = body
        return output

    def _prepare(self, path: str | os.PathLike[str], policy: OutputPolicy) -> tuple[Path, bool]:
        """Reserve a path; return it, and whether an earlier attempt published its file."""
        if self._earlier is None:
            self._earlier = published_paths(self._recorded)
        final = self._reserve(path, policy, self._earlier)
        final.parent.mkdir(parents=True, exist_ok=True)
        is_earlier = final in self._earlier
        self._earlier.discard(final)
        return final, is_earlier

    def _reserve(
        self, path: str | os.PathLike[str], policy: OutputPolicy, earlier: set[Path]
    ) -> Path:
        final = resolve(path)
        if final in self.declared:
            return final
        if final in earlier:
            return self._registry.reserve(self._job, [final])[0]
        if policy is OutputPolicy.RENAME:
            return self._registry.reserve_unused_path(self._job, path)
        if policy is OutputPolicy.WAIT and os.path.lexists(final):
            raise OutputBusy(f"{final} exists; this job waits until it is moved or deleted")
        return self._registry.reserve(self._job, [final])[0]

    async def publish(self, output: OpenOutput) -> Path | None:
        publishing = start_in_thread(_publish, output)
        try:
            return (await await_thread(publishing))[0]
        finally:
            if publishing.exception() is None:  # also if the task was cancelled meanwhile
                self._record_published(output, *publishing.result())

    def _record_published(self, output: OpenOutput, published: Path | None, file: str) -> None:
        name, body = self._record(output, published, file)
        self._link.store_value_soon(name, body)
        self._stored_values[name] = body
        if published is not None and published != output.final:
            # Another program took the name first; `ctx.outputs` shows the numbered name.
            self.declared = [published if p == output.final else p for p in self.declared]

    async def discard(self, output: OpenOutput) -> None:
        await in_thread(discard, output.temporary)

    def _record(
        self, output: OpenOutput, published: Path | None, file: str = ""
    ) -> tuple[str, str]:
        record = OutputRecord(
            final=str(output.final),
            temporary=str(output.temporary),
            policy=output.policy,
            published=None if published is None else str(published),
            host=socket.gethostname(),
            file=file,
        )
        return _PREFIX + _record_name(output.final), msgspec.json.encode(record).decode()
