"""Configurations of kube-scheduler as policies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tracekit.policy.parse import parse_policy
from tracekit.policy.placement import PlacementPolicy
from tracekit.policy.profile import Profile

BASE: dict[str, Any] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
}
DEFAULT = {
    "least_allocated": 1,
    "balanced_allocation": 1,
    "pod_topology_spread": 2,
}


def written(folder: Path, document: Any, name: str = "kube-scheduler.yaml") -> Path:
    path = folder / name
    text = document if isinstance(document, str) else yaml.safe_dump(document)
    path.write_text(text, encoding="utf-8")
    return path


def profile(folder: Path, plugins: Any = None, args: Any = None, **top: Any) -> Profile:
    """The policy of a configuration with one profile."""
    one: dict[str, Any] = {"schedulerName": "default-scheduler"}
    one |= {"plugins": plugins} if plugins else {}
    if args:
        one["pluginConfig"] = [{"name": name, "args": given} for name, given in args.items()]
    found = parse_policy(str(written(folder, {**BASE, "profiles": [one], **top})))
    assert isinstance(found, Profile)
    return found


def weights(policy: Profile) -> dict[str, float]:
    return {part.policy.name(): part.weight for part in policy.parts}


def part(policy: Profile, name: str) -> PlacementPolicy:
    return next(one.policy for one in policy.parts if one.policy.name() == name)
