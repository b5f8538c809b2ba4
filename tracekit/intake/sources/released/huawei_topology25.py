"""Virtual machines for 1,710 servers of two NUMA cells, with groups that keep apart or together.

Facts: mdl1104/Dataset-for-topology-aware-VM-placement (README, PM_res, VM_data_C1..5,
topology_provider).
"""

import re
from functools import partial
from pathlib import PurePath

from tracekit.intake.sources import Head
from tracekit.intake.sources._described import Released
from tracekit.intake.sources._kind import Kind
from tracekit.intake.sources._objects import as_csv, is_workbook

_NOTHING = ("", "nan", "NaN")
_REQUESTS = ["flavor_vcpus", "flavor_ram", "numa", "strategy", "group", "domain"]


def _is(columns: list[str], stem: str, head: Head) -> bool:
    """Whether a file is of this kind: a workbook by its name, other files by their columns."""
    if is_workbook(head):
        return re.fullmatch(stem, PurePath(head.name).stem.lower()) is not None
    return head.fields() == columns


SOURCE = Released(
    name="huawei_topology25",
    title="Huawei topology-aware 2025: five lists of 4,998 VMs for 1,710 servers with NUMA cells",
    url="https://github.com/mdl1104/Dataset-for-topology-aware-VM-placement",
    missing_names=frozenset({"", "nan"}),
    licence="CC0-1.0 (upstream asks to be cited)",
    lacks=(
        "times: the requests have an order of arrival only; all arrive at 0",
        "departures",
        "usage",
        "placement",
        "racks of the 1,710 servers: topology_provider names other hosts",
        "sizes of the 17,387 hosts of topology_provider",
    ),
    inferred=(
        "a GB is 2^30 bytes",
        "numa 1: the whole VM on one cell; numa 2: half of it on each of two cells",
        "anti-affinity: members of a group share no server",
        "affinity: no rule, since many groups fit no server and no server's rack is known",
        "fault_domain: members of a group with different domains share no server",
        "server-0000 is the first row of PM_res; c1/0000 the first row of VM_data_C1",
    ),
    notes=(
        "capacity is what was free, not the size of the servers",
        "VM_data_C1 to C5 are five problems: ingest one of them per store; ids begin with c1/, c2/",
        "the service of a VM says of which group it is: c1/affinity/3",
    ),
    kinds=(
        Kind(
            word="servers",
            title="free cores and GB of the two NUMA cells of each server",
            columns="CPU1:number! RAM1:gib! CPU2:number! RAM2:gib!",
            header="names",
            form=as_csv,
            recognises=partial(_is, ["CPU1", "RAM1", "CPU2", "RAM2"], "pm_res"),
        ),
        Kind(
            word="requests",
            title="VM requests in order of arrival",
            columns="flavor_vcpus:number! flavor_ram:gib! numa:number! strategy group:number"
            " domain:number",
            header="names",
            form=as_csv,
            recognises=partial(_is, _REQUESTS, r"vm_data_c\d+"),
            empty=_NOTHING,
            rules=(
                "numa: numa NOT IN (1, 2) -> 1 or 2",
                (
                    "strategy: strategy NOT IN ('affinity', 'anti-affinity', 'fault_domain')"
                    " -> affinity or anti-affinity or fault_domain or none"
                ),
                """group: strategy IS NOT NULL AND "group" IS NULL -> the number of the group""",
                (
                    "domain: strategy = 'fault_domain' AND domain IS NULL"
                    " -> the number of the fault domain"
                ),
            ),
            whole=True,
            alone=True,
        ),
        Kind(
            word="topology",
            title="racks of 17,387 other hosts, left out beside the servers",
            columns="host_id! rack_id:number!",
            header="names",
            form=as_csv,
            recognises=partial(_is, ["host_id", "rack_id"], "topology_provider"),
            empty=_NOTHING,
            beside=("servers",),
        ),
    ),
)
