"""Check that a path is on a local file system, where SQLite's locks and shared memory work."""

import re
from pathlib import Path
from typing import Final

from fairlane.errors import StoreUnavailable

NETWORK: Final = frozenset(
    {
        "9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "fuse.ceph", "fuse.davfs2",
        "fuse.gcsfuse", "fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "fuse.sshfs", "gfs2",
        "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "smb2", "smb3", "smbfs", "vboxsf",
    }
)  # fmt: skip

MOUNTS: Final = Path("/proc/self/mountinfo")


def refuse_network_file_system(path: Path, *, mounts: str | None = None) -> None:
    """Raise if the file is, or would be, on a network file system.

    On a system that does not list its mounts the path is accepted.
    """
    if mounts is None:
        try:
            mounts = MOUNTS.read_text()
        except OSError:
            return
    kind = kind_of_mount(path, mounts)
    if kind in NETWORK:
        raise StoreUnavailable(
            f"{path} is on a network file system ({kind}), where SQLite can lose data; put the "
            "database on a local disk",
            path=str(path),
            kind=kind,
        )


def kind_of_mount(path: Path, mounts: str) -> str | None:
    """Return the type of the file system that a path is on, as /proc/self/mountinfo names it."""
    place = path.resolve()
    found: tuple[int, str] | None = None
    for line in mounts.splitlines():
        left, separator, right = line.partition(" - ")
        fields = left.split()
        if not separator or len(fields) < 5:
            continue
        point = Path(_unescaped(fields[4]))
        depth = len(point.parts)
        # Of two mounts on one point, the later one hides the earlier one.
        if place.is_relative_to(point) and (found is None or depth >= found[0]):
            found = depth, right.split()[0]
    return found[1] if found else None


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)
