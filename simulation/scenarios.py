"""Short scripts, each about one guarantee, for kills at every call to the store."""

from typing import Final

from fairlane import Priority
from simulation.script import (
    Steps,
    close,
    command_job,
    configure,
    explain,
    move_next_to,
    set_clock,
    sleep,
    submit,
    wait,
    with_standby,
)

SCENARIOS: Final[dict[str, Steps]] = {
    "one job": [submit("plain", name="a"), wait("a")],
    "a batch": [submit("plain", name="a", count=5), wait("a")],
    "three in a lane": [
        *(submit("laned", name=name, lane="a") for name in "abc"), wait("c"),
    ],
    "two lanes": [
        submit("laned", name="a", lane="a", count=2), submit("laned", name="b", lane="b", count=2),
        wait("a"), wait("b"),
    ],
    "a failure tried again": [
        submit("laned", name="a", lane="a", ends=("again", "ok")),
        submit("laned", name="b", lane="a"), wait("b"),
    ],
    "a failure for good": [submit("plain", name="a", ends=("final",)), wait("a")],
    "retries used up": [submit("plain", name="a", ends=("again",), seconds=(0.1,)), wait("a")],
    "a time-out": [submit("timed", name="a", ends=("hang", "ok")), wait("a")],
    "cancel while it waits": [
        configure("pause", "line"), submit("plain", name="a"), command_job("cancel", "a"),
        wait("a"), configure("resume", "line"),
    ],
    "cancel while it runs": [
        submit("plain", name="a", seconds=(3.0,)), sleep(0.5), command_job("cancel", "a"),
        wait("a"),
    ],
    "cancel what does not stop": [
        submit("plain", name="a", seconds=(3.0,), ends=("stubborn",)), sleep(0.5),
        command_job("cancel", "a"), wait("a"),
    ],
    "skip": [configure("pause", "line"), submit("plain", name="a"), command_job("skip", "a"),
             configure("resume", "line"), wait("a")],
    "retry by hand": [submit("plain", name="a", ends=("final", "ok")), wait("a"),
                      command_job("retry", "a"), wait("a")],
    "rerun": [submit("plain", name="a"), wait("a"), command_job("rerun", "a")],
    "pause and resume": [
        configure("pause", "line"), submit("plain", name="a", count=2), sleep(1.0), explain("a"),
        configure("resume", "line"), wait("a"),
    ],
    "stop after current": [
        submit("plain", name="a", count=4), configure("pause", "line", after_current=True),
        sleep(1.0), configure("resume", "line"), wait("a"),
    ],
    "a limit lowered and raised": [
        submit("plain", name="a", count=6), configure("set_max_concurrent", "line", 1), sleep(1.0),
        configure("set_max_concurrent", "line", 3), wait("a"),
    ],
    "a rate": [submit("limited", name="a", count=5, seconds=(0.1,)), explain("a"), wait("a")],
    "a rate lowered": [
        submit("limited", name="a", count=4, seconds=(0.1,)), configure("set_rate", "api", 1),
        wait("a"),
    ],
    "a resource": [
        submit("drawing", name="a", count=4), configure("set_amount", "gpu", 1), wait("a"),
    ],
    "moves": [
        configure("pause", "line"), submit("plain", name="a"), submit("plain", name="b"),
        submit("plain", name="c"), configure("set_max_concurrent", "line", 1),
        command_job("move", "c", to="head"), move_next_to("a", "b", where="after"),
        configure("resume", "line"), wait("a"),
    ],
    "priorities": [
        configure("pause", "line"), configure("set_max_concurrent", "line", 1),
        submit("plain", name="a", count=3), submit("plain", name="low", priority=Priority.LOW),
        submit("plain", name="high", priority=Priority.HIGH),
        command_job("prioritize", "low", priority=Priority.HIGH), configure("resume", "line"),
        wait("a"),
    ],
    "a dedupe key": [
        submit("unique", name="a", key="k1", seconds=(1.0,)),
        submit("unique", name="b", key="k1"), wait("a"), submit("unique", name="c", key="k1"),
        wait("c"),
    ],
    "a lane that rejects": [
        submit("single", name="a", lane="a", seconds=(1.0,)), submit("single", name="b", lane="a"),
        wait("a"), submit("single", name="c", lane="a"), wait("c"),
    ],
    "a lane that merges": [
        submit("merged", name="a", lane="a", seconds=(1.0,)),
        submit("merged", name="b", lane="a", seconds=(1.0,)), wait("a"),
    ],
    "a strict line": [
        submit("strict", name="a", ends=("again", "ok"), seconds=(0.2,)),
        submit("strict", name="b", count=3, seconds=(0.2,)), wait("b"),
    ],
    "turns of buckets": [
        configure("pause", "rounds"), submit("turning", name="a", lane="a", count=2),
        submit("turning", name="b", lane="b", count=2), configure("resume", "rounds"), wait("a"),
        wait("b"),
    ],
    "due later": [submit("plain", name="a", after=3.0), explain("a"), wait("a")],
    "dependencies": [
        submit("plain", name="a", seconds=(1.0,)), submit("plain", name="b", on=("a",)),
        submit("plain", name="c", ends=("final",)), submit("plain", name="d", on=("c", "b")),
        wait("b"), wait("d"),
    ],
    "stages": [submit("staged", name="a", lane="a", ends=("again", "ok")), wait("a")],
    "a firing by hand": [configure("fire"), sleep(3.0)],
    "firings on time": [sleep(49.0)],
    "a clean end in the middle": [
        submit("laned", name="a", lane="a", seconds=(5.0,)), submit("laned", name="b", lane="a"),
        close(), wait("b"),
    ],
    "a standby takes over": [
        with_standby(), submit("laned", name="a", lane="a", count=2),
        submit("plain", name="b", count=3), wait("a"), wait("b"),
    ],
    "the clock is set back": [
        submit("limited", name="a", count=4, seconds=(0.1,)),
        submit("plain", name="b", ends=("again", "ok")), set_clock(-30.0), wait("a"), wait("b"),
    ],
}  # fmt: skip
