"""A store on an object store is the store that this machine's disk would hold."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tracekit
from tracekit.analysis.run import needs_a_choice
from tracekit.base.errors import TracekitError
from tracekit.base.files.durable import LOCK
from tracekit.base.files.places import PIECE_BYTES, filesystem, place, within
from tracekit.commands._stages import BindStage, FitStage
from tracekit.commands.shell import run as run_command
from tracekit.intake.ingest import ingest
from tracekit.intake.ingest.workbench import (
    LAPSES_S,
    Lease,
    OvertakenError,
    get_file,
    put_file,
    put_over,
)
from tracekit.store.folder import CATALOG, NAME, open_store
from tracekit.store.query import Database
from tracekit.store.sqlfiles import all_queries

HOST = "127.0.0.1"
BUCKET = "bucket"
_START_S = 60.0


def why_not() -> str | None:
    """Why no object store can run; None if one can."""
    for name, package in (("s3fs", "s3fs"), ("upath", "universal-pathlib"), ("moto", "moto")):
        if importlib.util.find_spec(name) is None:
            return f"{package} is not installed (pip install 'tracekit[s3]' 'moto[server]')"
    return None


REASON = why_not()
pytestmark = [
    pytest.mark.skipif(REASON is not None, reason=str(REASON)),
    pytest.mark.slow,
]
TRACES, STORE = f"s3://{BUCKET}/traces", f"s3://{BUCKET}/mine"
#: An ingest that is killed when it puts its n-th object.
KILLED_AT = """
import os, sys
from tracekit.intake.ingest import coordinate, ingest
from tracekit.intake.ingest import workbench

# each file is named in the manifest by itself, so that the calls are counted alike every time
coordinate._NAMED_EVERY_S = 0.0
real, calls = workbench.put_file, 0

def killing(*args):
    global calls
    calls += 1
    if calls == int(sys.argv[3]):
        os._exit(137)
    return real(*args)

