"""The rules in each process: reloads, lost connections, forks and dead processes."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from apps.dnslog.tests.rule_examples import custom, draft
from fairlane_dnslog.database import Database, open_database
from fairlane_dnslog.rules.listeners import open_listener
from fairlane_dnslog.rules.process_rows import (
    ProcessRow,
    process_name,
    read_processes,
    running_processes,
    write_process,
)
from fairlane_dnslog.rules.rule_store import save_rule
from fairlane_dnslog.rules.wake_pipe import WakePipe
from fairlane_dnslog.rules.watch import RuleWatch
from tests.support.eventually import eventually_sync
from tests.support.postgres import given_dsn, running_postgres

INSERT = "INSERT INTO rule (name, kind) VALUES (:name, 'protection_off')"
SLOW_SECONDS = 60.0  # ends a broken test


@contextmanager
def watching(database: Database) -> Iterator[RuleWatch]:
    watch = RuleWatch(database)
    watch.start()
    try:
        yield watch
    finally:
        watch.stop()


def wait(probe: Callable[[], object]) -> None:
    eventually_sync(lambda: bool(probe()), within_seconds=SLOW_SECONDS)


def processes(database: Database) -> list[ProcessRow]:
    with database.reading() as tx:
        return read_processes(tx)


def insert(database: Database, name: str = "By hand") -> None:
    with database.transaction() as tx:
        tx.run(INSERT, name=name)


def watch_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "dnslog-rules"]


def test_only_processes_that_live_count_as_running(database: Database) -> None:
    def running() -> tuple[str, ...]:
        with database.reading() as tx:
            return running_processes(tx, now=time.time())

    dead = f"dnslog {process_name().split()[1]} 1 1"
    with watching(database):
        wait(lambda: running() == (process_name(),))
        with database.transaction() as tx:
            write_process(tx, ProcessRow(process=dead, version=0, loaded_at=time.time()))
            assert running_processes(tx, now=time.time()) == (process_name(),)
    assert running() == ()


def test_a_saved_rule_arrives_in_every_watch(database: Database, address: str) -> None:
    with (
        closing(open_database(address)) as other,
        watching(database) as first,
        watching(other) as second,
    ):
        rule = save_rule(other, draft(), actor="ann", now=1.0)
        wait(lambda: first.current().rules == second.current().rules == (rule,))
        insert(database)  # by plain SQL
        wait(lambda: len(first.current().rules) == len(second.current().rules) == 2)


def test_callbacks_get_each_version_once_and_in_order(database: Database) -> None:
    versions: list[int] = []
    with watching(database) as watch:
        watch.on_change(lambda _: [][0])  # its error does not concern the others
        watch.on_change(versions.append)
        for number in range(20):
            insert(database, f"Rule {number}")
            watch.reload()
        wait(lambda: versions and versions[-1] == 20)
    assert versions == sorted(set(versions))


def test_rules_are_there_before_the_start(database: Database) -> None:
    insert(database)
    assert len(RuleWatch(database).current().rules) == 1
    assert processes(database) == []


def test_many_starts_by_many_threads_make_one_watch(database: Database) -> None:
    before = len(watch_threads())
    watch = RuleWatch(database)
    starts = [threading.Thread(target=watch.start) for _ in range(20)]
    for thread in starts:
        thread.start()
    for thread in starts:
        thread.join()
    try:
        assert len(watch_threads()) == before + 1
        wait(lambda: len(processes(database)) == 1)
    finally:
        watch.stop()
    assert len(watch_threads()) == before
    assert processes(database) == []
    with watching(database):  # a stopped one can be replaced
        wait(lambda: len(processes(database)) == 1)


def test_many_saves_and_reloads_at_once_end_in_the_last_state(database: Database) -> None:
    seen: list[int] = []
    with watching(database) as watch:

        def work(number: int) -> None:
            for turn in range(3):
                given = custom(f"Rule {number}.{turn}", "||a.example^")
                save_rule(database, given, actor="ann", now=1.0)
                before = watch.current().version
                after = watch.reload().version
                seen.append(after - before)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        wait(lambda: watch.current().version == 15)
        assert len(watch.current().rules) == 15
        wait(lambda: [row.version for row in processes(database)] == [15])
    assert min(seen) >= 0


def test_the_row_of_a_dead_process_is_removed(database: Database) -> None:
    host = os.uname().nodename
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    with database.transaction() as tx:
        for process in (f"dnslog {host} {dead.pid} 1", f"dnslog {host} {os.getpid()} 1", "other"):
            write_process(tx, ProcessRow(process=process, version=1, loaded_at=1.0))
    with watching(database):
        wait(lambda: len(processes(database)) == 1)
        assert str(os.getpid()) in processes(database)[0].process


def test_a_fork_inherits_neither_the_thread_nor_the_rules(
    database: Database, address: str, tmp_path: Path
) -> None:
    program = tmp_path / "forking.py"
    program.write_text(FORKING, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", str(program), address],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["child: stopped", "child: 1 rule", "parent: 2 rules"]
    assert processes(database) == []


FORKING = """
import os
import sys
import threading

