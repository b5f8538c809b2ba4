"""Arrivals of virtual machines by flavour and tenant's batch, derived from Azure's trace of 2017.

Facts: huaweicloud/trace_generation_rnn, INPUT.md, resources/traces and resources/maps.
"""

from tracekit.intake.sources._described import Released
from tracekit.intake.sources._kind import Kind

_OF_ARRIVALS = {"arrivals": "put v1.train.txt, v1.dev.txt or v1.test.txt into the same folder"}

SOURCE = Released(
    name="azure_v1_arrivals",
    title="Arrivals derived from Azure's VMs of 2017: 16 flavours, batches, durations in bins",
    url="https://github.com/huaweicloud/trace_generation_rnn",
    licence="CC-BY-4.0 (Azure)",
    lacks=(
        "machines and their sizes",
        "usage",
        "placement",
        "departures, where the file of durations is not ingested with the arrivals",
        "exact times: arrivals stand in bins of 300 s, durations in 46 bins",
        "tenants over time: a batch is one tenant's in one bin",
    ),
    inferred=(
        "a VM arrives at the end of its bin of 300 s",
        "a duration is the middle of its bin, and 300 s at least",
        "a censored VM (C) stays",
        "a GB is 2^30 bytes",
        "each batch is a service",
    ),
    notes=(
        "ids begin with the split: dev/0 is the first VM of v1.dev.txt",
        "ingest a split with its durations and both maps, all in one folder",
    ),
    kinds=(
        Kind(
            word="arrivals",
            title="flavours that arrive, bin by bin (v1.dev.txt)",
            columns=r"time:whole!=\d+ words=(?:[a-z|],)+[a-z|]?",
            separator=" ",
            fewest=1,
            beside=("flavours", "durations", "intervals"),
            needs={"flavours": "put resources/maps/flav_map.txt into the same folder"},
            whole=True,
        ),
        Kind(
            word="durations",
            title="duration bins of the same VMs (v1.dev.c2100000.txt)",
            columns=r"time:whole!=\d+ words=(?:(?:[UC]\d+|\|),)+(?:[UC]\d+|\|)?",
            separator=" ",
            fewest=1,
            needs=_OF_ARRIVALS,
            whole=True,
            tables=("container",),
        ),
        Kind(
            word="flavours",
            title="vCPUs and GB of the flavours (flav_map.txt)",
            columns=r"size!=\d+,\d+(?:\.\d+)? flavour!=[a-z]",
            separator=" ",
            stem="flav_map.txt",
            needs=_OF_ARRIVALS,
            tables=("container_resource",),
        ),
        Kind(
            word="intervals",
            title="durations of the bins (v1.interval_map.txt)",
            columns=r"seconds:number!=\d+ bin:whole!=\d+",
            separator=" ",
            stem="interval_map",
            needs=_OF_ARRIVALS,
            tables=("container",),
        ),
    ),
)
