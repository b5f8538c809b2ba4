"""Placement problem of the Alibaba Tianchi contest of 2018, set B (headerless CSV in a zip).

Facts: konnase/tianchi, data/preliminary_dataB_20180726.zip.
"""

from tracekit.sources import Source, WorkloadFile

_NUMBER = r"\d+(\.\d+)?"

SOURCE = Source(
    name="tianchi18",
    title="Alibaba Tianchi 2018 set B: 68,224 containers with demand, 6,000 nodes (workload)",
    url="https://tianchi.aliyun.com/competition/entrance/231663/information",
    missing_names=frozenset({""}),
    notes=(
        "a placement problem: no usage table, read by tracekit replay --workload tianchi18:PATH",
        "demand of CPU and memory at 98 points of a day, disk, anti-affinity, first placement",
    ),
    workload_files=(
        WorkloadFile(title="node sizes", first_line=rf"machine_\d+(,{_NUMBER}){{6}}$"),
        WorkloadFile(title="placements", first_line=r"inst_\d+,app_\d+,(machine_\d+)?$"),
        WorkloadFile(title="demand curves", first_line=rf"app_\d+,{_NUMBER}(\|{_NUMBER}){{97}},"),
        WorkloadFile(title="anti-affinity", first_line=r"app_\d+,app_\d+,\d+$"),
    ),
)
