"""Arrivals by flavour and batch, durations in bins, and the two maps."""

from __future__ import annotations

from pathlib import Path

import pytest
from reading_support import Reading, opened, read, recognised, stored
from tests_support import shared_data

from tracekit.errors import TracekitError

NAME = "azure_v1_arrivals"
GB = 1 << 30
FLAVOURS = "1,1.75 b\n4,7 k\n2,3.5 g\n"
INTERVALS = "0 0\n300 1\n600 2\n900 2\n1200 2\n"


def _folder(tmp_path: Path, **files: str) -> Path:
    folder = tmp_path / "arrivals"
    folder.mkdir()
    texts = {"flav_map": FLAVOURS, "v1.interval_map": INTERVALS, **files}
    for stem, text in texts.items():
        if text:
            (folder / f"{stem}.txt").write_text(text)
    return folder


def _arrivals(folder: Path) -> Reading:
    beside = {
        word: tuple(opened(path) for path in sorted(folder.glob(pattern)))
        for word, pattern in (
            ("flavours", "flav_map*"),
            ("intervals", "*interval_map*"),
            ("durations", "v1.*.c*.txt"),
        )
    }
    return read(NAME, folder / "v1.dev.txt", beside)


def test_each_kind_of_file_is_recognised(tmp_path: Path) -> None:
    folder = _folder(
        tmp_path, **{"v1.dev": "300 b,|,k,g,|,\n600 g,|,\n", "v1.dev.c900": "300 U0,|,C1,U2,|\n"}
    )
    words = {path.name: recognised(path) for path in folder.iterdir()}
    assert words == {
        "flav_map.txt": [(NAME, "flavours")],
        "v1.interval_map.txt": [(NAME, "intervals")],
        "v1.dev.txt": [(NAME, "arrivals")],
        "v1.dev.c900.txt": [(NAME, "durations")],
    }


def test_flavours_batches_and_durations(tmp_path: Path) -> None:
    folder = _folder(
        tmp_path,
        **{
            "v1.dev": "300 b,|,k,g,|,\n600 g,|\n",
            "v1.dev.c900": "300 U0,|,C1,U2,|,\n600 U1,|\n",
        },
    )
    found = _arrivals(folder)
    assert found.broken == []
    columns = ("container", "service", "position", "time_ms", "departure_ms", "line")
    assert found.rows("container", *columns) == [
        ("dev/0", "dev/batch-0", 0, 300_000, 600_000, 1),
        ("dev/1", "dev/batch-1", 1, 300_000, None, 1),
        ("dev/2", "dev/batch-1", 2, 300_000, 1_200_000, 1),
        ("dev/3", "dev/batch-2", 3, 600_000, 900_000, 2),
    ]
    asked = found.rows("container_resource", "container", "resource", "request", "unit")
    assert sorted(asked)[:4] == [
        ("dev/0", "cpu", 1.0, "cores"),
        ("dev/0", "memory", 1.75 * GB, "bytes"),
        ("dev/1", "cpu", 4.0, "cores"),
        ("dev/1", "memory", 7.0 * GB, "bytes"),
    ]


def test_without_durations_all_stay(tmp_path: Path) -> None:
    found = _arrivals(_folder(tmp_path, **{"v1.dev": "300 b,|,k,|,\n"}))
    assert found.rows("container", "departure_ms") == [(None,), (None,)]


BROKEN = [
    ("600 z,|,", "600 U0,|,", "has flavour 'z', not in flav_map"),
    ("soon b,|,", "600 U0,|,", "does not begin with a time in seconds"),
    ("600 b,|,", "900 U0,|,", "has no bin of this time in v1.dev.c900.txt"),
    ("600 b,b,|,", "600 U0,|,", "has other batches than line 6 of v1.dev.c900.txt"),
    ("600 b,|,", "600 U7,|,", "has duration 'U7', expected U or C and a bin of interval_map"),
    ("600 b,|,", "600 X1,|,", "has duration 'X1', expected U or C and a bin of interval_map"),
]


