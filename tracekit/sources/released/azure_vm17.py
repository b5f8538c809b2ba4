"""Virtual machines of Azure with their lives, sizes and CPU use, as released for 2017 and 2019.

Facts: Azure/AzurePublicDataset, AzurePublicDatasetV1.md and V2.md, and their notebooks.
"""

from tracekit.sources import ClusterFile, ClusterSource
from tracekit.sources.released import _azure_vm17_readers as readers

SOURCE = ClusterSource(
    name="azure_vm17",
    title="Azure VM traces of 2017 and 2019: 2.0 and 2.7 million VMs of 30 days, CPU every 300 s",
    url="https://github.com/Azure/AzurePublicDataset/blob/master/AzurePublicDatasetV1.md",
    missing_names=frozenset({""}),
    licence="CC-BY-4.0",
    files=(
        ClusterFile(
            word="vms",
            title="VMs: life, vCPUs, memory",
            tables=("container", "container_resource"),
            recognises=readers.VMS.fits,
            read=readers.read_vms,
        ),
        ClusterFile(
            word="readings",
            title="CPU use of VMs over 300 s",
            tables=("container_amount",),
            recognises=readers.READINGS.fits,
            read=readers.read_readings,
        ),
    ),
    lacks=(
        "machines and their sizes",
        "placement",
        "memory use, disks, network",
        "least and largest CPU use of the 300 s, categories, subscriptions: not read",
        "exact sizes in the release of 2019: vCPUs and GB are buckets",
    ),
    inferred=(
        "a bucket counts as its upper bound",
        ">24 vCPUs are 30 and >64 GB are 70, as in upstream's notebook",
        "a GB is 2^30 bytes",
        "a VM that is deleted at 2,591,400 s or later outlives the trace: it stays",
        "a VM lives 300 s at least, as in upstream's notebook",
    ),
    notes=(
        "VMs of time 0 were there before",
        "readings are percent of a VM's vCPUs: ingest them with the VM table, which says how many",
        "the service of a VM is its deployment",
    ),
)
