"""The VM table and the readings of azure_vm17."""

from __future__ import annotations

from pathlib import Path

import pytest
from reading_support import Reading, opened, read, recognised, stored
from tests_support import shared_data

from tracekit.errors import TracekitError

NAME = "azure_vm17"
GB = 1 << 30
VM, SUBSCRIPTION, DEPLOYMENT = "A" * 64, "B" * 64, "C" * 86 + "=="


def _vm(
    created: object = 0, deleted: object = 600, cores: str = "2", memory: str = "3.5", vm: str = VM
) -> str:
    return (
        f"{vm},{SUBSCRIPTION},{DEPLOYMENT},{created},{deleted},99.4,3.4,10.2,Delay-insensitive,"
        f"{cores},{memory}"
    )


def _written(folder: Path, *lines: str) -> Path:
    path = folder / "vmtable.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def _vms(tmp_path: Path, *lines: str) -> Reading:
    return read(NAME, _written(tmp_path, *lines))


LIVES = [
    (0, 600, (0, 600_000)),
    (600, 600, (600_000, 900_000)),
    (300, 2_591_100, (300_000, 2_591_100_000)),
    (300, 2_591_400, (300_000, None)),
    (2_188_800, 2_591_700, (2_188_800_000, None)),
]


@pytest.mark.parametrize(("created", "deleted", "life"), LIVES)
def test_lives(tmp_path: Path, created: int, deleted: int, life: tuple[int, int | None]) -> None:
    found = _vms(tmp_path, _vm(created, deleted))
    columns = ("container", "service", "position", "time_ms", "departure_ms")
    assert found.rows("container", *columns) == [(VM, DEPLOYMENT, 0, *life)]


SIZES = [
    ("1", "1.75", (1.0, 1.75)),
    ("24", "64", (24.0, 64.0)),
    (">24", ">64", (30.0, 70.0)),
]


@pytest.mark.parametrize(("cores", "memory", "sizes"), SIZES)
def test_sizes_exact_or_in_buckets(
    tmp_path: Path, cores: str, memory: str, sizes: tuple[float, float]
) -> None:
    found = _vms(tmp_path, _vm(cores=cores, memory=memory))
    assert found.rows("container_resource", "resource", "request", "unit") == [
        ("cpu", sizes[0], "cores"),
        ("memory", sizes[1] * GB, "bytes"),
    ]


BROKEN = [
    (_vm(600, 300), "deleted", "is '300.0', expected a time behind its creation"),
    (_vm(cores=">48"), "cores", "is '>48', expected a size above 0, or >24"),
    (_vm(memory="0"), "memory", "is '0', expected a size above 0, or >64"),
    (_vm(created="soon"), "created", "is 'soon', expected a number"),
    (_vm(vm=""), "vm", "is empty, expected a value"),
    (_vm() + ",9", None, "has 12 fields, expected 11"),
]


@pytest.mark.parametrize(("line", "column", "reason"), BROKEN)
def test_broken_vms(tmp_path: Path, line: str, column: str | None, reason: str) -> None:
    found = _vms(tmp_path, *[_vm()] * 5, line)
    assert found.reasons == [(6, column, reason)]
    assert found.tables["container"].height == 5


def test_readings_are_shares_of_the_vm_as_the_vm_table_beside_says(tmp_path: Path) -> None:
    vms = opened(_written(tmp_path, _vm(cores="8"), _vm(cores=">24", vm="D" * 64)))
    folder = tmp_path / "readings"
    folder.mkdir()
    lines = (f"0,{VM},1,9,2.5", f"0,{'E' * 64},1,9,40", f"300,{'D' * 64},1,9,40")
    found = read(NAME, _written(folder, *lines), {"vms": (vms,)})
    assert found.rows("container_amount", "time_ms", "container", "resource", "amount", "unit") == [
        (0, VM, "cpu", 0.2, "cores"),
        (300_000, "D" * 64, "cpu", 12.0, "cores"),
    ]
    assert found.reasons == [(2, "vm", f"is '{'E' * 60}', expected a VM of vmtable")]


def test_readings_alone_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TracekitError, match="no vmtable beside them"):
        read(NAME, _written(tmp_path, f"0,{VM},1,9,2.5"))


@pytest.mark.parametrize("line", ["0,vm1,1,9,2.5", "a,b,c,0,1,2,3,4,Interactive,1,1.75"])
def test_other_lines_are_nobodys(tmp_path: Path, line: str) -> None:
    assert recognised(_written(tmp_path, line)) == []


def test_it_comes_into_a_store(tmp_path: Path) -> None:
    source = _written(tmp_path, _vm(), _vm(300, 2_591_700, ">24", "8", vm="D" * 64))
    sql = """
        SELECT container, departure_ms, request FROM container
        JOIN container_resource USING (container) WHERE resource = 'cpu' ORDER BY ALL
    """
    assert stored(source, tmp_path, sql) == [(VM, 600_000, 2.0), ("D" * 64, None, 30.0)]


def test_the_real_sample() -> None:
    folder = shared_data(NAME)
    vms = read(NAME, folder / "vmtable.csv.gz")
    assert vms.broken == []
    assert vms.tables["container"].height == 10
    assert vms.tables["container"]["departure_ms"].null_count() == 6
    sizes = vms.tables["container_resource"]
    assert sizes.filter(resource="memory")["request"].sum() == (0.75 + 5 * 1.75 + 4 * 56) * GB
    beside = {"vms": (opened(folder / "vmtable.csv.gz"),)}
    readings = read(NAME, folder / "vm_cpu_readings-file-1-of-125.csv.gz", beside)
    # the sample's readings are of other VMs than its table
    assert len(readings.broken) == 100
