"""The compiled way into coded rows, held against the careful one: same rows, rejects and counts."""

from __future__ import annotations

import dataclasses
import math
import struct
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading_support import rows_of
from tests_support import CALL_HEADER, NODE_HEADER, RATE_HEADER, RESOURCE_HEADER, hex_id

from tracekit.base.arrays import FloatArray
from tracekit.intake.read import table_file as reading_module
from tracekit.intake.read.blocks import lines_in_blocks
from tracekit.intake.read.coded import LINE
from tracekit.intake.read.discover import discover
from tracekit.intake.read.keytable import padded
from tracekit.intake.read.scan import number_at
from tracekit.intake.read.scanner import Scanner
from tracekit.intake.read.table_file import CodedFile, open_coded

WIDE_HEADER = "timestamp,msname,msinstanceid,nodeid,providerrpc_rt,providerrpc_mcr,http_mcr,http_rt"
HEADERS = [NODE_HEADER, RESOURCE_HEADER, RATE_HEADER, CALL_HEADER, WIDE_HEADER]

TIMES = [
    "0",
    "30000",
    "43200000",
    "007",
    "30000.0",
    "30000.5",
    "-1",
    "",
    "soon",
    "9" * 17,
    "9" * 25,
]
NUMBERS = [
    "0.5", "0.1549999999968956", "1", "-0.25", "-0", "1e-3", "5E+2", "1.5e", "nan", "inf", "abc",
    "", "0.00012345678901234567", "1e400", "4.9e-324", "+1", " 1", "1_0", ".5", "5.", ".", "1e-30",
    "123456789012345678901234567890", "2.7",
]  # fmt: skip
NAMES = [
    hex_id("a", 0), hex_id("a", 1), hex_id("a", 2), "MS_1_POD_7", "(?)", "", "NAN", "nan", "b",
    "b" * 8, "b" * 9, "b" * 16, "b" * 17, "b" * 63, "b" * 65, "é", "a\tb", 'say "x"', "a\rb",
    "\x7f",
]  # fmt: skip
ANY = st.text(alphabet="0123456789.ae-,\0é", max_size=6)


def _field(name: str) -> st.SearchStrategy[str]:
    if name == "timestamp":
        usual = TIMES
    elif name.endswith(("usage", "value", "rt", "mcr")):
        usual = NUMBERS
    else:
        usual = NAMES
    good = st.sampled_from(usual[:3])
    return st.one_of(good, good, good, st.sampled_from(usual), ANY)


def _files() -> st.SearchStrategy[bytes]:
    def lines(header: str) -> st.SearchStrategy[bytes]:
        fields = [_field(name) for name in header.split(",")]
        line = st.tuples(*fields).map(",".join).map(str.encode)
        odd = st.sampled_from([b"", b",,", b"\xff\xfe,1,2,3,4", b"a" * 300])
        rows = st.lists(st.one_of(line, line, line, odd), max_size=30)
        return rows.map(lambda rows: b"\n".join([header.encode(), *rows]) + b"\n")

    return st.sampled_from(HEADERS).flatmap(lines)


def _compiled(path: Path, monkeypatch: pytest.MonkeyPatch) -> CodedFile:
    monkeypatch.setattr(reading_module, "COMPILED_FROM_BYTES", 0)
    (file,) = discover(path).files
    coded = open_coded(file)
    assert coded.padding > 0
    return coded


def _plain(path: Path, monkeypatch: pytest.MonkeyPatch) -> CodedFile:
    monkeypatch.setattr(reading_module, "COMPILED_FROM_BYTES", 1 << 40)
    (file,) = discover(path).files
    coded = open_coded(file)
    assert coded.padding == 0
    return coded


