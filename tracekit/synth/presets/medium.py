"""A twentieth of the real trace in usage, fewer of its traces: half a minute, 0.7 GB."""

from tracekit.synth.presets import Preset

PRESET = Preset(
    title="650 nodes, 4,820 containers, 12 h: 1/20 of the real trace",
    nodes=650,
    services=200,
    containers=4_820,
    hours=12,
    traces=200_000,
    call_minutes_per_file=15,
)
