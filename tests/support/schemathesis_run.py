"""Test a served API against its own schema: `python -m … <examples per operation>`."""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.support.served import ROOT, serving

TOKEN: Final = "a-token-of-the-tests"  # noqa: S105


def ask_everything(
    examples: int, *options: str, timeout_seconds: float | None = None, shown: bool = False
) -> str:
    """Return the output of Schemathesis if it found a problem, otherwise an empty text.

    `shown` prints its output to the terminal meanwhile, because it takes long.
    """
    with (
        TemporaryDirectory() as folder,
        serving(FAIRLANE_TOKEN=TOKEN, TEST_UPLOADS=f"{folder}/uploads") as server,
    ):
        told = subprocess.run(
            [
                str(Path(sys.executable).with_name("schemathesis")),
                "--config-file", str(ROOT / "tests/api/schemathesis.toml"),
                "run", f"{server.url}/api/openapi.json",
                "--header", f"Authorization: Bearer {TOKEN}",
                "--checks", "all", "--max-examples", str(examples),
                "--continue-on-failure", "--no-color", *options,
            ],
            cwd=folder,
            capture_output=not shown,
            text=True,
            timeout=timeout_seconds,
            check=False,
        )  # fmt: skip
        assert server.process.poll() is None, "the server ended"
    if told.returncode == 0:
        return ""
    return "what it found is above" if shown else told.stdout + told.stderr


def main() -> None:
    trouble = ask_everything(int(sys.argv[1]), *sys.argv[2:], shown=True)
    fine = f"{sys.argv[1]} examples for each operation, and nothing was wrong"
    sys.stdout.write(f"{trouble or fine}\n")
    sys.exit(1 if trouble else 0)


if __name__ == "__main__":
    main()
