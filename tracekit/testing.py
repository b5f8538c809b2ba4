"""Contracts that a package of one's own can hold its policies, measures and sources to.

A test derives a class from a contract and gives the thing by a fixture; pytest collects the rest::

    from tracekit.testing import PolicyContract

    class TestMine(PolicyContract):
        @pytest.fixture
        def policy(self):
            return Mine

tracekit's own registries are held to the same. An installed package brings its things by entry
points of the groups ``tracekit.policies``, ``tracekit.measures`` and ``tracekit.intake.sources``.
"""

import dataclasses

import numpy as np

from tracekit.base import parameters
from tracekit.intake.sources import ClusterFile, ClusterSource, Source, TableFormat
from tracekit.policy.parse import build_policy
from tracekit.policy.placement import PlacementPolicy
from tracekit.policy.promises import check_promises
from tracekit.replay.measures import Measure
from tracekit.store.tables import all_tables

__all__ = ["MeasureContract", "PolicyContract", "SourceContract"]

#: Units that the end of a measure's name states, and those of plain counts.
_UNITS = {"_ms": "ms", "_per_hour": "1/h", "_fraction": "0..1", "_share": "0..1"}
_COUNTS = {"nodes", "containers", "moves", "decisions", "node-steps", "container-steps"}


class PolicyContract:
    """Tests that every placement policy passes; a fixture gives its class as ``policy``."""

    def test_keeps_what_is_promised(self, policy: type[PlacementPolicy]) -> None:
        """A policy is documented and repeatable, and scores each node alone, by a finite number."""
        check_promises(policy, np.random.default_rng(1))

    def test_parameters_are_given_by_name(self, policy: type[PlacementPolicy]) -> None:
        """A policy's parameters are keyword-only."""
        assert all(field.kw_only for field in dataclasses.fields(policy))

    def test_text_reads_back(self, policy: type[PlacementPolicy]) -> None:
        """A policy's text with all of its parameters parses to an equal policy."""
        made = policy(tie="reservoir")
        _, given = parameters.split(f"x[{parameters.spell_all(made, defaults=True)}]")
        assert build_policy(policy, given) == made


class MeasureContract:
    """Tests that every measure of a replay passes; fixtures give ``name`` and ``measure``."""

    def test_is_described(self, name: str, measure: Measure) -> None:
        """A measure has words for tables and pages, and a reason for which end is better."""
        assert measure.title[:1].isupper() or measure.per_resource, name
        assert measure.meaning
        assert measure.formula
        assert measure.because
        assert measure.group in {"answer", "resource", "detail"}
        assert measure.better in {"low", "high", None}

    def test_unit_agrees_with_the_name(self, name: str, measure: Measure) -> None:
        """A measure whose name ends in a unit has that unit."""
        ending = next((unit for end, unit in _UNITS.items() if name.endswith(end)), None)
        assert measure.unit in {*_COUNTS, *_UNITS.values()}
        assert ending in {measure.unit, None}

    def test_is_taken_in_one_way(self, name: str, measure: Measure) -> None:
        """A measure is computed either at each step or for the whole run."""
        assert (measure.step is None) != (measure.of_run is None), name


class SourceContract:
    """Tests that every source passes; a fixture gives ``source``, the object under test."""

    def test_is_described(self, source: Source) -> None:
        """A source has a title, an address, and either described tables or functions that read."""
        assert source.name
        assert source.title
        assert source.url.startswith("https://")
        assert "" in source.missing_names
        by_code = isinstance(source, ClusterSource) and bool(source.files)
        assert bool(source.formats) != by_code

    def test_formats_fill_base_tables(self, source: Source) -> None:
        """A described table has each column of its base table, and no other."""
        for one in source.formats:
            spread = [one.unpivot.name_column, one.unpivot.value_column] if one.unpivot else []
            expected = [column.name for column in all_tables()[one.table].columns]
            assert sorted([*one.columns, *spread]) == sorted(expected), one.file_stem

    def test_files_name_base_tables(self, source: Source) -> None:
        """A function that reads names its tables, its licence and what its files lack."""
        if isinstance(source, ClusterSource):
            assert source.licence
            assert source.lacks
            for file in source.files:
                assert file.title
                assert set(file.tables) <= set(all_tables())
                assert file.tables

    def test_words_of_files_differ(self, source: Source) -> None:
        """No two kinds of file have the same ``word``, by which a kind is fetched."""
        files = source.files if isinstance(source, ClusterSource) else ()
        kinds: list[TableFormat | ClusterFile] = [*source.formats, *files]
        assert len({kind.word for kind in kinds}) == len(kinds)
