"""Inferred sizes with their doubt: what is drawn, and that the measured use of nodes stays."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from replay_support import changed

from tracekit.answer.repeat import repeat_replay
from tracekit.base.arrays import FloatArray, stream
from tracekit.cluster.enlarged import multiplied
from tracekit.cluster.gangs import rearranged, with_drawn_sizes
from tracekit.cluster.provenance import SizeDoubt
from tracekit.cluster.source import source_of
from tracekit.cluster.workload import Workload
from tracekit.intake.ingest import ingest
from tracekit.policy.entrant import parse_entrant
from tracekit.store.folder import open_store
from tracekit.synth import write


def doubt_of(group: np.ndarray, groups: int, **changed: object) -> SizeDoubt:
    """CPU estimated of the even groups, and nothing of memory."""
    estimated = np.zeros((groups, 2), dtype=np.bool_)
    estimated[::2, 0] = True
    nothing = np.full(groups, np.nan)
    made = SizeDoubt(
        group=group,
        size=np.stack([np.full(groups, 4000.0), nothing], axis=1),
        low=np.stack([np.where(estimated[:, 0], 3000.0, 0.0), nothing], axis=1),
        high=np.stack([np.where(estimated[:, 0], 5000.0, 9000.0), nothing], axis=1),
        estimated=estimated,
        common=np.array([4000.0, np.nan]),
        common_low=np.array([3500.0, np.nan]),
        common_high=np.array([4500.0, np.nan]),
        spread=np.array([0.4, 0.0]),
        limit_factor=1.5,
        of_use=True,
    )
    return dataclasses.replace(made, **changed)  # type: ignore[arg-type]


def test_estimated_sizes_come_from_the_normal_distribution_of_their_interval() -> None:
    doubt = doubt_of(np.arange(20_000), 20_000)
    drawn = doubt.drawn(stream(0, "sizes"))
    estimated = drawn[::2, 0]
    assert estimated.mean() == pytest.approx(4000, rel=0.01)
    assert ((estimated >= 3000) & (estimated <= 5000)).mean() == pytest.approx(0.95, abs=0.01)


def test_other_sizes_lie_around_the_common_one_within_what_is_not_ruled_out() -> None:
    doubt = doubt_of(np.arange(20_000), 20_000)
    other = doubt.drawn(stream(1, "sizes"))[1::2, 0]
    assert np.median(other) == pytest.approx(4000, rel=0.15)
    assert other.max() <= 9000
    assert np.log(other[other < 9000]).std() == pytest.approx(0.4, rel=0.15)
    # the common size is drawn too
    medians = [np.median(doubt.drawn(stream(at, "m"))[1::2, 0]) for at in range(100)]
    assert np.std(medians) == pytest.approx(1000 / (2 * 1.96), rel=0.2)


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Workload:
    """A workload with doubt about CPU, two groups of services."""
    folder = tmp_path_factory.mktemp("drawn")
    write(folder / "trace", preset="tiny", seed=2, tables=["node", "resource"])
    ingest(folder / "trace", folder / "store")
    plain = source_of(open_store(folder / "store"), None).load()
    names, group = np.unique(np.array(plain.containers.services), return_inverse=True)
    return changed(
        plain,
        provenance={
            "doubt": doubt_of(group, len(names), node_use=node_use(plain).astype(np.float32))
        },
    )


def own_use(load: Workload) -> FloatArray:
    """Use of each node by the containers recorded there, shape (2, steps, nodes)."""
    values = np.zeros(load.use.background.shape)
    for step in range(len(load.use.times_ms)):
        use = np.nan_to_num(load.use.at(step))
        for resource in range(2):
            np.add.at(values[resource, step], load.containers.recorded_node, use[resource])
    return values


def node_use(load: Workload) -> FloatArray:
    return np.asarray(load.use.background + own_use(load))


def test_use_is_drawn_with_sizes_and_nodes_keep_theirs(load: Workload) -> None:
    made = with_drawn_sizes(load, stream(3, "draw"))
    assert load.provenance.doubt is not None
    assert load.provenance.doubt.node_use is not None
    factor = made.containers.request[:, 0] / load.containers.request[:, 0]
    each = [
        np.unique(factor[np.array(load.containers.services) == name])
        for name in set(load.containers.services)
    ]
    assert all(len(one) == 1 for one in each)
    assert len(np.unique(factor)) > 5
    np.testing.assert_allclose(made.use.values[0], load.use.values[0] * factor, rtol=1e-3)
    np.testing.assert_array_equal(made.use.values[1], load.use.values[1])
    np.testing.assert_array_equal(made.containers.request[:, 1], load.containers.request[:, 1])
    assert (made.containers.limit[:, 0] == np.ceil(made.containers.request[:, 0] * 1.5)).all()
    # what a node used was measured: whatever containers take, the rest is its background
    rest = np.maximum(load.provenance.doubt.node_use - own_use(made), 0)
    np.testing.assert_allclose(made.use.background, rest, rtol=1e-4, atol=1.0)
    np.testing.assert_allclose(node_use(made)[0].sum(), node_use(load)[0].sum(), rtol=0.02)


def test_without_doubt_nothing_is_drawn(load: Workload) -> None:
    plain = changed(load, provenance={"doubt": None})
    made = rearranged(plain, stream(4, "arrivals"))
    assert (
        np.sort(made.containers.request[:, 0]).tolist()
        == np.sort(plain.containers.request[:, 0]).tolist()
    )
    assert made.use.values is plain.use.values


def test_replicas_are_drawn_with_their_originals(load: Workload) -> None:
    made = with_drawn_sizes(multiplied(load, Fraction(2), stream(1, "replicas")), stream(6, "draw"))
    again = with_drawn_sizes(load, stream(6, "draw"))
    sizes = dict(zip(again.containers.ids, again.containers.request[:, 0], strict=True))
    for name, wanted in zip(made.containers.ids, made.containers.request[:, 0], strict=True):
        assert wanted == sizes[name.split("+")[0]]
    # replicas bring no measured use with them
    np.testing.assert_allclose(made.use.background, again.use.background, rtol=1e-5, atol=1.0)


def test_repeats_cover_the_doubt_of_sizes(load: Workload) -> None:
    """Use of the fullest node differs from order to order more than without doubt."""

    def spread(of: Workload) -> float:
        run = repeat_replay(of, [parse_entrant("observed")], seed=1, repeats=8)
        assert run.repeats is not None
        return float(np.std(run.repeats["imbalance_mean"].to_numpy()))

    # production's placement is the same in every order: without doubt nothing differs
    tight = spread(changed(load, provenance={"doubt": None}))
    assert spread(load) > 10 * tight
