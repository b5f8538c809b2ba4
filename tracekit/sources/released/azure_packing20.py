"""Requests of virtual machines in one zone of Azure, in fractions of the machine types they fit.

Facts: Azure/AzurePublicDataset, AzureTracesForPacking2020.md (one sqlite file).
"""

from tracekit.sources import ClusterFile, ClusterSource
from tracekit.sources.released import _azure_packing20_readers as readers

SOURCE = ClusterSource(
    name="azure_packing20",
    title="Azure trace for packing 2020: VM requests of 14 days with CPU, memory, disks, network",
    url="https://github.com/Azure/AzurePublicDataset/blob/master/AzureTracesForPacking2020.md",
    missing_names=frozenset({""}),
    licence="CC-BY-4.0",
    files=(
        ClusterFile(
            word="packing",
            title="VM requests and VM types, in one sqlite file",
            tables=("container", "container_resource", "node", "node_resource"),
            recognises=readers.is_packing,
            read=readers.read_packing,
            alone=True,
        ),
    ),
    lacks=(
        "machines: none is named, nor how many there are of a type",
        "cores and bytes: all sizes are fractions of a machine type",
        "usage",
        "placement",
        "failure domains",
    ),
    inferred=(
        "sizes of machine types, the largest 1: by what the same VM types take of them",
        "one node stands for each machine type",
        "priority 1 is upstream's 0 (high), 0 is upstream's 1 (low)",
        "a VM whose start is negative was there before: it arrives at 0",
    ),
    notes=(
        "a low-priority VM may have been evicted: its departure hangs on Azure's own placement",
        "departures lie up to 90 days behind the start, arrivals 14",
        "replay it with nodes of your own: as many of each platform as you want to try",
    ),
)
