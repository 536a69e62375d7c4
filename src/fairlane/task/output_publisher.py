"""The outputs of one attempt: written aside, published whole, remembered before the first byte.

What is being written is kept durably first (`output:…`), so that after a crash at any line somebody
knows which half-written file to remove; and again when it is published, so that `delete` on cancel
knows what this job made. Nobody waits for the second: what is published is there already, and if
the process dies before that is known, waiting would not have made it known.
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


def records(kept: Mapping[str, str]) -> list[OutputRecord]:
    return [
        msgspec.json.decode(body, type=OutputRecord)
        for name, body in kept.items()
        if name.startswith(_PREFIX)
    ]


def published_paths(kept: Mapping[str, str]) -> set[Path]:
    """What a job has published so far; a later attempt may replace it, whatever the policy."""
    return {Path(r.published) for r in records(kept) if r.published is not None}


def has_half_written(kept: Mapping[str, str]) -> bool:
    """Tell whether there may be something half written."""
    return any(r.published is None for r in records(kept))


def remove_half_written(kept: Mapping[str, str]) -> list[Path]:
    """Remove what an attempt left half written; nothing else has such a name, on any host."""
    return remove_leftovers(r for r in records(kept) if r.published is None)


def remove_published_outputs(kept: Mapping[str, str], *, everywhere: bool = False) -> list[Path]:
    """Remove what a job has published, because its canceller said so.

    On another host the same path is another file, unless all there is runs on one.
    """
    here = [r.published for r in records(kept) if everywhere or r.is_here]
    return remove_published(path for path in here if path is not None)


def outputs_on_other_hosts(kept: Mapping[str, str], *, finished: bool) -> dict[str, dict[str, str]]:
    """Return, by host, what only others can remove: what is half written, or the rest as well."""
    found: dict[str, dict[str, str]] = {}
    for name, body in kept.items():
        if name.startswith(_PREFIX):
            record = msgspec.json.decode(body, type=OutputRecord)
            if not record.is_here and (finished or record.published is None):
                found.setdefault(record.host, {})[name] = body
    return found


def remove_all_outputs(kept: Mapping[str, str]) -> None:
    """Remove both, as somebody on another host has asked."""
    removed = [*remove_published_outputs(kept), *remove_half_written(kept)]
    if removed:
        log.info("removed %s, as the leader asked", ", ".join(map(str, removed)))


def _name(path: Path) -> str:
    """Name an output by its path, or by a digest: a path may be longer than any name."""
    text = str(path)
    long = len(text.encode(errors="replace")) > LONGEST_NAME
    return hashlib.blake2b(os.fsencode(text), digest_size=16).hexdigest() if long else text


class OutputPublisher:
    def __init__(
        self,
        job: str,
        attempt: int,
        registry: OutputRegistry,
        link: WorkerLink,
        kept: dict[str, str],
        *,
        policy: OutputPolicy,
        declared: Iterable[Path] = (),
    ) -> None:
        self._job = job
        # Of its own for each attempt: one that counts as dead may still write, or be tidied up
        # after, while the next one writes.
        self._writer = f"{job}.{attempt}"
        self._registry = registry
        self._link = link
        self._kept = kept
        self._policy = policy
        self.declared = list(declared)
        self._earlier = published_paths(kept)  # by attempts before this one: they are made anew

    async def open(self, path: str | os.PathLike[str], on_exists: str | None) -> OpenOutput:
        policy = OutputPolicy(on_exists) if on_exists is not None else self._policy
        final = await in_thread(self._prepare, path, policy)
        if final in self._earlier:
            self._earlier.discard(final)
            policy = OutputPolicy.OVERWRITE
        output = OpenOutput(final, temporary_name(final, self._writer), policy)
        name, body = self._recorded(output, None)
        await self._link.store_value(name, body)
        self._kept[name] = body
        return output

    def _prepare(self, path: str | os.PathLike[str], policy: OutputPolicy) -> Path:
        final = self._take(path, policy)
        final.parent.mkdir(parents=True, exist_ok=True)
        return final

    def _take(self, path: str | os.PathLike[str], policy: OutputPolicy) -> Path:
        final = resolve(path)
        if final in self.declared:
            return final
        if final in self._earlier:
            return self._registry.reserve(self._job, [final])[0]
        if policy is OutputPolicy.RENAME:
            return self._registry.reserve_unused_path(self._job, path)
        if policy is OutputPolicy.WAIT and os.path.lexists(final):
            raise OutputBusy(f"{final} exists and this job waits for it to be taken away")
        return self._registry.reserve(self._job, [final])[0]

    async def publish(self, output: OpenOutput) -> Path | None:
        publishing = start_in_thread(publish, output.temporary, output.final, output.policy)
        try:
            return await await_thread(publishing)
        finally:
            if publishing.exception() is None:  # also if who awaited it was cancelled meanwhile
                self._remember(output, publishing.result())

    def _remember(self, output: OpenOutput, published: Path | None) -> None:
        name, body = self._recorded(output, published)
        self._link.store_value_soon(name, body)
        self._kept[name] = body
        if published is not None and published != output.final:
            # Somebody was faster and took the name; the task is told the one it got.
            self.declared = [published if p == output.final else p for p in self.declared]

    async def discard(self, output: OpenOutput) -> None:
        await in_thread(discard, output.temporary)

    def _recorded(self, output: OpenOutput, published: Path | None) -> tuple[str, str]:
        record = OutputRecord(
            final=str(output.final),
            temporary=str(output.temporary),
            policy=output.policy,
            published=None if published is None else str(published),
            host=socket.gethostname(),
        )
        return _PREFIX + _name(output.final), msgspec.json.encode(record).decode()
