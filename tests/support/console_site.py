"""A program with its server, and helpers for tests to control both."""

from pathlib import Path
from typing import Any

import httpx

from fairlane import Fairlane
from tests.support.eventually import eventually
from tests.support.followers import WITHOUT_TLS
from tests.support.puppets import Puppets


class Site:
    def __init__(self, app: Fairlane, url: str, puppets: Puppets, folder: Path) -> None:
        self.app = app
        self.url = url
        self.puppets = puppets
        self.folder = folder
        self.api = httpx.AsyncClient(base_url=url, verify=WITHOUT_TLS)

    async def submit(self, task: str, **params: Any) -> str:
        """Submit a job without the page, and return its id."""
        return (await self.app.submit(self.app.tasks[task].call(**params))).id

    async def line(self, *names: str) -> list[str]:
        """Submit puppets to the queue `line`, of which the first runs, and return their ids."""
        jobs = await self.app.submit_many([self.app.tasks["play"].call(name) for name in names])
        await self.reaches(jobs[0].id, "running")
        return [job.id for job in jobs]

    async def get(self, path: str) -> Any:
        answer = await self.api.get(f"/api{path}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def waiting(self, queue: str = "line") -> list[str]:
        """Return the names of the waiting jobs, in order."""
        state = await self.get("/state")
        return [job["params"]["name"] for job in state["waiting"].get(queue, [])]

    async def reaches(self, job: str, *states: str) -> Any:
        """Return the job once it is in one of these states."""

        async def look() -> Any:
            shown = await self.get(f"/jobs/{job}")
            return shown if shown["state"] in states else None

        return await eventually(look, what=f"job {job} {states}")
