"""Virtual machines for 1,710 servers of two NUMA cells, with groups that keep apart or together.

Facts: mdl1104/Dataset-for-topology-aware-VM-placement (README, PM_res, VM_data_C1..5,
topology_provider).
"""

from tracekit.sources import ClusterFile, ClusterSource
from tracekit.sources.released import _huawei_topology25_readers as readers

SOURCE = ClusterSource(
    name="huawei_topology25",
    title="Huawei topology-aware 2025: five lists of 4,998 VMs for 1,710 servers with NUMA cells",
    url="https://github.com/mdl1104/Dataset-for-topology-aware-VM-placement",
    missing_names=frozenset({"", "nan"}),
    licence="CC0-1.0 (upstream asks to be cited)",
    files=(
        ClusterFile(
            word="servers",
            title="free cores and GB of the two NUMA cells of each server",
            tables=("node", "node_resource"),
            recognises=readers.is_servers,
            read=readers.read_servers,
        ),
        ClusterFile(
            word="requests",
            title="VM requests in order of arrival",
            tables=("container", "container_resource", "sharing_rule"),
            recognises=readers.is_requests,
            read=readers.read_requests,
            alone=True,
        ),
        ClusterFile(
            word="topology",
            title="racks of 17,387 other hosts, left out beside the servers",
            tables=("node",),
            recognises=readers.is_topology,
            read=readers.read_topology,
        ),
    ),
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
)
