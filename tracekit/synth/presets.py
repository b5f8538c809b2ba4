"""The presets: sizes of made-up traces."""

from dataclasses import dataclass

from tracekit.base import registry
from tracekit.base.units import MS_PER_HOUR, MS_PER_MINUTE

STEPS_PER_MINUTE = 2
STEPS_PER_HOUR = 120
MINUTES_PER_RATE_FILE = 30


@dataclass(frozen=True, kw_only=True)
class Preset:
    """The size of a made-up trace.

    Parameters
    ----------
    hours : int
        Length of the trace. Usage is sampled every 30 s, call rates every minute.
    call_minutes_per_file : int
        Minutes that one MSCallGraph archive covers; 5 in the real release. Small traces have
        fewer and longer archives.
    block_entities : int
        The number of nodes or containers in a block of rows of a file, ordered by time.
    fault_share : float
        Rows of each kind of defect, as a share of a table's rows.
    fault_minimum : int
        The least number of rows of each kind of defect in a table.
    kind_shares : tuple of float
        Shares of services of each kind of ``METRIC_PAIRS``; these shares determine the rows of
        MSRTQps.
    entry_calls_on, calls_on : float, 0..1
        The probability that the entry of a trace, and a call below it, makes calls; both
        determine the size of the traces.
    batch_traces : int
        The number of traces made at once, which limits the memory.
    truth_traces : int
        One in so many traces has its calls listed one by one in the truth.
    room : bool
        Whether a decision is planted: see ``tracekit.synth.room``.
    """

    title: str
    nodes: int
    services: int
    containers: int
    hours: int
    traces: int
    call_minutes_per_file: int
    block_entities: int = 64
    fault_share: float = 3e-5
    fault_minimum: int = 3
    kind_shares: tuple[float, ...] = (0.60, 0.18, 0.15, 0.07)
    entry_calls_on: float = 0.68
    calls_on: float = 0.50
    batch_traces: int = 8_000
    truth_traces: int = 1
    room: bool = False

    @property
    def steps(self) -> int:
        """Number of usage samples of each entity."""
        return self.hours * STEPS_PER_HOUR

    @property
    def minutes(self) -> int:
        """Number of samples of call rates, with both ends of the trace."""
        return self.hours * 60 + 1

    @property
    def horizon_ms(self) -> int:
        """Length of the trace."""
        return self.hours * MS_PER_HOUR

    @property
    def rate_files(self) -> int:
        """Number of MSRTQps archives: half an hour each; the last has one minute."""
        return -(-self.minutes // MINUTES_PER_RATE_FILE)

    @property
    def call_files(self) -> int:
        """Number of MSCallGraph archives."""
        return self.horizon_ms // self.call_file_ms

    @property
    def call_file_ms(self) -> int:
        """Time that one MSCallGraph archive covers."""
        return self.call_minutes_per_file * MS_PER_MINUTE


#: Every preset, by name.
_PRESETS = {
    # Two hours of a dozen nodes: for tests, written in under a second.
    "tiny": Preset(
        title="12 nodes, 80 containers, 2 h",
        nodes=12,
        services=12,
        containers=80,
        hours=2,
        traces=300,
        call_minutes_per_file=60,
        block_entities=16,
    ),
    # A hundredth of the real trace, all 12 hours of it, on a cluster that has room.
    "small": Preset(
        title="130 nodes, 964 containers, 12 h: 1/100 of the real trace",
        nodes=130,
        services=64,
        containers=964,
        hours=12,
        traces=20_000,
        call_minutes_per_file=60,
        room=True,
    ),
    # A twentieth of the real trace: 7 M rows of containers, 19 M of rates, 41 M calls; 2.5 GB.
    "medium": Preset(
        title="650 nodes, 4,820 containers, 12 h: 1/20 of the rows of the real trace",
        nodes=650,
        services=200,
        containers=4_820,
        hours=12,
        traces=842_528,
        call_minutes_per_file=15,
        kind_shares=(0.30, 0.32, 0.31, 0.07),
        entry_calls_on=0.95,
        calls_on=0.712,
        batch_traces=4_000,
        truth_traces=100,
    ),
    # The size of the real trace: 139 M rows of containers, 370 M of rates, 19 M of nodes, 816 M
    # calls; about 88 GB packed (the real one has 61 GiB: its rates and calls pack better). Its
    # archives of container usage are as large as the real ones; so are its traces on average (48
    # rows), though they are more uneven. ``--tables resource --parts 0`` writes one.
    "ctm21": Preset(
        title="13,000 nodes, 96,400 containers, 12 h: as many rows as the real trace",
        nodes=13_000,
        services=1_300,
        containers=96_400,
        hours=12,
        traces=16_850_551,
        call_minutes_per_file=5,
        block_entities=1_024,
        fault_share=1e-6,
        kind_shares=(0.30, 0.32, 0.31, 0.07),
        entry_calls_on=0.95,
        calls_on=0.712,
        batch_traces=4_000,
        truth_traces=100,
    ),
}


def all_presets() -> dict[str, Preset]:
    """Return every preset, by name."""
    return dict(sorted(_PRESETS.items()))


def get_preset(name: str) -> Preset:
    """Return the preset of that name; raises TracekitError for an unknown one."""
    return registry.pick(all_presets(), name, "preset", listing=", ".join(all_presets()))