from fairlane_dnslog.database import open_database
from fairlane_dnslog.rules.process_rows import read_processes
from fairlane_dnslog.rules.watch import RuleWatch

INSERT = "INSERT INTO rule (name, kind) VALUES ('By hand', 'protection_off')"
database = open_database(sys.argv[1])
watch = RuleWatch(database)
versions = {number: threading.Event() for number in range(5)}
watch.on_change(lambda version: versions[version].set())
watch.start()
assert versions[0].wait(60)


def insert():
    with database.transaction() as tx:
        tx.run(INSERT)


child = os.fork()
if child == 0:
    for event in versions.values():
        event.clear()
    print("child:", "running" if watch.is_running else "stopped")
    watch.start()
    assert versions[0].wait(60)
    insert()
    assert versions[1].wait(60)
    print("child:", len(watch.current().rules), "rule", flush=True)
    watch.stop()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert versions[1].wait(60)
insert()
assert versions[2].wait(60)
print("parent:", len(watch.current().rules), "rules")
watch.stop()
"""


def test_a_change_during_another_query_of_the_listener_is_noticed(database: Database) -> None:
    pipe = WakePipe()
    listener = open_listener(database, process="dnslog test 1 1")
    try:
        insert(database)
        listener.alive_processes()
        waiting = threading.Thread(target=listener.wait, args=(pipe.reader,), daemon=True)
        waiting.start()
        waiting.join(SLOW_SECONDS)
        assert not waiting.is_alive()
    finally:
        listener.close()
        pipe.close()


@pytest.mark.skipif(given_dsn() is not None, reason="the server of the test is not ours to restart")
def test_after_a_restart_of_postgresql_the_watch_reconnects_and_reloads() -> None:
    with running_postgres() as server, closing(open_database(server.new_database())) as database:
        database.migrate()
        versions: list[int] = []
        with watching(database) as watch:
            watch.on_change(versions.append)
            insert(database)
            wait(lambda: versions[-1:] == [1])
            server.stop(immediate=True)
            server.start()
            insert(database, "Perhaps before the watch listens again")
            wait(lambda: versions[-1:] == [2])
            insert(database, "Again")
            wait(lambda: versions[-1:] == [3])
            wait(lambda: [row.version for row in processes(database)] == [3])


def test_a_watch_of_a_database_that_is_not_there_yet_waits_for_it(tmp_path: Path) -> None:
    with closing(open_database(f"sqlite:///{tmp_path / 'later.db'}")) as database:
        versions: list[int] = []
        watch = RuleWatch(database)
        watch.on_change(versions.append)
        watch.start()
        try:
            database.migrate()
            wait(lambda: versions == [0])
        finally:
            watch.stop()


def test_a_watch_without_its_server_stops_promptly() -> None:
    with closing(open_database("postgresql://nobody@127.0.0.1:1/nothing")) as database:
        watch = RuleWatch(database)
        watch.start()
        watch.stop()
        assert not watch.is_running
