"""Links of the OpenAPI document: where to go from an answer, for clients that find their way."""

from typing import Any, Final

JOB: Final = (
    "show_job", "job_log", "explain_job", "cancel_job", "retry_job", "rerun_job", "move_job",
    "set_priority", "skip_job",
)  # fmt: skip
SCHEDULE: Final = (
    "show_schedule", "list_firings", "change_schedule", "delete_schedule", "fire_schedule",
)  # fmt: skip
DEVICE: Final = ("show_device", "change_device", "delete_device")
LANE: Final = ("show_lane", "start_lane", "continue_lane", "cancel_lane", "forget_lane")


def to(operations: tuple[str, ...], **parameters: str) -> dict[str, Any]:
    """Say that these operations take parameters from the fields of this answer."""
    given = {name: f"$response.body#/{field}" for name, field in parameters.items()}
    return {
        "links": {
            operation: {"operationId": operation, "parameters": given} for operation in operations
        }
    }


TO_JOB: Final = to(JOB, id="id")
TO_SCHEDULE: Final = to(SCHEDULE, id="name")
TO_DEVICE: Final = to(DEVICE, id="name")
TO_LANE: Final = to(LANE, queue="queue", lane="lane")
