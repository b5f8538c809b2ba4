"""The last samples of scraped counters: the next file's first increases count from there."""

from tracekit.store.tables import Column, Table

_NAME = "series"

TABLE = Table(
    name="counter_end",
    title="The last sample of each scraped counter in a file, from which a later file goes on",
    grain="file x series",
    columns=(
        Column(name="time_ms", kind="time", unit="ms", description="Of the last sample."),
        Column(
            name=_NAME,
            kind="text",
            unit="",
            description="A number for the metric and its labels, in hexadecimal.",
        ),
        Column(
            name="value",
            kind="number",
            unit="as counted",
            description="The counter at that time: seconds of CPU, bytes.",
            minimum=0,
        ),
        Column(name="first_ms", kind="number", unit="ms", description="Time of the first sample."),
    ),
    key=(_NAME, "time_ms"),
    order=(_NAME, "time_ms"),
    entity="",
    step=False,
)
