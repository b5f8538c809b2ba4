"""Placement problem of the Alibaba Tianchi contest of 2018, set B (headerless CSV in a zip).

Facts: konnase/tianchi, data/preliminary_dataB_20180726.zip.
"""

from functools import partial

from tracekit.sources import ClusterFile, ClusterSource
from tracekit.sources.released._tianchi18_readers import (
    alike,
    is_zip,
    read_apps,
    read_instances,
    read_machines,
    read_rules,
    read_zip,
)

_TABLES = {
    "machines": ("node", "node_resource"),
    "instances": ("container",),
    "apps": ("container_resource", "container_amount"),
    "rules": ("sharing_rule",),
}
_KINDS = {
    "machines": ("node sizes", read_machines),
    "instances": ("placements", read_instances),
    "apps": ("demand curves", read_apps),
    "rules": ("anti-affinity", read_rules),
}

SOURCE = ClusterSource(
    name="tianchi18",
    title="Alibaba Tianchi 2018 set B: 68,224 containers with demand curves, 6,000 nodes",
    url="https://tianchi.aliyun.com/competition/entrance/231663/information",
    missing_names=frozenset({""}),
    lacks=("arrivals", "departures", "requests", "network", "racks and zones", "prices"),
    inferred=(
        "a container asks for the peak of its application's curve",
        "the 98 points of a curve are 15 minutes apart; the release does not say",
        "all containers arrive at 0, in the order of the file",
    ),
    notes=(
        "every container of an application has the same demand",
        "6,970 containers have no recorded node",
        "sizes and demand are taken as cores, GiB of memory and GiB of disk",
        "p, m and pm are kinds of applications that count against a node's own p, m and pm",
    ),
    files=(
        *(
            ClusterFile(
                word=word,
                title=title,
                tables=_TABLES[word],
                recognises=partial(alike, word),
                read=read,
                alone=True,
            )
            for word, (title, read) in _KINDS.items()
        ),
        ClusterFile(
            word="zip",
            title="all of it",
            tables=tuple(table for tables in _TABLES.values() for table in tables),
            recognises=is_zip,
            read=read_zip,
            alone=True,
        ),
    ),
)
