"""The surface of an app: few names of its own, and the nouns that HTTP and console have too."""

import pytest

from fairlane import Fairlane, Job, NotFound
from fairlane.sync import Sync
from fairlane.testing import running

NOUNS = {
    "jobs", "queues", "lanes", "schedules", "devices", "limits", "events", "workers",
}  # fmt: skip
MOST_NAMES = 25


def test_an_app_has_few_public_names() -> None:
    names = {name for name in dir(Fairlane("memory://")) if not name.startswith("_")}
    assert names >= NOUNS
    assert len(names) <= MOST_NAMES, sorted(names)


async def test_a_handle_is_created_without_checking_that_its_job_exists() -> None:
    app = Fairlane("memory://")
    async with running(app):
        job = app.jobs.handle("nowhere")
        assert isinstance(job, Job)
        with pytest.raises(NotFound):
            await job.show()


def test_every_noun_has_calls_without_await() -> None:
    app = Fairlane("memory://")

    @app.task
    def double(n: int) -> int:
        return 2 * n

    assert all(isinstance(getattr(app.sync, noun), Sync) for noun in NOUNS)
    with app:
        app.sync.queues.pause("default")
        assert app.sync.queues.list()["default"].paused == "paused"
        app.sync.queues.resume("default")
        job = app.sync.jobs.handle(app.sync.jobs.submit_by_name("double", {"n": 21}).id)
        assert job.wait() == 42
        assert job.show().result == 42
