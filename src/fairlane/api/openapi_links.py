"""Links in the OpenAPI document: the operations that accept the ids in a response."""

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


def links_to(operations: tuple[str, ...], **parameters: str) -> dict[str, Any]:
    """Return links to operations whose parameters are fields of this response."""
    given = {name: f"$response.body#/{field}" for name, field in parameters.items()}
    return {
        "links": {
            operation: {"operationId": operation, "parameters": given} for operation in operations
        }
    }


TO_JOB: Final = links_to(JOB, id="id")
TO_SCHEDULE: Final = links_to(SCHEDULE, id="name")
TO_DEVICE: Final = links_to(DEVICE, id="name")
TO_LANE: Final = links_to(LANE, queue="queue", lane="lane")
