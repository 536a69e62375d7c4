"""A notice: one hook has to be called for one end of a job."""

import msgspec
from msgspec import Struct

from fairlane.core.live_job import JobId

NOTICE_KIND = "notice"  # the kind of the records that hold failed notices


class Notice(Struct, kw_only=True, omit_defaults=True):
    """The end of a job, by the number of its event; `tries` counts failed calls of the hook.

    A notice becomes a record when its first try has failed, and the record is deleted when a try
    has succeeded, or after `until`.
    """

    hook: str
    seq: int
    job: JobId
    ended_at: float
    until: float = 0.0
    tries: int = 0
    tried_at: float = 0.0
    error: str = ""

    @property
    def record_name(self) -> str:
        return f"{self.seq}:{self.hook}"

    def encode(self) -> str:
        return msgspec.json.encode(self).decode()


def hook_of(record_name: str) -> str:
    return record_name.partition(":")[2]


def decode_notice(body: str) -> Notice:
    return msgspec.json.decode(body, type=Notice)
