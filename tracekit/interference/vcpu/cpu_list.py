"""Lists of vCPU ids as Linux writes them: ``0-3,52``."""

import re

_PART = re.compile(r"^\s*(\d{1,6})\s*(?:-\s*(\d{1,6})\s*)?$")


def parse_cpu_list(text: str) -> tuple[int, ...]:
    """The ids in the order written; raises ValueError that says which part is no id or range."""
    found: list[int] = []
    for part in re.split(r"[,;\s]+", text.strip().strip("[]()\"'")):
        match = _PART.match(part)
        if not match:
            raise ValueError(f"'{part}' in cpu_list '{text[:40]}' is no vCPU id or range")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise ValueError(f"range '{part}' in cpu_list '{text[:40]}' runs backwards")
        found.extend(range(first, last + 1))
    if len(set(found)) < len(found):
        raise ValueError(f"cpu_list '{text[:40]}' names a vCPU twice")
    return tuple(found)


def spell_cpu_list(ids: list[int]) -> str:
    """The ids as Linux writes them, ascending, runs as ranges."""
    runs: list[list[int]] = []
    for vcpu in sorted(ids):
        if runs and vcpu == runs[-1][1] + 1:
            runs[-1][1] = vcpu
        else:
            runs.append([vcpu, vcpu])
    return ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)
