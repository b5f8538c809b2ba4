"""The size of the real trace: 139 M rows of containers, 370 M of rates, 19 M of nodes, 816 M calls.

About 88 GB packed (the real one has 61 GiB: its rates and calls pack better). Its archives of
container usage are as large as the real ones; so are its traces on average (48 rows), though they
are more uneven. ``tracekit synth OUT --preset ctm21 --tables resource --parts 0`` writes one.
"""

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
