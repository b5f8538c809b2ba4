"""What lies in a folder of data does not decide where a command deletes or writes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from prometheus_support import Made, fetched, serving, some
from store_support import tiny_store

from tracekit.base.errors import TracekitError
from tracekit.base.files.replacing import replaced_file
from tracekit.commands.shell import run
from tracekit.intake.fetch.kubernetes import packing
from tracekit.intake.fetch.prometheus_query import NAME
from tracekit.store.folder import _sealed, read_manifest


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A folder outside of all that is written; nothing in it may change."""
    (tmp_path / "victim").mkdir()
    for name in ("file.txt", "part-00000.parquet", "part-00001.parquet", "slice.json.gz"):
        (tmp_path / "victim" / name).write_text("precious")
    return tmp_path / "victim"


def _files(folder: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in folder.iterdir()}


def _slices(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    document = json.loads((folder / NAME).read_text())
    change(document)
    (folder / NAME).write_text(json.dumps(document))


def _each_slice(**changed: object) -> Callable[[dict[str, Any]], object]:
    warned = {"warnings": ["PromQL: partial response: store-1 unavailable"]}
    return lambda document: [
        one.update({**warned, **changed}) for every in document["slices"].values() for one in every
    ]


@pytest.mark.parametrize(
    "change",
    [
        _each_slice(file="../victim/file.txt", size_bytes=8),
        _each_slice(file="kubernetes.json.gz", size_bytes=8),
        _each_slice(start_s="x"),
        _each_slice(end_s=0),
        _each_slice(other=1),
        lambda document: document.pop("asked"),
        lambda document: document.update(asked=5),
        lambda document: document.update(times="x"),
        lambda document: document.update(times={"start_s": 1}),
        lambda document: document.update(slices=[1]),
    ],
)
def test_a_changed_document_of_a_fetch_is_asked_anew(
    victim: Path, tmp_path: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    out, before = tmp_path / "out", _files(victim)
    with serving(Made(replies=[some])) as made:
        whole = fetched(made.url, out)
        (out / "kubernetes.json.gz").write_text("precious")
        _slices(out, change)
        assert fetched(made.url, out).queries[0].files == whole.queries[0].files
    assert _files(victim) == before
    assert (out / "kubernetes.json.gz").read_text() == "precious"


@pytest.mark.parametrize("name", [f"{NAME}.new", f"{NAME}.lock", ".container_cpu_in_use.part"])
def test_a_fetch_writes_through_no_link(victim: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).symlink_to(victim / "file.txt")
    before = _files(victim)
    with serving(Made(replies=[some])) as made, pytest.raises((TracekitError, OSError)):
        fetched(made.url, tmp_path / "out")
    assert _files(victim) == before


def test_a_file_whose_name_nobody_typed_takes_the_place_of_a_link(
    victim: Path, tmp_path: Path
) -> None:
    (tmp_path / "kubernetes.json.gz").symlink_to(victim / "file.txt")
    before = _files(victim)
    with replaced_file(tmp_path / "kubernetes.json.gz", follow=False) as made, packing(made) as out:
        out.write(b"{}")
    assert _files(victim) == before
    assert not (tmp_path / "kubernetes.json.gz").is_symlink()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_store(tmp_path_factory.mktemp("linked")).path


@pytest.mark.parametrize(
    "link",
    [None, "tables", "tables/node/part-00001.parquet", "quality", ".staging", ".lock",
     ".manifest.json.new", ".catalog.duckdb.new"],
)  # fmt: skip
def test_a_store_is_written_through_no_link(
    made: Path, victim: Path, tmp_path: Path, link: str | None
) -> None:
    store = shutil.copytree(made, tmp_path / "store")
    if link is not None:
        place = store / link
        if place.is_dir():
            shutil.rmtree(place)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        place.symlink_to(victim / "file.txt" if "." in link else victim)
    before = _files(victim)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/nodes.csv").write_text("node,cpu_milli,memory_bytes\nn9,8000,34359738368\n")
    assert run(["ingest", str(tmp_path / "mine"), str(store), "--jobs", "1"]) == (2 if link else 0)
    assert _files(victim) == before


@pytest.mark.parametrize(
    "change", [{"dimensions": {"../../victim": 1}}, {"sources": [{"table": "../../victim"}]}]
)
def test_a_manifest_names_tables_by_plain_words(
    made: Path, tmp_path: Path, change: Mapping[str, Any]
) -> None:
    store = shutil.copytree(made, tmp_path / "store")
    path = store / "manifest.json"
    document = json.loads(path.read_text())
    document.pop("seal")
    for key, value in change.items():
        if isinstance(value, list):
            document[key][0].update(value[0])
        else:
            document[key].update(value)
    path.write_bytes(_sealed(json.dumps(document).removesuffix("}").encode()))
    with pytest.raises(TracekitError):
        read_manifest(store)


@pytest.mark.parametrize("link", [".synth-partial", "truth", ".lock"])
def test_a_made_up_trace_is_written_through_no_link(
    victim: Path, tmp_path: Path, link: str
) -> None:
    out = tmp_path / "out"
    words = ["synth", str(out), "--preset", "tiny", "--tables", "node", "--parts", "0"]
    assert run(words) == 0
    if (out / link).exists():
        (out / link).rename(victim / link)
    (out / link).symlink_to(victim / {"truth": link, ".lock": "file.txt"}.get(link, ""))
    before = {one: one.read_bytes() for one in victim.rglob("*") if one.is_file()}
    assert run(words) == 2
    assert {one: one.read_bytes() for one in victim.rglob("*") if one.is_file()} == before
