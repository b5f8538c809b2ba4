"""A twentieth of the real trace: 7 M rows of containers, 19 M of rates, 41 M calls; 2.5 GB."""

from tracekit.synth.presets import Preset

PRESET = Preset(
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
)
