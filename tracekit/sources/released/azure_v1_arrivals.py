"""Arrivals of virtual machines by flavour and tenant's batch, derived from Azure's trace of 2017.

Facts: huaweicloud/trace_generation_rnn, INPUT.md, resources/traces and resources/maps.
"""

from tracekit.sources import ClusterFile, ClusterSource
from tracekit.sources.released import _azure_v1_arrivals_readers as readers

SOURCE = ClusterSource(
    name="azure_v1_arrivals",
    title="Arrivals derived from Azure's VMs of 2017: 16 flavours, batches, durations in bins",
    url="https://github.com/huaweicloud/trace_generation_rnn",
    missing_names=frozenset({""}),
    licence="CC-BY-4.0 (Azure)",
    files=(
        ClusterFile(
            word="arrivals",
            title="flavours that arrive, bin by bin (v1.dev.txt)",
            tables=("container", "container_resource"),
            recognises=readers.is_arrivals,
            read=readers.read_arrivals,
        ),
        ClusterFile(
            word="durations",
            title="duration bins of the same VMs (v1.dev.c2100000.txt)",
            tables=("container",),
            recognises=readers.is_durations,
            read=readers.read_durations,
        ),
        ClusterFile(
            word="flavours",
            title="vCPUs and GB of the flavours (flav_map.txt)",
            tables=("container_resource",),
            recognises=readers.is_flavours,
            read=readers.read_partner,
        ),
        ClusterFile(
            word="intervals",
            title="durations of the bins (v1.interval_map.txt)",
            tables=("container",),
            recognises=readers.is_intervals,
            read=readers.read_partner,
        ),
    ),
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
)
