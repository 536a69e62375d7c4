"""Secret parameters at rest: encrypted with `secrets_key`, never lost with a wrong key."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from pydantic import SecretStr

from fairlane import BadSetting, Fairlane, SecretsUnreadable, Task, UsageError
from fairlane.redaction import MASK
from fairlane.testing import FakeClock, World, running
from tests.support.apps import reaches
from tests.support.eventually import eventually
from tests.support.logged import length_of_secret

HIDDEN = "open sesame, not in clear"
KEY, NEXT_KEY, OTHER_KEY = (Fernet.generate_key().decode() for _ in range(3))

MakeApp = Callable[..., tuple[Fairlane, "Task[Any, None]"]]


@pytest.fixture
def received() -> list[str | None]:
    return []


@pytest.fixture
def make_app(tmp_path: Path, received: list[str | None]) -> MakeApp:
    """Make the same program again and again, with other keys, on one database."""

    def make(secrets_key: Any = None) -> tuple[Fairlane, Task[Any, None]]:
        app = Fairlane(
            f"sqlite:///{tmp_path}/work.db", clock=FakeClock(), stop_grace_seconds=0,
            recheck_seconds=0.01, secrets_key=secrets_key,
        )  # fmt: skip
        app.queue("merging", on_conflict="merge")
        app.queue("strict", order="strict", max_concurrent=2)

        @app.task
        async def work(name: str = "", token: SecretStr | None = None) -> None:
            received.append(token.get_secret_value() if token else None)

        return app, work

    return make


def stored_bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir() if path.name.startswith("work."))


async def test_without_a_key_a_secret_is_stored_in_clear(make_app: MakeApp, tmp_path: Path) -> None:
    app, work = make_app()
    async with running(app):
        await (await work.submit(token=SecretStr(HIDDEN))).wait()

    assert HIDDEN.encode() in stored_bytes(tmp_path)


async def test_with_a_key_no_secret_is_in_the_database_in_clear(
    make_app: MakeApp, tmp_path: Path, received: list[str | None]
) -> None:
    app, work = make_app(KEY)
    app.schedule("declared", work.call(token=SecretStr(HIDDEN)), every_seconds=3600)
    async with running(app) as world:
        job = await work.submit("a", SecretStr(HIDDEN))
        await job.wait()
        view = await job.show()
        await app.schedules.save("saved", work.call(token=SecretStr(HIDDEN)), every_seconds=3600)
        await app.schedules.fire("saved")
        await app.lanes.save("default", "x", work.call(token=SecretStr(HIDDEN)))
        await app.lanes.start("default", "x")
        await app.jobs.rerun(job.id)
        keyed = [work.call(token=SecretStr(HIDDEN))]
        first = await app.jobs.submit_once("k", keyed, request="r")
        again = await app.jobs.submit_once("k", keyed, request="r")
        await world.idle()
        lane = await app.lanes.show("default", "x")
        schedules = await app.schedules.list()
        found = await app.jobs.list(text="open sesame")
        files = stored_bytes(tmp_path)

    assert received == [HIDDEN] * 5
    assert first[0].id == again[0].id
    assert b"merging" in files
    assert HIDDEN.encode() not in files
    assert view.params == {"name": "a", "token": MASK}
    assert lane.params == {"task": "work", "params": {"name": "", "token": MASK}}
    assert [schedule.params["token"] for schedule in schedules.values()] == [MASK, MASK]
    assert found.items == []
    assert await _scheduled_token(make_app(KEY)[0]) == HIDDEN


async def _scheduled_token(app: Fairlane) -> str:
    async with running(app):
        _, params = await app.schedules.scheduled_call("saved")
        return str(params["token"])


async def test_a_child_process_receives_the_secret(tmp_path: Path) -> None:
    app = Fairlane(f"sqlite:///{tmp_path}/work.db", clock=FakeClock(), secrets_key=KEY)
    work = app.task(isolation="process")(length_of_secret)
    async with running(app):
        assert await (await work.submit(SecretStr(HIDDEN))).wait() == len(HIDDEN)


async def test_a_precondition_receives_the_secret(make_app: MakeApp) -> None:
    checked: list[str] = []

    def may_sign_in(values: Mapping[str, Any]) -> str | None:
        checked.append(values["token"].get_secret_value())
        return "not yet" if len(checked) == 1 else None

    app, _ = make_app(KEY)

    @app.task(preconditions=[may_sign_in])
    async def sign_in(token: SecretStr) -> int:
        return len(token.get_secret_value())

    async with running(app):
        job = await sign_in.submit(SecretStr(HIDDEN))
        assert await job.wait() == len(HIDDEN)

    assert set(checked) == {HIDDEN}


@pytest.mark.parametrize(
    "wrong", [None, OTHER_KEY, [OTHER_KEY, NEXT_KEY]], ids=["none", "one", "two"]
)
async def test_a_job_with_a_wrong_key_waits_with_one_clear_reason_until_the_key_is_right(
    make_app: MakeApp, received: list[str | None], wrong: Any, caplog: pytest.LogCaptureFixture
) -> None:
    app, work = make_app(KEY)
    async with running(app):
        await app.queues.pause("default")
        job = await work.submit("a", SecretStr(HIDDEN))

    app, _ = make_app(wrong)
    async with running(app) as world:
        await app.queues.resume("default")
        await reaches(app.jobs.handle(job.id), "blocked")
        await _rechecked(world)
        view = await app.jobs.show(job.id)
        events = [view.state, view.attempt, view.error]
        [reason] = view.waiting_for
        other = await app.jobs.submit_by_name("work", {"name": "without a secret"})
        await other.wait()

    assert events == ["blocked", 0, None]
    assert reason.code == "secrets_unreadable"
    assert "secrets_key" in reason.message
    assert HIDDEN not in reason.message
    assert len([r for r in caplog.records if "secrets_key" in r.getMessage()]) == 1
    assert received == [None]

    app, _ = make_app(KEY)
    async with running(app) as world:
        await world.idle()
        await app.jobs.wait(job.id)
    assert received == [None, HIDDEN]


async def test_a_strict_head_whose_secrets_cannot_be_read_is_not_passed(
    make_app: MakeApp, received: list[str | None]
) -> None:
    app, work = make_app(KEY)
    async with running(app):
        await app.queues.pause("strict")
        head = await work.options(queue="strict").submit("head", SecretStr(HIDDEN))
        await work.options(queue="strict").submit("next")

    app, _ = make_app(OTHER_KEY)
    async with running(app) as world:
        await app.queues.resume("strict")
        await reaches(app.jobs.handle(head.id), "blocked")
        await world.idle()
    assert received == []

    app, _ = make_app(KEY)
    async with running(app) as world:
        await world.idle()
    assert received == [HIDDEN, None]


async def _rechecked(world: World) -> None:
    """Return after the preconditions of blocked jobs were checked again, twice."""
    for _ in range(2):
        await world.app._engine.worker.recheck_preconditions()
        await world.idle()


async def test_a_list_of_keys_encrypts_with_the_first_and_reads_with_all(
    make_app: MakeApp, received: list[str | None]
) -> None:
    app, work = make_app(KEY)
    async with running(app):
        await app.queues.pause("default")
        await work.submit("old", SecretStr("old secret"))

    app, work = make_app([NEXT_KEY, KEY])
    async with running(app) as world:
        new = await work.submit("new", SecretStr("new secret"))
        await app.queues.resume("default")
        await world.idle()
    assert received == ["old secret", "new secret"]

    app, _ = make_app(NEXT_KEY)
    async with running(app) as world:
        await app.jobs.rerun(new.id)
        await world.idle()
    assert received[2:] == ["new secret"]


async def test_a_secret_that_was_stored_in_clear_is_read_after_a_key_was_set(
    make_app: MakeApp, received: list[str | None]
) -> None:
    app, work = make_app()
    async with running(app):
        await app.queues.pause("default")
        await work.submit("a", SecretStr('{"fernet": "looks like one"}'))

    app, _ = make_app(KEY)
    async with running(app) as world:
        await app.queues.resume("default")
        await world.idle()
    assert received == ['{"fernet": "looks like one"}']


async def test_equal_calls_are_merged_though_their_ciphertexts_differ(make_app: MakeApp) -> None:
    app, work = make_app(KEY)
    options = work.options(queue="merging", lane="x")
    async with running(app):
        await app.queues.pause("merging")
        first = await options.submit("a", SecretStr(HIDDEN))
        second = await options.submit("a", SecretStr(HIDDEN))

    assert (second.id, second.merged) == (first.id, True)


async def test_a_digest_does_not_allow_guesses_of_a_secret(make_app: MakeApp) -> None:
    digests = []
    for key in (None, KEY, NEXT_KEY):
        _, work = make_app(key)
        call = work.options(lane="x").call("a", SecretStr(HIDDEN))
        digests.append(call.submission().digest)

    assert len(set(digests)) == 3


async def test_a_saved_lane_or_schedule_with_a_wrong_key_is_refused_with_a_clear_error(
    make_app: MakeApp,
) -> None:
    app, work = make_app(KEY)
    async with running(app):
        await app.lanes.save("default", "x", work.call(token=SecretStr(HIDDEN)))
        await app.schedules.save("saved", work.call(token=SecretStr(HIDDEN)), every_seconds=3600)

    app, _ = make_app(OTHER_KEY)
    async with running(app):
        with pytest.raises(SecretsUnreadable, match="secrets_key"):
            await app.lanes.start("default", "x")
        with pytest.raises(SecretsUnreadable, match="secrets_key"):
            await app.schedules.scheduled_call("saved")
        assert (await app.lanes.show("default", "x")).params is not None


async def test_a_process_without_the_key_cannot_store_a_secret_in_clear(
    make_app: MakeApp, tmp_path: Path
) -> None:
    app, _ = make_app(KEY)
    async with running(app):
        await eventually(lambda: app._store.records("task"))

    stranger = Fairlane(f"sqlite:///{tmp_path}/work.db", clock=FakeClock(), work=False)
    async with running(stranger):
        with pytest.raises(UsageError, match="FAIRLANE_SECRETS_KEY"):
            await stranger.jobs.submit_by_name("work", {"token": HIDDEN})
        await stranger.jobs.submit_by_name("work", {"name": "without a secret"})


def test_the_key_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRLANE_SECRETS_KEY", f"{NEXT_KEY},{KEY}")
    app = Fairlane("memory://")

    @app.task
    async def work(token: SecretStr) -> None: ...

    assert HIDDEN not in work.call(SecretStr(HIDDEN)).submission().params


@pytest.mark.parametrize("bad", ["", "short", b"also short", [], [KEY, "short"], 7, "ä" * 44])
def test_a_key_that_is_none_is_refused_without_quoting_it(bad: Any) -> None:
    with pytest.raises(BadSetting, match="secrets_key") as raised:
        Fairlane("memory://", secrets_key=bad)
    assert "short" not in str(raised.value)
    assert KEY not in str(raised.value)
