"""A hundredth of the real trace, all 12 hours of it, on a cluster that has room."""

from tracekit.synth.presets import Preset

PRESET = Preset(
    title="130 nodes, 964 containers, 12 h: 1/100 of the real trace",
    nodes=130,
    services=64,
    containers=964,
    hours=12,
    traces=20_000,
    call_minutes_per_file=60,
    room=True,
)
