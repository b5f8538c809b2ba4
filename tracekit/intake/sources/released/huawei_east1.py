"""Virtual machines that are created and deleted in one region of Huawei Cloud over 30 days.

Facts: huaweicloud/VM-placement-dataset, Huawei-East-1 (README).
"""

from tracekit.intake.sources._described import Released
from tracekit.intake.sources._kind import Kind

SOURCE = Released(
    name="huawei_east1",
    title="Huawei-East-1: 125,430 VMs created and 116,313 deleted in 30 days",
    url="https://github.com/huaweicloud/VM-placement-dataset",
    licence="CC-BY-NC: fetch it yourself, no commercial use",
    lacks=(
        "machines and their sizes",
        "usage",
        "placement",
        "services and tenants",
        "which of the small VMs share cores",
    ),
    inferred=("a GB is 2^30 bytes", "a VM that is never deleted stays"),
    notes=(
        "requests are cores as sold; many small VMs share cores, so machines hold more of them",
        "a sharing VM takes 1/4 to 1/2 of its cores, says upstream; VMAgent reckons with 1/3",
        "60 to 90 % of the VMs of a small flavour share cores, says upstream",
    ),
    kinds=(
        Kind(
            word="events",
            title="creations and deletions of VMs",
            columns="vmid! cpu:number memory:number time:seconds!+ type:number!",
            header="exactly",
            rules=(
                "type: type NOT IN (0, 1) -> 0 (creation) or 1 (deletion)",
                "cpu: type = 0 AND NOT coalesce(cpu > 0, false) -> a size above 0",
                "memory: type = 0 AND NOT coalesce(memory > 0, false) -> a size above 0",
            ),
            whole=True,
        ),
    ),
)
