"""The real trace's numbers: 138.8 M container rows, 370 M rate rows, 0.8 G calls; 60 GB packed."""

from tracekit.synth.presets import Preset

PRESET = Preset(
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
)
