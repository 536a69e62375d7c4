"""The compressor behind its page: a file is uploaded, compressed and downloaded."""

from pathlib import Path

from apps.compressor.tests.clips import photo, tidy
from fairlane import Fairlane
from fairlane_compressor.program import build
from tests.support.talking import reaches, said, submitted, talking


async def test_a_file_is_sent_compressed_and_fetched(tmp_path: Path, files: Path) -> None:
    content = photo(files / "a.jpg").read_bytes()
    app = build("memory://", uploads=tmp_path / "uploads")
    async with talking(app) as client:
        sent = said(
            await client.post("/api/files", params={"name": "my photo.jpg"}, content=content,
                              headers={"Content-Type": "application/octet-stream"}),
            201,
        )  # fmt: skip
        params = {"source": sent["path"], "preset": "small"}
        job = await submitted(client, "compress", params=params)
        view = await reaches(client, job["id"], "completed")
        fetched = await client.get(f"/api/jobs/{job['id']}/artifacts/0")
        task = said(await client.get("/api/tasks"), 200)

    assert view["lane"] == f"my photo.jpg, preset small in {tmp_path / 'uploads'}"
    assert view["statistics"]["saved_bytes"] == view["result"]["saved_bytes"] > 0
    assert len(fetched.content) == view["result"]["after_bytes"] < len(content)
    assert tidy(tmp_path / "uploads") == ["my photo-small.jpg", "my photo.jpg"]
    assert '"format":"file"' in str(task).replace("'", '"').replace(" ", "")


async def test_the_form_says_what_each_parameter_is_for(app: Fairlane) -> None:
    async with app:
        schema = (await app._submissions.task_schemas())["compress"].parameters
    assert [name for name, one in schema["properties"].items() if "description" not in one] == []
    assert {"minimum": 1, "maximum": 100, "type": "integer"} in schema["properties"]["quality"][
        "anyOf"
    ]
