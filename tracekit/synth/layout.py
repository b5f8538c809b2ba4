"""How the released files are laid out: folders, names, headers and their quirks."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Layout:
    """One kind of released file.

    Parameters
    ----------
    table : str
        The base table its rows belong to.
    columns : tuple of str
        The header after the unnamed index column.
    entity : str
        The column with the id that a row cannot do without.
    names : tuple of str
        Columns with ids that may be missing.
    measures : tuple of str
        Columns with numbers.
    unique : bool
        Whether a row is known by its entity and time, so that another with the same is wrong.
    """

    table: str
    folder: str
    stem: str
    columns: tuple[str, ...]
    entity: str
    names: tuple[str, ...]
    measures: tuple[str, ...]
    unique: bool


NODE = Layout(
    table="node_usage",
    folder="node",
    stem="Node",
    columns=("timestamp", "nodeid", "node_cpu_usage", "node_memory_usage"),
    entity="nodeid",
    names=(),
    measures=("node_cpu_usage", "node_memory_usage"),
    unique=True,
)
CONTAINER = Layout(
    table="container_usage",
    folder="MSResource",
    stem="MSResource",
    columns=(
        "msname",
        "msinstanceid",
        "nodeid",
        "instance_cpu_usage",
        "instance_memory_usage",
        "timestamp",
    ),
    entity="msinstanceid",
    names=("msname", "nodeid"),
    measures=("instance_cpu_usage", "instance_memory_usage"),
    unique=True,
)
RATE = Layout(
    table="service_rate",
    folder="MSRTQps",
    stem="MSRTQps",
    columns=("timestamp", "msname", "msinstanceid", "metric", "value"),
    entity="msinstanceid",
    names=("msname",),
    measures=("value",),
    unique=True,
)
CALL = Layout(
    table="call",
    folder="MSCallGraph",
    stem="MSCallGraph",
    columns=("traceid", "timestamp", "rpcid", "um", "rpctype", "dm", "interface", "rt"),
    entity="traceid",
    names=("um", "dm"),
    measures=("rt",),
    unique=False,
)


@dataclass(frozen=True, kw_only=True)
class FileShape:
    """The peculiarities of one file.

    Parameters
    ----------
    indexed : bool
        Whether an unnamed column numbers the rows.
    in_folder : bool
        Whether the archive holds the file inside a folder of the same name.
    spellings : tuple of (str, str)
        Columns that this file spells otherwise.
    """

    name: str
    indexed: bool = True
    in_folder: bool = False
    spellings: tuple[tuple[str, str], ...] = ()


def file_shape(layout: Layout, number: int) -> FileShape:
    """The shape of the file of that number; most are plain, some have what users report."""
    name = f"{layout.stem}_{number}"
    if layout.stem == "MSResource" and number == 0:
        return FileShape(name=name, in_folder=True)
    if layout.stem == "MSRTQps" and number == 1:
        return FileShape(name=name, spellings=(("metric", "metrics"),))
    if layout.stem == "MSRTQps" and number == 2:
        return FileShape(name=name, indexed=False)
    return FileShape(name=name)
