"""Azure's VMs of 2017 and 2019, and arrivals that others derived from those of 2017.

Facts: Azure/AzurePublicDataset, AzurePublicDatasetV1.md and V2.md, and their notebooks;
huaweicloud/trace_generation_rnn, INPUT.md, resources/traces and resources/maps.
"""

from tracekit.intake.sources._described import Released
from tracekit.intake.sources._kind import Kind

_ID = r"[A-Za-z0-9+/]{20,}=*"
_SIZE = r">?[\d.]+"

AZURE_VM17 = Released(
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


_OF_ARRIVALS = {"arrivals": "put v1.train.txt, v1.dev.txt or v1.test.txt into the same folder"}

AZURE_V1_ARRIVALS = Released(
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
