"""Every document has a JSON schema, and is as it says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from schema_support import FOLDER, NOT_HERE, documents, file_of_schema, schema_of

import tracekit

NAMES = sorted(json.loads(path.read_bytes())["$id"][:-5] for path in FOLDER.glob("*.json"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    return documents(tmp_path_factory.mktemp("documents"))


def written(name: str) -> Any:
    return json.loads(file_of_schema(name).read_bytes())


def test_every_schema_that_the_code_names_is_written() -> None:
    package = Path(str(tracekit.__file__)).parent
    text = "".join(path.read_text(encoding="utf-8") for path in package.rglob("*.py"))
    named = set(re.findall(r'"(tracekit/[a-z_-]+/\d)"', text))
    assert len(named) > 20
    assert named <= {*NAMES, *NOT_HERE}
    assert "tracekit/store/1" in NAMES


@pytest.mark.slow
def test_no_schema_is_of_something_that_is_gone(made: dict[str, list[Any]]) -> None:
    assert sorted(made) == NAMES, "run tests/support/schema_support.py"


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_documents_are_as_their_schema_says(name: str, made: dict[str, list[Any]]) -> None:
    schema = written(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for document in made[name]:
        validator.validate(document)
    # what is new in a document is new in its schema too
    fresh = schema_of(name, made[name])
    assert schema["required"] == fresh["required"], "run tests/support/schema_support.py"
    assert sorted(schema["properties"]) == sorted(fresh["properties"])


def test_a_schema_tells_a_document_from_another() -> None:
    validator = jsonschema.Draft202012Validator(written("tracekit/compare/1"))
    assert list(validator.iter_errors({"schema": "tracekit/compare/1"}))
    assert list(validator.iter_errors({"schema": "tracekit/replay/1", "changes": []}))
