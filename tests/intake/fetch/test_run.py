"""A fetch as a whole: several files, what stops it, and who else is at the folder."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace

import pytest
from fetch_support import NODE, Mirror, Take, archive_bytes, serving, short_body, stall
from tests_support import NODE_HEADER, csv_text, node_lines, tar_gz

from tracekit.base.errors import TracekitError
from tracekit.base.files.durable import locked
from tracekit.commands.fetch import fetch
from tracekit.commands.shell import run
from tracekit.intake.fetch import FetchSummary, Retries
from tracekit.intake.fetch.download import LOCK, DamagedError, Part, checked
from tracekit.intake.fetch.plan import plan
from tracekit.intake.fetch.run import Meter


def archives(parts: Iterable[int], count_bytes: int) -> dict[str, bytes]:
    """Archives of the resource table by path, each with other content."""
    return {
        f"MSResource/MSResource_{part}.tar.gz": archive_bytes(count_bytes, seed=part)
        for part in parts
    }


def fetched(
    mirror: Mirror, folder: Path, *, parts: str, jobs: int, retries: Retries
) -> FetchSummary:
    """Fetch parts of the resource table from the mirror."""
    return fetch(
        "ctm21",
        folder,
        tables=["resource"],
        parts=parts,
        base_url=mirror.base_url,
        jobs=jobs,
        retries=retries,
    )


def test_several_files_at_a_time(tmp_path: Path, retries: Retries) -> None:
    files = archives(range(4), 200_000)
    with serving(files) as mirror:
        for number, path in enumerate(files):
            mirror.tricks[path] = [short_body(50_000 * (1 + number))]
        summary = fetched(mirror, tmp_path, parts="0-3", jobs=3, retries=retries)
    assert [file.path for file in summary.files] == list(files)
    assert {path: (tmp_path / path).read_bytes() for path in files} == files


def test_a_missing_file_does_not_keep_the_others(tmp_path: Path, retries: Retries) -> None:
    files = archives([0, 2, 3], 20_000)
    with serving(files) as mirror, pytest.raises(TracekitError):
        fetched(mirror, tmp_path, parts="0-4", jobs=2, retries=retries)
    assert {path: (tmp_path / path).read_bytes() for path in files} == files


def test_a_host_that_does_not_exist_stops_everything_at_once(
    tmp_path: Path, naps: list[float], retries: Retries, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = []

    def nowhere(host: str, *_args: object, **_options: object) -> None:
        hosts.append(host)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", nowhere)
    monkeypatch.setenv("no_proxy", "*")
    with pytest.raises(TracekitError):
        fetch("ctm21", tmp_path, base_url="http://mirror.invalid/", jobs=1, retries=retries)
    assert (len(hosts), len(naps)) == (2, 1)


def test_no_room_on_the_disk_is_said_before_anything_is_written(
    take: Take, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
    with pytest.raises(TracekitError):
        take()
    assert not target.exists()


def test_a_second_fetch_into_the_folder_is_told_who_is_at_it(take: Take, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with (
        locked(tmp_path / "out" / LOCK, busy="it is being filled"),
        pytest.raises(TracekitError),
    ):
        take()
    take()


def test_a_bug_in_a_thread_comes_to_the_caller(take: Take, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_args: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Part, "finish", broken)
    with pytest.raises(ZeroDivisionError):
        take()


class Recorder:
    """A task that adds up its progress."""

    amount = 0.0

    def advance(self, amount: float, note: str = "") -> None:
        del note
        self.amount += amount


def test_each_file_counts_with_its_usual_size_whatever_its_real_one() -> None:
    task = Recorder()
    one, two = plan("ctm21", tables=["resource"], parts="0-1")
    meter = Meter(task, 2)
    meter.reached(one, 0, 1000)
    meter.reached(one, 500, 1000)
    assert task.amount == pytest.approx(one.usual_bytes / 2)
    meter.reached(one, 0, 1000)
    assert task.amount == 0
    meter.reached(two, 300, None)
    assert task.amount == 0
    meter.finished(one)
    meter.finished(two)
    assert task.amount == pytest.approx(one.usual_bytes + two.usual_bytes)


def test_a_file_that_did_not_come_counts_with_what_came() -> None:
    """Without a network it said that all of 503 MB came in half a second."""
    task = Recorder()
    one, two = plan("ctm21", tables=["resource"], parts="0-1")
    meter = Meter(task, 2)
    meter.finished(one, whole=False)
    assert task.amount == 0
    meter.reached(two, 500, 1000)
    meter.finished(two, whole=False)
    assert task.amount == pytest.approx(two.usual_bytes / 2)


def test_the_whole_release_is_183_archives_of_about_61_gib() -> None:
    wanted = plan("ctm21")
    assert len(wanted) == len({one.path for one in wanted}) == 183
    assert sum(one.usual_bytes for one in wanted) / 2**30 == pytest.approx(61.1, abs=0.1)
    first = next(one for one in wanted if one.path == "MSCallGraph/MSCallGraph_144.tar.gz")
    assert first.url == (
        "http://aliopentrace.oss-cn-beijing.aliyuncs.com/v2021MicroservicesTraces/"
        "MSCallGraph/MSCallGraph_144.tar.gz"
    )


WANTED = [
    (["node"], None, ["node/Node_0"]),
    (["node", "resource"], "0-1", ["MSResource/MSResource_0", "MSResource/MSResource_1", "node"]),
    (["resource"], "2,0-0", ["MSResource/MSResource_0", "MSResource/MSResource_2"]),
    (["MSRTQps"], "24", ["MSRTQps/MSRTQps_24"]),
    (["service_rate"], "23-99", ["MSRTQps/MSRTQps_23", "MSRTQps/MSRTQps_24"]),
    (["NODE", "node_usage"], "0", ["node/Node_0"]),
]


@pytest.mark.parametrize(("tables", "parts", "starts"), WANTED)
def test_tables_by_word_name_or_stem_and_parts_by_number(
    tables: list[str], parts: str | None, starts: list[str]
) -> None:
    paths = [one.path for one in plan("ctm21", tables=tables, parts=parts)]
    assert len(paths) == len(starts)
    assert all(path.startswith(start) for path, start in zip(paths, starts, strict=True))


def test_a_mirror_needs_no_slash_at_its_end() -> None:
    for base in ("http://host/a", "http://host/a/"):
        (one,) = plan("ctm21", tables=["node"], base_url=base)
        assert one.url == "http://host/a/node/Node_0.tar.gz"


def test_the_other_release_has_its_own_layout() -> None:
    (one,) = plan("ctm22", tables=["call"], parts="6239")
    assert one.url.endswith("/v2022MicroservicesTraces/CallGraph/CallGraph_6239.tar.gz")


def test_files_that_are_read_by_code_have_archives_and_checksums() -> None:
    every = plan("alibaba18")
    assert [one.path for one in every[:2]] == ["machine_meta.tar.gz", "machine_usage.tar.gz"]
    (one,) = plan("alibaba18", tables=["Machines"], parts="0")
    assert one.url.endswith("/v2018Traces/machine_meta.tar.gz")
    assert (one.sha256 or "").startswith("b5b1b786")
    assert plan("ctm21")[0].sha256 is None


WHOLE = archive_bytes(50_000)
GOOD = {
    "one member": WHOLE,
    "two members": WHOLE + archive_bytes(10, seed=1),
    "zeros behind": WHOLE + b"\0" * 700,
    "zeros between": WHOLE + b"\0" * 5 + archive_bytes(10, seed=1),
    "nothing in it": gzip.compress(b"", mtime=0),
}


def flipped(at: int) -> bytes:
    data = bytearray(WHOLE)
    data[at] ^= 0x55
    return bytes(data)


BAD = {
    "cut in the middle": WHOLE[:20_000],
    "cut by one byte": WHOLE[:-1],
    "cut in the header": WHOLE[:5],
    "half a magic": WHOLE[:1],
    "wrong checksum": flipped(-8),
    "wrong length": flipped(-1),
    "wrong block": flipped(25_000),
    "an error page": b"<html>404</html>",
    "empty": b"",
    "only zeros": b"\0" * 100,
    "text behind": WHOLE + b"\0\0Node",
    "half a second member": WHOLE + WHOLE[:100],
}


@pytest.mark.parametrize("name", GOOD)
def test_whole_archives_have_a_sha256(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(GOOD[name])
    assert checked(tmp_path / "a.gz", "a.gz") == hashlib.sha256(GOOD[name]).hexdigest()


@pytest.mark.parametrize("name", BAD)
def test_others_are_damaged_and_named(name: str, tmp_path: Path) -> None:
    data = BAD[name]
    (tmp_path / "a.gz").write_bytes(data)
    with pytest.raises(DamagedError) as caught:
        checked(tmp_path / "a.gz", "here/a.gz")
    assert caught.value.sha256 == hashlib.sha256(data).hexdigest()


def test_json_and_table(
    mirror: Mirror, tmp_path: Path, node: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["fetch", "ctm21", str(tmp_path), "--tables", "node", "--base-url", mirror.base_url]
    assert run([*call, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "tracekit/fetch/1"
    assert document["size_bytes"] == len(node)
    assert [(file["path"], file["outcome"]) for file in document["files"]] == [(NODE, "fetched")]
    assert run(call) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert NODE in printed.out


def test_what_is_fetched_can_be_ingested(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tar_gz(tmp_path / "a.tar.gz", {"Node_0.csv": csv_text(NODE_HEADER, node_lines())})
    with serving({NODE: (tmp_path / "a.tar.gz").read_bytes()}) as mirror:
        out, store = str(tmp_path / "out"), str(tmp_path / "store")
        options = ["--tables", "node", "--base-url", mirror.base_url]
        assert run(["fetch", "ctm21", out, *options]) == 0
    assert run(["ingest", out, store, "--json"]) == 0
    document = json.loads(capsys.readouterr().out.split("STORE\n")[1])
    assert [entry["table"] for entry in document["ingested"]] == ["node_usage"]
    assert document["passed_over"] == []


@pytest.mark.parametrize(("sign", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_an_interrupted_fetch_ends_at_once_and_is_resumed(
    mirror: Mirror, tmp_path: Path, node: bytes, sign: signal.Signals, code: int
) -> None:
    release = threading.Event()
    mirror.tricks[NODE] = [stall(300_000, release)]
    call = ["fetch", "ctm21", str(tmp_path), "--tables", "node", "--base-url", mirror.base_url]
    process = subprocess.Popen(
        [sys.executable, "-m", "tracekit", *call], stderr=subprocess.PIPE, text=True
    )
    part = tmp_path / "node" / ".Node_0.tar.gz.part"
    while not (part.exists() and part.stat().st_size == 300_000):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(sign)
    _, printed = process.communicate(timeout=20)
    release.set()
    assert process.returncode == code
    assert printed.startswith("error: interrupted") or sign == signal.SIGKILL
    assert not (tmp_path / NODE).exists()
    assert run(call) == 0
    assert mirror.ranges(NODE) == [None, "bytes=300000-"]
    assert (tmp_path / NODE).read_bytes() == node
