"""Cases of the field: small inputs that once came out wrong, each with the rows that are right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tracekit.base.errors import TracekitError
from tracekit.intake.ingest import ingest
from tracekit.store.folder import open_store
from tracekit.store.query import Database

CASES = sorted((Path(__file__).parent / "field").iterdir())
#: In place of a query: a word of the error that the ingest ends with.
REFUSED = "refused"


@pytest.mark.parametrize("case", CASES, ids=[one.name for one in CASES])
def test_the_rows_of_a_case_are_those_that_are_right(tmp_path: Path, case: Path) -> None:
    expected = json.loads((case / "expected.json").read_text())
    refused = expected.pop(REFUSED, None)
    if refused is None:
        ingest(case / "in", tmp_path / "store")
    else:
        with pytest.raises(TracekitError) as error:
            ingest(case / "in", tmp_path / "store")
        assert refused in f"{error.value.what} {error.value.hint}"
    if expected:
        with Database(open_store(tmp_path / "store")) as database:
            found = {sql: [list(row) for row in database.frame(sql).rows()] for sql in expected}
        assert found == expected
