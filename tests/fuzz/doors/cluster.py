"""Files of the sources that code reads, with damaged lines, fields and JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from door import Case, Door
from forks import Done
from kubernetes_support import CREATED_MS, answer, container, listed, node, owned, pod, series
from mutate import Rng, any_of, json_bytes, mutated_bytes, mutated_json, mutated_line

from doors._ingest import ingest_verdict

_HASH = "A" * 43 + "="
_CPU = "container_cpu_in_use"

#: Whole files by source: text is a table of lines, everything else a JSON document.
WHOLE: dict[str, dict[str, Any]] = {
    "kubernetes": {
        "cluster.json": listed(
            node("n1", labels={"topology.kubernetes.io/zone": "a"}),
            node("n2", taints=[{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]),
            pod("web-1", nodeName="n1", meta=owned("ReplicaSet", "web")),
            pod("web-2", containers=[container("250m", limits={"cpu": "1", "memory": "1Gi"})]),
            pod("job-1", nodeSelector={"disk": "ssd"}, priority=5, status={"phase": "Pending"}),
        ),
        "cpu.json": answer(
            *(
                series(_CPU, [(CREATED_MS / 1000, 0.25)], namespace="default", pod=pod_name)
                for pod_name in ("web-1", "web-2")
            )
        ),
    },
    "folder": {
        "nodes.csv": "node,cpu_milli,memory_bytes,zone\nn1,8000,34359738368,a\nn2,8000,34359738368,b\n",
        "containers.csv": (
            "container,service,node,arrival_ms,departure_ms,cpu_milli,memory_bytes,gang\n"
            "a,web,n1,0,,2000,1073741824,\nb,web,n1,0,90000,500,1073741824,g\nc,,,60000,,4000,,g\n"
        ),
        "usage.csv": "container,time_ms,cpu_milli,memory_bytes\na,0,900.5,1000000000\nb,30000,100,2000000000\n",
    },
    "alibaba18": {
        "machine_meta.csv": "m_1,0,219,17,96,100,USING\nm_1,50,219,17,96,100,USING\nm_2,10,3,4,64,50,USING\n",
        "machine_usage.csv": "m_1,10,41,92,,,43.04,33.08,5\nm_1,20,42,90,50,2,20,33,10\n",
        "container_meta.csv": "c_2,m_2,30,app_1,started,800,1600,3.13\nc_1,m_1,0,app_5,started,400,400,1.5\n",
        "container_usage.csv": "c_1,m_1,60,20,56,1.5,0.5,2,10,20,2\nc_2,m_2,70,12,1,,,,0,0,1\n",
        "batch_task.csv": "M1,2,j_1,1,Terminated,100,200,50,0.5\nR2_1,1,j_1,1,Waiting,0,0,,\n",
    },
    "openb": {
        "openb_node_list_gpu_node.csv": (
            "sn,cpu_milli,memory_mib,gpu,model\nnode-0,32000,262144,0,\nnode-1,96000,786432,8,V100M32\n"
        ),
        "openb_pod_list_default.csv": (
            "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
            "deletion_time,scheduled_time\npod-a,12000,16384,1,460,V100M16|V100M32,LS,Running,100,250,100\n"
            "pod-b,6000,12288,0,0,,BE,Pending,50,90,\n"
        ),
    },
    "pai20": {
        "pai_machine_spec.csv": "7399a758,CPU,96,512,0\n75c536d5,P100,64,512,2\n",
        "pai_task_table.csv": "j1,worker,2.0,Terminated,100.0,200.0,600.0,29.2,50.0,MISC\n",
        "pai_instance_table.csv": "j1,worker,i1,w1,aa,Terminated,110.0,190.0,75c536d5\n",
    },
    "google11": {
        "machine_events/part-00000-of-00001.csv": f"0,5,0,{_HASH},0.5,0.2493\n600000000,6,0,{_HASH},1,1\n",
        "task_events/part-00000-of-00500.csv": f"0,2,34,0,41,0,{_HASH},3,9,0.5,0.25,0.1,0\n9,,7,0,,1,{_HASH},3,9,0.5,0.25,0.1,0\n",
    },
    "swf": {
        "log.swf": "; MaxNodes: 4\n; MaxProcs: 32\n7 60 5 100 8 50.5 1024 4 200 2048 1 3 1 9 1 1 -1 -1\n",
    },
    "otlp": {
        "spans.json": {
            "resourceSpans": [
                {
                    "resource": {
                        "attributes": [{"key": "service.name", "value": {"stringValue": "a"}}]
                    },
                    "scopeSpans": [
                        {
                            "spans": [
                                {
                                    "traceId": "5b8efff798038103d269b633813fc60c",
                                    "spanId": f"eee19b7ec3c1b17{at}",
                                    "parentSpanId": f"eee19b7ec3c1b17{at - 1}" if at else "",
                                    "name": "GET /",
                                    "kind": 2 + at % 2,
                                    "startTimeUnixNano": f"{CREATED_MS}{at}00000",
                                    "endTimeUnixNano": f"{CREATED_MS}900000",
                                    "attributes": [],
                                }
                                for at in range(3)
                            ]
                        }
                    ],
                }
            ]
        },
    },
}


class Cluster(Door):
    """The files of one source at a time, one of them damaged."""

    share = 0.06

    def prepare(self, folder: Path) -> Sequence[Sequence[object]]:
        """Each source's whole files go in as they are."""
        for source, files in WHOLE.items():
            for name, whole in files.items():
                _write(
                    folder / source / name, whole if isinstance(whole, str) else json.dumps(whole)
                )
        return tuple(("ingest", source, f"{source}-store", "--jobs", "1") for source in WHOLE)

    def case(self, start: Path, folder: Path, rng: Rng) -> Case:
        """Damage of one to four lines or values, now and then of the bytes."""
        source = any_of(rng, sorted(WHOLE))
        damaged = any_of(rng, sorted(WHOLE[source]))
        for name, whole in WHOLE[source].items():
            text = whole if isinstance(whole, str) else json.dumps(whole)
            _write(folder / "traces" / name, text)
        path = folder / "traces" / damaged
        whole = WHOLE[source][damaged]
        if not isinstance(whole, str):
            path.write_bytes(json_bytes(mutated_json(whole, rng), rng))
        elif rng.random() < 0.2:
            path.write_bytes(mutated_bytes(whole.encode(), rng))
        else:
            lines = whole.split("\n")
            for _ in range(int(rng.integers(1, 5))):
                at = int(rng.integers(len(lines)))
                lines[at] = mutated_line(lines[at], rng)
            path.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
        return Case(arguments=("ingest", "traces", "store", "--jobs", "1"), expected=damaged)

    def verdict(self, case: Case, done: Done, folder: Path) -> str | None:
        """The rows of the input are all stored, dropped or rejected."""
        return ingest_verdict(case, done, folder / "store")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


CLUSTER = Cluster()
