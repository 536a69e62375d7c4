"""The page of the extractor and its HTTP API, at `/` beside Fairlane's console and API."""

from fairlane_extractor.site.application import build_with_site
from fairlane_extractor.site.task_view import Task, TaskPage, TaskStatus
from fairlane_extractor.site.tasks import Tasks

__all__ = ["Task", "TaskPage", "TaskStatus", "Tasks", "build_with_site"]
