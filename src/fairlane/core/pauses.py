"""Pauses of queues.

A paused queue starts no job. A queue that stops after its current jobs is `after_current` until the
last of them has ended, then `paused`. Only such a stop ends the wait of a program that drains the
queue (`ends_drain`), from then until the next pause or resume.
"""

from typing import Any

import msgspec

from fairlane.core.board import Board
from fairlane.core.inputs import Pause, Resume
from fairlane.core.queues import Queue


def pause(board: Board, command: Pause) -> dict[str, Any]:
    queue = board.queue(command.queue)
    stops_later = command.after_current and bool(queue.running)
    queue.paused = "after_current" if stops_later else "paused"
    queue.ends_drain = command.after_current
    return store_queue(board, queue)


def resume(board: Board, command: Resume) -> dict[str, Any]:
    queue = board.queue(command.queue)
    queue.paused = None
    queue.ends_drain = False
    return store_queue(board, queue)


def end_stop(board: Board, queue: Queue) -> None:
    """Pause a queue that stops after its current jobs, if none of them runs any more."""
    if queue.paused == "after_current" and not queue.running:
        queue.paused = "paused"
        store_queue(board, queue)


def store_queue(board: Board, queue: Queue) -> dict[str, Any]:
    board.queues_to_check[queue.name] = None
    board.changes.records["queue", queue.name] = queue.encode()
    data = queue_view(queue)
    board.add_event("queue_changed", None, queue.name, data)
    return data


def queue_view(queue: Queue) -> dict[str, Any]:
    settings = msgspec.to_builtins(queue.settings)
    return {"name": queue.name, "paused": queue.paused, "settings": settings}