@pytest.mark.parametrize(("line", "durations", "reason"), BROKEN)
def test_broken_bins(tmp_path: Path, line: str, durations: str, reason: str) -> None:
    times = [3000 + 300 * at for at in range(5)]
    good, lengths = ("".join(f"{at} {one},|,\n" for at in times) for one in ("b", "U0"))
    found = _arrivals(
        _folder(tmp_path, **{"v1.dev": good + line, "v1.dev.c900": lengths + durations})
    )
    assert found.reasons == [(6, None, reason)]
    assert found.tables["container"].height == 5


@pytest.mark.parametrize("before", range(4))
def test_a_broken_bin_among_the_first_lines_is_told(tmp_path: Path, before: int) -> None:
    lines = [f"{300 * at} b,|" for at in range(1, 4)]
    lines.insert(before, "foo b,|")
    found = _arrivals(_folder(tmp_path, **{"v1.dev": "\n".join(lines)}))
    assert found.reasons == [(before + 1, None, "does not begin with a time in seconds")]
    assert found.tables["container"].height == 3


def test_of_two_bins_of_one_time_the_first_counts(tmp_path: Path) -> None:
    bins = "300 b,|,k,|\n600 g,|\n300 k,|\n"
    folder = _folder(
        tmp_path, **{"v1.dev": bins, "v1.dev.c900": "300 U0,|,U2,|\n600 U0,|\n300 U2,|\n"}
    )
    found = _arrivals(folder)
    reason = "is a second bin of time 300, which line 1 has already"
    assert found.reasons == [(3, None, reason)]
    assert found.rows("container", "time_ms", "departure_ms", "line") == [
        (300_000, 600_000, 1),
        (300_000, 1_200_000, 1),
        (600_000, 900_000, 2),
    ]
    beside = {"arrivals": (opened(folder / "v1.dev.txt"),)}
    assert read(NAME, folder / "v1.dev.c900.txt", beside).reasons == [(3, None, reason)]


WITHOUT = [
    ({"flav_map": ""}, "no flav_map.txt beside it"),
    ({"v1.interval_map": ""}, "no v1.interval_map.txt beside it"),
    ({"flav_map": "1,0.75 a\n1,x b\n-2,3.5 g"}, "flav_map.txt, line 2: '1,x b', expected a line"),
    ({"v1.interval_map": "x\ny\n0 0"}, "v1.interval_map.txt, line 1: 'x', expected a line like"),
    ({"flav_map": FLAVOURS + "much"}, "flav_map.txt, line 4: 'much', expected a line like"),
    ({"v1.interval_map": INTERVALS + "1"}, "v1.interval_map.txt, line 6: '1', expected a line"),
]


@pytest.mark.parametrize(("files", "what"), WITHOUT)
def test_maps_are_needed_whole(tmp_path: Path, files: dict[str, str], what: str) -> None:
    folder = _folder(tmp_path, **{"v1.dev": "300 b,|,\n", "v1.dev.c900": "300 U0,|,\n", **files})
    with pytest.raises(TracekitError) as caught:
        _arrivals(folder)
    assert what in caught.value.what


def test_a_map_alone_is_no_trace(tmp_path: Path) -> None:
    with pytest.raises(TracekitError, match="says something of arrivals that are not there"):
        read(NAME, _folder(tmp_path) / "flav_map.txt")


def test_it_comes_into_a_store(tmp_path: Path) -> None:
    folder = _folder(tmp_path, **{"v1.dev": "300 b,|,k,|,\n", "v1.dev.c900": "300 U2,|,C1,|,\n"})
    sql = """
        SELECT container, departure_ms, request FROM container
        JOIN container_resource USING (container) WHERE resource = 'cpu' ORDER BY ALL
    """
    assert stored(folder, tmp_path, sql) == [("dev/0", 1_200_000, 1.0), ("dev/1", None, 4.0)]


def test_the_real_split() -> None:
    folder = shared_data(NAME)
    found = _arrivals(folder)
    assert found.broken == []
    text = (folder / "v1.dev.txt").read_text()
    durations = (folder / "v1.dev.c2100000.txt").read_text()
    containers = found.tables["container"]
    assert containers.height == sum(text.count(letter) for letter in "abcdefghijklmnop")
    assert containers["departure_ms"].null_count() == durations.count("C")
    assert containers["service"].n_unique() == text.count("|")
    lives = containers["departure_ms"] - containers["time_ms"]
    assert lives.min() == 300_000
    assert containers["time_ms"].min() == 1_800_000_000
