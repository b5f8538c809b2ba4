"""Two hours of a dozen nodes: for tests, written in under a second."""

from tracekit.synth.presets import Preset

PRESET = Preset(
    title="12 nodes, 80 containers, 2 h",
    nodes=12,
    services=12,
    containers=80,
    hours=2,
    traces=300,
    call_minutes_per_file=60,
    block_entities=16,
)
