"""Times and sizes of a folder's files in another unit: refused with the likely one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from reading_support import opened, read, written

from tracekit.base.errors import TracekitError
from tracekit.intake.ingest import ingest

#: A time of 2026 in ms since 1970.
LATE_MS = 1_767_225_600_000


@pytest.mark.parametrize(
    ("name", "lines", "likely"),
    [
        ("containers.csv", [f"c{at},{1767225600 + at},500,1e9" for at in range(3)], "seconds"),
        ("containers.csv", [f"c{at},0,0.{at}5,1e9" for at in range(3)], "cores"),
        ("nodes.csv", [f"n{at},16,68719476736" for at in range(3)], "cores"),
        ("nodes.csv", [f"n{at},16000,64" for at in range(3)], "GiB"),
        ("containers.csv", [f"c{at},{LATE_MS}000,500,1e9" for at in range(3)], "microseconds"),
        ("containers.csv", [f"c{at},{LATE_MS}000000,500,1e9" for at in range(3)], "nanoseconds"),
        ("usage.csv", [f"c,{LATE_MS + at}000,500,1e9" for at in range(5)], "microseconds"),
        ("containers.csv", [f"c{at},0,500,{at + 1}" for at in range(3)], "GiB"),
        ("containers.csv", [f"c{at},0,500,2048" for at in range(3)], "MiB"),
        ("containers.csv", [f"c{at},0,500,524288" for at in range(3)], "KiB"),
    ],
)
def test_times_and_sizes_of_another_unit_are_refused(
    tmp_path: Path, name: str, lines: list[str], likely: str
) -> None:
    headers = {
        "containers.csv": "container,arrival_ms,cpu_milli,memory_bytes",
        "nodes.csv": "node,cpu_milli,memory_bytes",
        "usage.csv": "container,time_ms,cpu_milli,memory_bytes",
    }
    path = tmp_path / name
    path.write_text("\n".join([headers[name], *lines]) + "\n")
    with pytest.raises(TracekitError) as raised:
        read("folder", path)
    assert f"it looks like {likely}" in str(raised.value.hint)


def _asking(folder: Path, cores: int, asked: Sequence[str], used_milli: float | None) -> Path:
    """Nodes, containers that ask for CPU, and use of each of them; the file of the containers."""
    written(folder, "nodes.csv", f"node,cpu_milli,memory_bytes\nn,{cores * 1000},274877906944\n")
    lines = [f"c{at},0,{one},1e9" for at, one in enumerate(asked)]
    head = "container,arrival_ms,cpu_milli,memory_bytes"
    path = written(folder, "containers.csv", "\n".join([head, *lines, ""]))
    if used_milli is not None:
        use = [f"c{at},{step * 30_000},{used_milli}" for at in range(len(asked)) for step in (0, 1)]
        written(folder, "usage.csv", "\n".join(["container,time_ms,cpu_milli", *use, ""]))
    return path


def _read_containers(path: Path) -> list[tuple[object, ...]]:
    words = [word for word in ("nodes", "usage") if (path.parent / f"{word}.csv").exists()]
    beside = {word: (opened(path.parent / f"{word}.csv"),) for word in words}
    return read("folder", path, beside).rows("container", "container")


@pytest.mark.parametrize(
    ("cores", "asked", "used_milli", "told"),
    [
        (8, ["1", "1"], None, "the largest cpu_milli of 2 containers is 1"),
        (8, ["1", "2", "3", "4"], None, "the largest cpu_milli of 4 containers is 4"),
        (96, ["16", "64", "32"], None, "the largest cpu_milli of 3 containers is 64"),
        (96, ["10", "10"], 501, "use is 50 times what it asks for"),
        (96, ["0.5", "20", "20"], 1_500, "use is 75 times what it asks for"),
    ],
)
def test_requests_that_are_cores_are_refused(
    tmp_path: Path, cores: int, asked: list[str], used_milli: float | None, told: str
) -> None:
    path = _asking(tmp_path, cores, asked, used_milli)
    with pytest.raises(TracekitError) as raised:
        _read_containers(path)
    assert told in raised.value.what
    assert "it looks like cores: multiply them by 1,000" in str(raised.value.hint)


@pytest.mark.parametrize(
    ("cores", "asked", "used_milli"),
    [
        (8, ["1", "10", "500"], None),
        (96, ["10", "50"], None),
        (96, ["1", "65"], None),
        (8, ["1", "9"], None),
        (96, ["10", "10"], 500),
        (8, ["10", "100"], 4_000),
        (8, ["0", "0"], 4_000),
        (8, ["", ""], 4_000),
    ],
)
def test_small_requests_are_taken(
    tmp_path: Path, cores: int, asked: list[str], used_milli: float | None
) -> None:
    """Who asks for little beside one who asks for more, or for no more than it uses."""
    assert len(_read_containers(_asking(tmp_path, cores, asked, used_milli))) == len(asked)


def test_what_fits_no_node_in_a_larger_unit_is_taken(tmp_path: Path) -> None:
    path = _asking(tmp_path, 8, ["100"], None)
    path.write_text(path.read_text().replace("1e9", "2000"))
    with pytest.raises(TracekitError, match="the largest memory_bytes of 1 containers is 2,000"):
        _read_containers(path)
    written(tmp_path, "nodes.csv", "node,cpu_milli,memory_bytes\nn,8000,8000\n")
    assert len(_read_containers(path)) == 1


def test_a_small_request_of_memory_beside_a_large_one_is_taken(tmp_path: Path) -> None:
    head = "container,arrival_ms,cpu_milli,memory_bytes"
    path = written(tmp_path, "containers.csv", f"{head}\na,0,100,4096\nb,0,100,1073741824\n")
    assert len(_read_containers(path)) == 2


def _memory(folder: Path, asked: Sequence[float], used: Sequence[float]) -> Path:
    """Nodes of 64 GiB and containers that ask for these bytes of memory, and use those."""
    folder.mkdir()
    written(folder, "nodes.csv", "node,cpu_milli,memory_bytes\nn,16000,68719476736\n")
    rows = [f"c{at},0,500,{one:.0f}" for at, one in enumerate(asked)]
    header = "container,arrival_ms,cpu_milli,memory_bytes"
    written(folder, "containers.csv", "\n".join([header, *rows]) + "\n")
    rows = [f"c{at},{time},250,{one:.0f}" for at, one in enumerate(used) for time in (0, 60_000)]
    header = "container,time_ms,cpu_milli,memory_bytes"
    written(folder, "usage.csv", "\n".join([header, *rows]) + "\n")
    return folder


@pytest.mark.parametrize(
    ("asked", "used", "told"),
    [
        # 2, 4 and 8 GiB as KiB
        ((2**21, 2**22, 2**23), (), "containers.csv: the memory_bytes in the middle of 21"),
        # 8, 16 and 32 GiB as KiB
        (
            (2**23, 2**24, 2**25),
            (2**32, 2**33, 2**34),
            "containers.csv: in the middle one of the containers whose use is known",
        ),
        ((2**31, 2**32, 2**33), (2**20, 2**21, 2**22), "usage.csv: the memory_bytes in the middle"),
        # a small one beside others, little use, use above what is asked for
        ((2**20, 2**30, 2**30), (), None),
        ((2**30, 2**30, 2**30), (2**22, 2**23, 2**28), None),
        ((2**28, 2**28, 2**28), (2**30, 2**31, 2**31), None),
    ],
)
def test_memory_in_kib_is_refused(
    tmp_path: Path, asked: Sequence[float], used: Sequence[float], told: str | None
) -> None:
    folder = _memory(tmp_path / "own", tuple(asked) * 7, tuple(used) * 7)
    if told is None:
        assert not ingest(folder, tmp_path / "store").failed
        return
    with pytest.raises(TracekitError) as caught:
        ingest(folder, tmp_path / "store")
    assert told in caught.value.what
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("it looks like KiB: multiply them by 1,024")


def test_what_a_few_containers_ask_for_may_be_anything(tmp_path: Path) -> None:
    """Of two or three none stands in the middle: a made-up folder was refused."""
    folder = _memory(tmp_path / "own", (2**21, 2**22, 2**23), (2**20, 2**20, 2**20))
    assert not ingest(folder, tmp_path / "store").failed
