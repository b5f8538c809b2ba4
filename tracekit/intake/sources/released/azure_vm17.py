"""Virtual machines of Azure with their lives, sizes and CPU use, as released for 2017 and 2019.

Facts: Azure/AzurePublicDataset, AzurePublicDatasetV1.md and V2.md, and their notebooks.
"""

from tracekit.intake.sources._described import Released
from tracekit.intake.sources._kind import Kind

_ID = r"[A-Za-z0-9+/]{20,}=*"
_SIZE = r">?[\d.]+"

SOURCE = Released(
    name="azure_vm17",
    title="Azure VM traces of 2017 and 2019: 2.0 and 2.7 million VMs of 30 days, CPU every 300 s",
    url="https://github.com/Azure/AzurePublicDataset/blob/master/AzurePublicDatasetV1.md",
    licence="CC-BY-4.0",
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
    kinds=(
        Kind(
            word="vms",
            title="VMs: life, vCPUs, memory",
            columns=rf"vm!={_ID} -={_ID}| deployment={_ID}| created:seconds!=\d+"
            r" deleted:seconds!=\d+ -=[-+.\deE]* -=[-+.\deE]* -=[-+.\deE]* -=[A-Za-z\x20-]*"
            rf" cores={_SIZE} memory={_SIZE}",
            rules=(
                (
                    "cores: NOT coalesce(bucket(cores, '>24', 30) > 0, false)"
                    " -> a size above 0, or >24"
                ),
                (
                    "memory: NOT coalesce(bucket(memory, '>64', 70) > 0, false)"
                    " -> a size above 0, or >64"
                ),
                "deleted: deleted < created -> a time behind its creation",
            ),
        ),
        Kind(
            word="readings",
            title="CPU use of VMs over 300 s",
            columns=rf"time:seconds!=\d+ vm!={_ID} -=[-+.\deE]* -=[-+.\deE]* average:percent!",
            beside=("vms",),
            needs={"vms": "put vmtable.csv.gz into the same folder and ingest the folder"},
        ),
    ),
)
