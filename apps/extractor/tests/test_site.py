"""The site as `fairlane-extract serve` serves it: a real process, with real extractions."""

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from apps.extractor.tests.clips import copied_clip
from tests.support.eventually import eventually
from tests.support.talking import said


@asynccontextmanager
async def served(folder: Path, **environment: str) -> AsyncIterator[tuple[str, Any]]:
    """Run the server; yield its host with port, and the process."""
    server = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "fairlane_extractor", "serve", "--port", "0",
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "FAIRLANE_EXTRACT_FOLDER": str(folder), **environment},
    )  # fmt: skip
    assert server.stdout is not None
    try:
        line = (await server.stdout.readline()).decode()
        found = re.search(r"http://(\S+)", line)
        assert found, line
        yield found[1], server
    finally:
        if server.returncode is None:
            server.kill()
        await server.communicate()


async def test_an_uploaded_clip_becomes_text_and_the_server_stops_at_once(tmp_path: Path) -> None:
    cues = [(0.2, 1.0, "The river is wide."), (1.1, 1.8, "We crossed the bridge.")]
    clip = copied_clip(tmp_path / "walk.mp4", sound="none", tracks=[("en", cues)])
    async with (
        served(tmp_path / "data") as (place, server),
        httpx.AsyncClient(base_url=f"http://{place}") as client,
        connect(f"ws://{place}/api/ws") as socket,
    ):
        assert json.loads(await socket.recv()) == {"type": "ready"}
        assert "<!doctype html>" in (await client.get("/")).text
        uploaded = await client.post(
            "/queue/api/files?name=a%20walk.mp4", content=clip.read_bytes(),
            headers={"Content-Type": "application/octet-stream"},
        )  # fmt: skip
        options = {"speech": "never", "frames": "never"}
        body = {"input": said(uploaded, 201)["path"], "options": options}
        task = said(await client.post("/api/tasks", json=body), 201)

        async def ended() -> Any:
            shown = said(await client.get(f"/api/tasks/{task['id']}"), 200)
            return shown if shown["status"] in ("completed", "failed") else None

        shown = await eventually(ended)
        assert (shown["status"], shown["error"]) == ("completed", None)
        stages = {name: stage["status"] for name, stage in shown["stage_progress"].items()}
        assert stages == {
            "parsing": "done", "downloading": "done", "subtitle": "done", "asr": "skipped",
            "ocr": "skipped", "merge": "done",
        }  # fmt: skip
        address = f"/api/tasks/{task['id']}"
        text = (await client.get(f"{address}/result?format=txt")).text
        assert " ".join(text.split()) == "The river is wide. We crossed the bridge."
        media = await client.get(f"{address}/media", headers={"Range": "bytes=0-99"})
        assert (media.status_code, media.content) == (206, clip.read_bytes()[:100])
        hits = said(await client.get("/api/search?q=bridge"), 200)["items"]
        assert [hit["id"] for hit in hits] == [task["id"]]
        jobs = said(await client.get("/queue/api/jobs"), 200)["items"]
        assert [job["id"] for job in jobs] == [task["id"]]

        server.send_signal(signal.SIGTERM)  # the open connection does not delay the end
        with suppress(ConnectionClosed):
            async for _ in socket:
                pass
        assert socket.close_code == 1012
        async with asyncio.timeout(20):
            assert await server.wait() == 0
