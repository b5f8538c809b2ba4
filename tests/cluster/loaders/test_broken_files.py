"""Files of published workloads that are refused, and what is said of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from workload_support import OPENB, TIANCHI, Files, changed, written

from tracekit.base.errors import TracekitError
from tracekit.base.seeds import stream
from tracekit.cluster.loaders import load_workload

NODES, PODS = OPENB
APPS, MACHINES, DEPLOY, RULES = TIANCHI

BROKEN: dict[str, tuple[Files, str]] = {
    "openb: no pods": ({NODES: OPENB[NODES]}, "holds no CSV of pods with columns name, cpu_milli"),
    "openb: no nodes": ({PODS: OPENB[PODS]}, "holds no CSV of nodes with columns sn, cpu_milli"),
    "openb: not a number": (
        changed(OPENB, NODES, 2, "node-0,many,8,0,"),
        "openb_node_list_all_node.csv, line 2: cpu_milli is 'many', expected a number",
    ),
    "openb: a NaN": (
        changed(OPENB, PODS, 3, "pod-a,2000,NaN,1,500,,BE,Pending,100,100,"),
        "openb_pod_list_default.csv, line 3: memory_mib is 'NaN', expected a number",
    ),
    "openb: nothing": (
        changed(OPENB, PODS, 4, "pod-c,1000,,2,1000,G1,BE,Succeeded,50,90,50"),
        "line 4: memory_mib is empty, expected a number",
    ),
    "openb: departure before arrival": (
        changed(OPENB, PODS, 2, "pod-b,3000,4,0,0,,LS,Running,100,99,101"),
        "line 2: deletion_time is '99', expected no time before creation_time",
    ),
    "openb: a pod twice": (
        changed(OPENB, PODS, 3, OPENB[PODS][1]), "container 'pod-b' is there twice"
    ),
    "openb: a node without capacity": (
        changed(OPENB, NODES, 2, "node-0,0,8,0,"), "node 'node-0' has cpu_milli 0"
    ),
    "openb: a line too long": (
        changed(OPENB, NODES, 2, "node-0,1,1,1,,,,"), "line 2 has 8 fields, expected 5"
    ),
    "tianchi18: a file is missing": (
        {name: lines for name, lines in TIANCHI.items() if name != RULES},
        "is not a Tianchi 2018 data set: no CSV looks like rules",
    ),
    "tianchi18: a file is there twice": (
        {**TIANCHI, "more.csv": TIANCHI[RULES]},
        "holds two files of rules: app_interference.csv and more.csv",
    ),
    "tianchi18: a short curve": (
        changed(TIANCHI, APPS, 2, "app_2,2|2,4.0|4.0|4.0,60,0,0,0"),
        "app_resources.csv, line 1: cpu is '0.5|1.25|0.25', expected 2 points, as most have",
    ),
    "tianchi18: a NaN in a curve": (
        changed(TIANCHI, APPS, 2, "app_2,2|2|2,4.0|nan|4.0,60,0,0,0"),
        "app_resources.csv, line 2: memory is '4.0|nan|4.0', expected numbers of 0 or more",
    ),
    "tianchi18: less than nothing in a curve": (
        changed(TIANCHI, APPS, 2, "app_2,2|-2|2,4.0|4.0|4.0,60,0,0,0"),
        "line 2: cpu is '2|-2|2', expected numbers of 0 or more",
    ),
    "tianchi18: a word in a curve": (
        changed(TIANCHI, APPS, 2, "app_2,2|2|x,4.0|4.0|4.0,60,0,0,0"),
        "line 2: cpu is '2|2|x', expected numbers of 0 or more",
    ),
    "tianchi18: curves of two lengths": (
        {**TIANCHI, APPS: ["app_1,1|1,1|1|1,1,0,0,0", "app_2,1|1,1|1|1,1,0,0,0"]},
        "line 1: memory is '1|1|1', expected 2 points, as most have",
    ),
    "tianchi18: an unknown application": (
        changed(TIANCHI, DEPLOY, 4, "inst_4,app_9,"),
        "instance_deploy.csv, line 4: app is 'app_9', expected one of app_resources.csv",
    ),
    "tianchi18: an unknown machine": (
        changed(TIANCHI, DEPLOY, 1, "inst_1,app_1,machine_9"),
        "instance_deploy.csv, line 1: node is 'machine_9', expected one of machine_resources.csv",
    ),
    "tianchi18: a rule about an unknown application": (
        changed(TIANCHI, RULES, 2, "app_1,app_7,0"),
        "app_interference.csv, line 2: guest is 'app_7', expected one of app_resources.csv",
    ),
    "tianchi18: a rule without a number": (
        changed(TIANCHI, RULES, 2, "app_1,app_2,few"),
        "app_interference.csv, line 2: most is 'few', expected a number",
    ),
    "tianchi18: a rule with a part of a container": (
        changed(TIANCHI, RULES, 2, "app_1,app_2,1.5"),
        "app_interference.csv, line 2: most is '1.5', expected a whole number",
    ),
    "tianchi18: an application twice": (
        changed(TIANCHI, APPS, 2, TIANCHI[APPS][0]),
        "app_resources.csv, line 2: app is 'app_1', expected every application once",
    ),
    "tianchi18: an instance twice": (
        changed(TIANCHI, DEPLOY, 2, TIANCHI[DEPLOY][0]), "container 'inst_1' is there twice"
    ),
    "tianchi18: a machine without capacity": (
        changed(TIANCHI, MACHINES, 3, "machine_3,8,0,200,7,7,9"),
        "node 'machine_3' has memory_bytes 0, expected more than 0",
    ),
    "tianchi18: a machine without a size": (
        changed(TIANCHI, MACHINES, 3, "machine_3,8,,200,7,7,9"),
        "machine_resources.csv, line 3: memory is empty, expected a number",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_refused(name: str, tmp_path: Path) -> None:
    files, message = BROKEN[name]
    loader = name.partition(":")[0]
    with pytest.raises(TracekitError) as raised:
        load_workload(f"{loader}:{written(tmp_path, files)}", stream(0, "workload"))
    assert message in raised.value.what
    assert "\n" not in raised.value.what