workbench.put_file = killing
ingest(sys.argv[1], sys.argv[2])
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    with object_store(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traces")
    tracekit.synth(folder, preset="tiny")
    return folder


@pytest.fixture(scope="module")
def local(traces: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("local") / "mine"
    tracekit.ingest(traces, folder)
    return folder


@pytest.fixture(scope="module")
def remote(server: ObjectStore, traces: Path) -> str:
    put_folder(traces, place(TRACES))
    words = ["ingest", TRACES, STORE]
    assert server.process.poll() is None
    assert run_command(words) == 0
    return STORE


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in {CATALOG, LOCK}
    }


def test_ingest_puts_the_bytes_that_a_disk_would_hold(local: Path, remote: str) -> None:
    ours, theirs = files(local), objects(place(remote))
    assert theirs.keys() == ours.keys()
    assert [name for name in ours if ours[name] != theirs[name]] == []


def test_every_query_gives_the_same_rows(local: Path, remote: str) -> None:
    with Database(open_store(local)) as disk, Database(open_store(remote)) as far:
        for name, query in all_queries().items():
            ours, theirs = disk.frame(query.text), far.frame(query.text)
            assert theirs.equals(ours), name


def test_the_analytics_are_the_same(local: Path, remote: str, tmp_path: Path) -> None:
    for name, store in (("local", str(local)), ("remote", remote)):
        assert run_command(["analyze", store, "--out", str(tmp_path / name)]) == 0
    ours, theirs = files(tmp_path / "local"), files(tmp_path / "remote")
    assert len(ours) > sum(not needs_a_choice(query) for query in all_queries().values())
    assert theirs == ours


def test_a_replay_is_the_same(local: Path, remote: str, tmp_path: Path) -> None:
    for name, store in (("local", str(local)), ("remote", remote)):
        few = ["--policy", "first_fit", "--repeat", "1"]
        assert run_command(["replay", store, *few, "--out", str(tmp_path / name)]) == 0
    ours, theirs = files(tmp_path / "local"), files(tmp_path / "remote")
    documents = [json.loads(one.pop("manifest.json")) for one in (ours, theirs)]
    assert [document["workload"].pop("store") for document in documents][1] == remote
    # the seal is over all of the document, and so over the store's name
    assert documents[0].pop("seal") != documents[1].pop("seal")
    assert documents[0] == documents[1]
    assert [name for name in ours if ours[name] != theirs[name]] in ([], ["timing.parquet"])
    assert run_command(["report", str(tmp_path / "remote"), "--out", str(tmp_path / "r.html")]) == 0


def test_traces_there_are_fitted_and_bound_as_on_a_disk(
    local: Path, traces: Path, remote: str, tmp_path: Path
) -> None:
    """Both stages of a run read the planted truth beside the traces, also from an object store."""
    for name, store, source in (("local", local, traces), ("remote", remote, place(TRACES))):
        fit, bound = tmp_path / name / "fit", tmp_path / name / "bound"
        FitStage(open_store(store), source, fit).run(lambda *_: None)
        BindStage(open_store(store), source, fit, bound).run(lambda *_: None)
    for stage in ("fit", "bound"):
        ours, theirs = files(tmp_path / "local" / stage), files(tmp_path / "remote" / stage)
        assert ours.keys() == theirs.keys() != set()
        tables = [name for name in ours if name.endswith(".parquet") and "timing" not in name]
        assert [name for name in tables if ours[name] != theirs[name]] == []


def test_a_run_takes_traces_there(remote: str, tmp_path: Path) -> None:
    assert remote
    assert run_command(["run", f"{TRACES}/node", "--out", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / "report.html").is_file()


def test_call_graphs_are_the_same(local: Path, remote: str, tmp_path: Path) -> None:
    for name, store in (("local", str(local)), ("remote", remote)):
        assert run_command(["callgraph", store, "--out", str(tmp_path / name)]) == 0
    assert files(tmp_path / "remote") == files(tmp_path / "local")


def test_a_table_of_several_pieces_is_read_as_from_a_disk(
    server: ObjectStore, tmp_path: Path
) -> None:
    """Trace files are read in pieces of 8 MiB, of which three are kept; so are stored tables."""
    assert server.process.poll() is None
    rng, rows = np.random.default_rng(17), 800_000
    table = pl.DataFrame({
        "msname": "service", "msinstanceid": pl.Series(np.arange(rows) // 1440).cast(pl.String),
        "nodeid": "node", "instance_cpu_usage": rng.random(rows),
        "instance_memory_usage": rng.random(rows), "timestamp": np.arange(rows) % 1440 * 30_000,
    })  # fmt: skip
    (tmp_path / "traces").mkdir()
    table.write_csv(tmp_path / "traces" / "MSResource_0.csv")
    assert (tmp_path / "traces" / "MSResource_0.csv").stat().st_size > 5 * PIECE_BYTES
    put_folder(tmp_path / "traces", place(f"s3://{BUCKET}/large"))
    local, remote = tmp_path / "local", f"s3://{BUCKET}/large-store"
    tracekit.ingest(tmp_path / "traces", local)
    assert run_command(["ingest", f"s3://{BUCKET}/large", remote]) == 0
    ours, theirs = files(local), objects(place(remote))
    assert theirs == ours
    assert max(map(len, ours.values())) > PIECE_BYTES
    sums = "SELECT count(*), max(cpu_fraction), max(container) FROM container_usage"
    assert tracekit.query(remote, sums).rows() == tracekit.query(local, sums).rows()


def test_a_large_file_goes_up_in_pieces_and_comes_back(server: ObjectStore, tmp_path: Path) -> None:
    assert server.process.poll() is None
    source, target = tmp_path / "large", place(f"s3://{BUCKET}/pieces/large")
    source.write_bytes(np.random.default_rng(1).bytes(40 << 20))
    put_file(source, target)
    # the tag of an object that came in pieces says of how many
    assert filesystem(target).info(within(target))["ETag"].strip('"').endswith("-3")
    get_file(target, tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == source.read_bytes()


def test_info_check_and_plan_speak_of_it(
    local: Path, remote: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for verb in ("info", "check"):
        documents = []
        for store in (str(local), remote):
            assert run_command([verb, store, "--json"]) == 0
            document = json.loads(capsys.readouterr().out)
            document.pop("store", None)
            documents.append(document)
        assert documents[0] == documents[1]
    assert run_command(["estimate", remote]) == 0
    assert f"Store {remote}" in capsys.readouterr().out
    planned = tracekit.estimate(remote)
    size = sum(one.bytes for one in tracekit.estimate(local).tables)
    assert planned.reach is not None
    assert planned.reach.bytes == size
    assert planned.reach.transfer_s == pytest.approx(size / planned.reach.bytes_per_s)


def test_ingested_again_nothing_changes(remote: str) -> None:
    before = objects(place(remote))
    summary = tracekit.ingest(TRACES, remote)
    assert (summary.ingested, len(summary.known)) == ([], 12)
    assert objects(place(remote)) == before


@pytest.mark.parametrize("at", [7, 19])
def test_a_killed_ingest_goes_on_to_the_same_bytes(
    server: ObjectStore, traces: Path, local: Path, at: int
) -> None:
    store = f"s3://{BUCKET}/killed-{at}"
    arguments = [str(traces), store, str(at)]
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_AT, *arguments],
        env={**os.environ, **server.environment},
        check=False,
    )
    assert killed.returncode == 137
    if at == 7:
        with pytest.raises(TracekitError):
            open_store(store)
    else:
        with Database(open_store(store)) as database:
            for query in all_queries().values():
                database.frame(query.text)
    tracekit.ingest(traces, store)
    assert objects(place(store)) == files(local)


@pytest.mark.usefixtures("server")
def test_what_contradicts_the_store_is_a_reject_there_too(tmp_path: Path) -> None:
    store = f"s3://{BUCKET}/own"
    for name, milli in (("containers.csv", 500), ("containers_2.csv", 900)):
        (tmp_path / name).write_text(
            f"container,arrival_ms,cpu_milli,memory_bytes\na,0,{milli},1073741824\n"
        )
        ingest(tmp_path / name, store)
    with Database(open_store(store)) as database:
        rejects = database.frame('SELECT source_file, line, "column" FROM reject').rows()
    assert rejects == [("containers_2.csv", 2, "request")]


@pytest.mark.usefixtures("server")
def test_a_second_writer_is_refused_and_told_by_whom(traces: Path) -> None:
    store = place(f"s3://{BUCKET}/held")
    holder = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        lease = {"host": os.uname().nodename, "process": holder.pid, "token": "x"}
        put_over(store / LOCK, json.dumps(lease).encode(), None)
        with pytest.raises(TracekitError, match=f"written by process {holder.pid} on"):
            tracekit.ingest(traces, str(store))
        assert list(objects(store)) == [LOCK]
    finally:
        holder.kill()
        holder.wait()
    assert tracekit.ingest(traces / "node", str(store)).ingested


@pytest.mark.usefixtures("server")
def test_a_lease_of_another_machine_lapses(monkeypatch: pytest.MonkeyPatch) -> None:
    store = place(f"s3://{BUCKET}/lapsed")
    first, second = Lease(store), Lease(store)
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("socket.gethostname", lambda: "elsewhere")
        first.take()
    with pytest.raises(TracekitError):
        second.take()
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now + LAPSES_S + 60)
    second.take()
    with pytest.raises(TracekitError):
        first.check()
    first.give_back()
    second.check()
    second.give_back()
    assert objects(store) == {}


@pytest.mark.usefixtures("server")
def test_of_many_that_put_at_once_one_wins() -> None:
    target = place(f"s3://{BUCKET}/race/object")
    won: list[int] = []

    def put(number: int) -> None:
        try:
            put_over(target, str(number).encode(), None)
        except OvertakenError:
            return
        won.append(number)

    threads = [threading.Thread(target=put, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [str(number).encode() for number in won] == [filesystem(target).cat(within(target))]


@pytest.mark.usefixtures("server")
def test_a_put_over_what_another_has_put_is_refused() -> None:
    target = place(f"s3://{BUCKET}/over/object")
    put_over(target, b"one", None)
    put_over(target, b"two", b"one")
    with pytest.raises(OvertakenError):
        put_over(target, b"three", b"one")
    with pytest.raises(OvertakenError):
        put_over(target, b"three", None)


@pytest.mark.usefixtures("server")
def test_a_manifest_that_another_has_written_is_not_written_over(
    traces: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = place(f"s3://{BUCKET}/fenced")
    tracekit.ingest(traces / "node", str(store))
    before = filesystem(store).cat(within(store / NAME))
    real = Lease.check

    def overtaken(lease: Lease) -> None:
        real(lease)
        filesystem(store).pipe(within(store / NAME), before + b"\n")

    monkeypatch.setattr(Lease, "check", overtaken)
    with pytest.raises(TracekitError):
        tracekit.ingest(traces / "MSResource", str(store))
    assert filesystem(store).cat(within(store / NAME)) == before + b"\n"


@pytest.mark.usefixtures("server")
def test_a_folder_of_something_else_is_not_written_into(traces: Path) -> None:
    store = place(f"s3://{BUCKET}/other")
    filesystem(store).pipe(within(store / "notes.txt"), b"mine")
    with pytest.raises(TracekitError):
        tracekit.ingest(traces, str(store))
    assert objects(store) == {"notes.txt": b"mine"}


@pytest.mark.usefixtures("server")
def test_what_goes_wrong_is_one_line(
    remote: str,
    traces: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def is_one_line(*words: str) -> bool:
        assert run_command(list(words)) == 2
        lines = capfd.readouterr().err.splitlines()
        return [line.split(":")[0].strip() for line in lines] == ["error", "hint"]

    assert is_one_line("info", "s3://wrong-bucket/store")
    assert is_one_line("ingest", str(traces), "s3://wrong-bucket/store")
    assert is_one_line("info", f"s3://{BUCKET}/nothing")
    assert is_one_line("ingest", f"s3://{BUCKET}/nothing", STORE)
    assert is_one_line("info", "nosuch://bucket/store")
    with monkeypatch.context() as without:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            without.delenv(name)
        without.setenv("HOME", "/nowhere")
        filesystem(place(remote)).clear_instance_cache()
        assert is_one_line("info", remote)
    filesystem(place(remote)).clear_instance_cache()


def test_a_server_that_dies_is_told_and_leaves_nothing_half_written(
    traces: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Last of the file, with a server of its own."""
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with object_store(tmp_path) as server:
        store = f"s3://{BUCKET}/store"
        tracekit.ingest(traces / "node", store)
        with Database(open_store(store)) as database:
            server.kill()
            with pytest.raises(TracekitError):
                database.frame("SELECT sum(cpu_fraction) FROM node_usage")
        assert run_command(["ingest", str(traces), store]) == 2
        with pytest.raises(TracekitError):
            tracekit.query(store, "usage/zone_summary")


@dataclass
class ObjectStore:
    """A server that runs; ``environment`` is what a process needs to find it."""

    process: subprocess.Popen[bytes]
    environment: dict[str, str]

    def kill(self) -> None:
        """End it as a machine that is lost."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@contextmanager
def object_store(folder: Path) -> Iterator[ObjectStore]:
    """A server with one bucket, which the environment of this process names meanwhile."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port = probe.getsockname()[1]
    environment = {
        "AWS_ENDPOINT_URL": f"http://{HOST}:{port}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", HOST, "-p", str(port)],
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    store = ObjectStore(process, environment)
    try:
        _await(environment["AWS_ENDPOINT_URL"], folder / "server.log")
        with pytest.MonkeyPatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            _forget_connections()
            filesystem(place(f"s3://{BUCKET}")).mkdir(BUCKET)
            yield store
    finally:
        if process.poll() is None:
            store.kill()
        _forget_connections()


def put_folder(folder: Path, target: Path) -> None:
    """Put every file of a folder."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = path.relative_to(folder).as_posix()
            filesystem(target).put_file(str(path), within(target / name))


def objects(folder: Path) -> dict[str, bytes]:
    """The bytes of every object under a place."""
    names = filesystem(folder).find(within(folder))
    return {
        str(name).removeprefix(f"{within(folder)}/"): filesystem(folder).cat_file(name)
        for name in names
    }


def _forget_connections() -> None:
    """Clients are kept for each URL; those of another server's are of no use."""
    import s3fs  # noqa: PLC0415 - optional

    s3fs.S3FileSystem.clear_instance_cache()


def _await(url: str, log: Path) -> None:
    end = time.monotonic() + _START_S
    while True:
        try:
            urllib.request.urlopen(url, timeout=5).close()  # noqa: S310 - our own server
        except OSError:
            if time.monotonic() > end:
                raise TimeoutError(log.read_text(errors="replace")[-2000:]) from None
            time.sleep(0.1)
        else:
            return
