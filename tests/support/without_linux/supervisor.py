"""The supervisor on a system without /proc, pidfd and prctl."""

import runpy
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent

runpy.run_path(str(FOLDER / "sitecustomize.py"))
sys.modules["_ctypes"] = None  # type: ignore[assignment]  # without it prctl cannot be called
runpy.run_path(str(FOLDER.parents[2] / "src/fairlane/process/supervisor.py"), run_name="__main__")
