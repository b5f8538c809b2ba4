"""Whether the learning agent sizes containers better than what practice uses."""

from tracekit.report.data import Data
from tracekit.report.findings import Finding, Said
from tracekit.sizing.intervals import is_agent
from tracekit.words import percent


def _find(data: Data) -> Said | None:
    summary = data.size("summary")
    if data.sizing is None or summary.is_empty():
        return None
    qos = summary.filter(measure="qos").select("policy", "mean").rows()
    ours = [mean for policy, mean in qos if is_agent(policy)]
    verdict = data.sizing.manifest["verdict"]
    if not ours or not verdict:
        return None
    first = verdict[0][0].lower() + verdict[0][1:]
    return Said(
        value=percent(ours[0], 1),
        sentence=f"of the agent\u2019s sizing cycles end without overflow; {first}.",
        page="sizing",
    )


FINDING = Finding(order=5, find=_find)
