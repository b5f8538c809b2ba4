"""Ingest into an object store: files are read and sorted here, and finished parts are put there.

The workbench is a temporary folder that holds what an ingest needs of the store: the manifest and
the ids that have keys. A file's part, rejects and new ids are put first and the manifest after
them: whoever reads the store sees the file whole or not at all.
"""

import dataclasses
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tracekit.base.constants import GO_ON
from tracekit.base.errors import TracekitError
from tracekit.base.files.lock import LOCK
from tracekit.base.files.places import telling
from tracekit.intake.ingest.remote.lease import Lease, leased
from tracekit.intake.ingest.remote.put import (
    OvertakenError,
    get_bytes,
    get_file,
    put_file,
    put_over,
)
from tracekit.store.folder import Store, dimension_paths, part_path
from tracekit.store.manifest import NAME, Manifest, read_manifest, write_manifest
from tracekit.store.quality import write_quality
from tracekit.store.quantities import quantities, together

#: What goes up, in this order; of these the ids are needed here further on.
_PARTS = ("dimensions", "tables", "rejects", "quality")
_KEPT = "dimensions"


class Workbench:
    """A folder of this machine on which a store of an object store is written."""

    def __init__(self, store: Path, folder: Path, lease: Lease) -> None:
        self.folder = folder
        self._store = store
        self._lease = lease
        self._manifest: bytes | None = None
        self._there: set[Path] = set()
        self._quantities: dict[str, str] = {}

    def fetch(self) -> None:
        """Bring the manifest and the ids of the store, if there is one."""
        self._manifest = get_bytes(self._store / NAME)
        if self._manifest is None:
            self._check_empty()
            return
        self.folder.mkdir()
        (self.folder / NAME).write_bytes(self._manifest)
        manifest = read_manifest(self.folder)
        self._quantities = manifest.quantities
        for entity, count in manifest.dimensions.items():
            for there in dimension_paths(self._store, entity, count):
                here = self.folder / str(there.relative_to(self._store))
                get_file(there, here)
                self._there.add(here)

    def _check_empty(self) -> None:
        folders = {*_PARTS, LOCK}
        others = [one for one in self._store.iterdir() if one.name not in folders]
        if others:
            raise TracekitError(
                f"{self._store} is not empty and not a store: {others[0].name} is there",
                hint="name a new folder for the store",
            )

    def commit(self, manifest: Manifest) -> None:
        """Put what a file brought, and then the manifest with the file in it."""
        manifest = dataclasses.replace(manifest, quantities=self._known(manifest))
        write_quality(Store(self.folder, manifest))
        with telling():
            self._lease.check()
            for part in _PARTS:
                self._put_new(part)
            write_manifest(self.folder, manifest)
            after = (self.folder / NAME).read_bytes()
            try:
                put_over(self._store / NAME, after, self._manifest)
            except OvertakenError:
                raise TracekitError(
                    f"{self._store} was written by another process meanwhile",
                    hint=GO_ON,
                ) from None
        self._manifest = after

    def _known(self, manifest: Manifest) -> dict[str, str]:
        """The record of the parts that are here, before they go."""
        here = [e for e in manifest.sources if (self.folder / part_path(e.table, e.part)).exists()]
        brought = dataclasses.replace(manifest, sources=tuple(here))
        self._quantities = together(self._quantities, quantities(Store(self.folder, brought)))
        return self._quantities

    def _put_new(self, part: str) -> None:
        for here in sorted((self.folder / part).rglob("*.parquet")):
            if here not in self._there:
                put_file(here, self._store / here.relative_to(self.folder).as_posix())
                if part == _KEPT:
                    self._there.add(here)
                else:
                    here.unlink()


@contextmanager
def workbench(store: Path) -> Iterator[Workbench]:
    """Hold a store for writing, with a workbench for it.

    Raises TracekitError when it is written by another process, or is no store.
    """
    with (
        telling(),
        tempfile.TemporaryDirectory(prefix="tracekit-ingest-") as folder,
        leased(store) as lease,
    ):
        bench = Workbench(store, Path(folder) / "store", lease)
        bench.fetch()
        yield bench