@pytest.mark.slow
@settings(max_examples=150)
@given(data=_files(), times=st.integers(1, 4), block_bytes=st.sampled_from([300, 1 << 20]))
def test_both_ways_find_the_same(
    data: bytes, times: int, block_bytes: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("any") / "table.csv"
    header, _, lines = data.partition(b"\n")
    path.write_bytes(header + b"\n" + times * lines)
    with pytest.MonkeyPatch.context() as patched:
        if not lines:
            return
        small = partial(lines_in_blocks, block_bytes=block_bytes)
        patched.setattr(reading_module, "lines_in_blocks", small)
        rows, rejects, reading = rows_of(_compiled(path, patched))
        plain_rows, plain_rejects, plain_reading = rows_of(_plain(path, patched))
    assert rows.equals(plain_rows)
    assert rejects.equals(plain_rejects)
    assert reading.counts == plain_reading.counts
    assert (reading.sha256, reading.content) == (plain_reading.sha256, plain_reading.content)


@pytest.mark.slow
@pytest.mark.parametrize("order", ["cycle", "shuffled", "swapped"])
def test_names_are_right_whatever_followed_them_before(
    order: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(7)
    containers = np.tile(np.arange(500), 60)
    if order == "shuffled":
        rng.shuffle(containers)
    nodes = containers % 37
    if order == "swapped":  # containers move to other nodes when all have been seen often
        nodes[15_000:] = containers[15_000:] % 41
    rows = [
        f"{at},s_{c % 7},{hex_id('c', c)},{hex_id('n', n)},0.5,0.5,{at}"
        for at, (c, n) in enumerate(zip(containers.tolist(), nodes.tolist(), strict=True))
    ]
    path = tmp_path / "MSResource_0.csv"
    path.write_text("\n".join([RESOURCE_HEADER, *rows]) + "\n")
    trusted = []
    before = Scanner.read

    def read(scanner: Scanner, block: bytes, line: int) -> int:
        trusted.append(scanner._rows.trusted.any())
        return before(scanner, block, line)

    monkeypatch.setattr(Scanner, "read", read)
    frame, rejects, _ = rows_of(_compiled(path, monkeypatch))
    assert rejects.is_empty()
    assert frame["container"].to_list() == [hex_id("c", c) for c in containers.tolist()]
    assert frame["node"].to_list() == [hex_id("n", n) for n in nodes.tolist()]
    assert frame["service"].to_list() == [f"s_{c % 7}" for c in containers.tolist()]
    assert any(trusted), "no block was read by what followed before"


def test_no_name_is_left_that_stands_in_broken_rows_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "Node_0.csv"
    path.write_text(f"{NODE_HEADER}\n0,0,good,0.5,0.5\n1,0,bad,abc,0.5\n2,0,worse,0.5,abc\n")
    for way in (_compiled, _plain):
        coded = way(path, monkeypatch)
        list(coded.blocks())
        assert [name for some in coded.keys.texts(0) for name in some.to_pylist()] == ["good"]


@pytest.mark.parametrize(
    ("size_bytes", "together_bytes", "has_code", "compiled"),
    [
        (16 << 20, 0, False, True),
        (2 << 20, 64 << 20, False, True),
        (2 << 20, 63 << 20, False, False),
        (1 << 10, 64 << 20, True, False),
        (2 << 20, 8 << 20, True, True),
        (2 << 20, 7 << 20, True, False),
    ],
)
def test_a_file_is_read_the_compiled_way_where_there_is_much_to_read(
    size_bytes: int,
    together_bytes: int,
    has_code: bool,
    compiled: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of less where the code is compiled already: then it is only loaded."""
    monkeypatch.setattr(reading_module, "is_compiled", lambda _: has_code)
    path = tmp_path / "Node_0.csv"
    path.write_text(f"{NODE_HEADER}\n0,0,good,0.5,0.5\n")
    (file,) = discover(path).files
    with path.open("r+b") as grown:
        grown.truncate(size_bytes)
    coded = open_coded(dataclasses.replace(file, together_bytes=together_bytes))
    assert (coded.padding > 0) == compiled


@pytest.mark.parametrize("block_bytes", [200, 1 << 20])
def test_odd_lines_of_many_blocks_stand_where_they_stood(
    block_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = 2_000
    times = [f"{at}.0" if at % 3 == 0 else "soon" if at % 50 == 1 else at for at in range(rows)]
    path = tmp_path / "Node_0.csv"
    lines = [f"{at},{time},n{at % 7},0.5,0.5" for at, time in enumerate(times)]
    path.write_text("\n".join([NODE_HEADER, *lines]) + "\n")
    small = partial(lines_in_blocks, block_bytes=block_bytes)
    monkeypatch.setattr(reading_module, "lines_in_blocks", small)
    frame, rejects, _ = rows_of(_compiled(path, monkeypatch))
    broken = [at for at in range(rows) if times[at] == "soon"]
    assert frame["time_ms"].to_list() == [at for at in range(rows) if at not in broken]
    assert frame[LINE].to_list() == [at + 2 for at in range(rows) if at not in broken]
    assert rejects["line"].to_list() == [at + 2 for at in broken]


# Decimal text to float64: what is parsed at all is what Python's float gives, to the bit.


def parsed(texts: list[str]) -> FloatArray:
    starts = np.cumsum([0, *(len(text) + 1 for text in texts)], dtype=np.int64)[:-1]
    text = padded([(",".join(texts) + ",").encode()])
    return np.array([number_at(text, start)[0] for start in starts])


def bits(value: float) -> bytes:
    return struct.pack("<d", value)


def assert_exact(texts: list[str], *, all_of_them: bool = False) -> None:
    values = parsed(texts).tolist()
    for text, value in zip(texts, values, strict=True):
        if not math.isnan(value):
            assert bits(value) == bits(float(text)), text
        elif all_of_them:
            pytest.fail(f"{text} was not parsed")


HALFWAY = [
    "9007199254740993", "9007199254740995", "9007199254740993e1", "9007199254740992.5",
    "1.00000000000000011102230246251565", "1.000000000000000111", "4503599627370497.5",
    "8.5", "0.1", "2.2250738585072014e-308", "1.7976931348623157e308", "123456789012345678e20",
    "1090544144181609348671888949248e-12", "18446744073709551615", "18014398509481985",
]  # fmt: skip


def test_halves_between_two_floats_go_to_the_even_one() -> None:
    assert_exact(HALFWAY)


def test_what_a_usage_table_holds_is_parsed_here_and_not_left_to_others() -> None:
    rng = np.random.Generator(np.random.PCG64(4))
    values = np.concatenate([rng.random(20_000), rng.random(20_000) * 0.01]).tolist()
    assert_exact([repr(value) for value in values if value > 1e-9], all_of_them=True)


@settings(max_examples=400)
@given(st.integers(0, 10**19 - 1), st.integers(-70, 50))
def test_any_digits_and_any_power(digits: int, power: int) -> None:
    assert_exact([f"{digits}e{power}"])


_NO_NUMBERS = (
    *("", "-", ".", "e5", "1e", "1e+", "0e", "0.0e", "-0e+", "0e9999999"),
    *("nan", "inf", "+1", "1" * 20, "1e400", "4.9e-324", "x"),
)


@pytest.mark.parametrize("text", _NO_NUMBERS)
def test_what_is_no_plain_number_is_not_taken(text: str) -> None:
    assert math.isnan(parsed([text])[0])


def test_where_a_number_ends() -> None:
    assert number_at(padded([b"0.5x,"]), 0)[1] == 3
    assert number_at(padded([b"-12e-1,"]), 0) == (-1.2, 6)
