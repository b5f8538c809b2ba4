"""The sizing run's folder: a manifest, Parquet files and the models, written whole or not at all.

::

    RUN/
      manifest.json        schema, seeds, settings, policies with every parameter, facts, verdict
      table.parquet        seed x policy: the measures of table 7 (``measures.MEASURES``)
      summary.parquet      policy x measure: mean over seeds, 95 % interval
      differences.parquet  agent, policy x measure: agent minus policy, seed by seed, interval
      claims.parquet       the order the study reports, and whether it holds
      training.parquet     policy, seed x epoch: reward, overflow share, loss; moving mean and band
      containers.parquet   policy, chosen container x period: need and limit
      sensitivity.parquet  what was varied, policy x measure; only with --sensitivity
      models/seed-N.npz    the trained network, for --model
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tracekit._version import VERSION
from tracekit.errors import TracekitError
from tracekit.replay import parameters
from tracekit.replay.values import spell
from tracekit.sizing.agent.weights import save_model
from tracekit.sizing.study import Study
from tracekit.sizing.verdict import claims, sentences
from tracekit.whole_folder import written_whole

SCHEMA = "tracekit/size/1"
MANIFEST = "manifest.json"
FRAMES = ("table", "summary", "differences", "containers", "training", "sensitivity")


def manifest_of(study: Study) -> dict[str, Any]:
    """What was compared: seeds, the set, every parameter with its value, and the verdict."""
    return {
        "schema": SCHEMA,
        "tool_version": VERSION,
        "seeds": list(study.seeds),
        "set": {"name": study.whole.name, "facts": dict(study.facts)},
        "verdict": sentences(study.summary, study.differences),
        "settings": _spelled(study.settings),
        "policies": [
            {
                "policy": str(policy),
                "name": policy.name(),
                "source": policy.source,
                "reads": sorted(policy.reads),
                "parameters": _spelled(policy),
            }
            for policy in study.policies
        ],
        "models": sorted(study.models),
    }


def _spelled(owner: Any) -> list[dict[str, str]]:
    return [
        {
            "name": name,
            "value": spell(getattr(owner, name)),
            "default": spell(getattr(type(owner), name)),
            "description": about.doc,
        }
        for name, about in parameters.about(type(owner)).items()
    ]


def write_study(study: Study, folder: Path, *, store: Path | None = None) -> None:
    """Write the run folder; an earlier sizing run is replaced, anything else is left alone.

    ``store`` is where the set came from; the manifest names it relative to the run.

    Raises TracekitError when the path exists and is not a sizing run.
    """
    folder = Path(folder)
    check_replaceable(folder)
    with written_whole(folder) as made:
        _fill(study, made, None if store is None else os.path.relpath(store, folder))


def _fill(study: Study, made: Path, store: str | None) -> None:
    for name in FRAMES:
        frame = getattr(study, name)
        if frame is not None:
            frame.write_parquet(made / f"{name}.parquet", compression="zstd")
    claims(study.summary).write_parquet(made / "claims.parquet", compression="zstd")
    for name, model in study.models.items():
        save_model(model, made / "models" / f"{name}.npz")
    document = manifest_of(study)
    if store is not None:
        document["set"]["store"] = store
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    (made / MANIFEST).write_text(text + "\n", encoding="utf-8")


def is_sizing_run(folder: Path) -> bool:
    """Whether a folder holds a sizing run."""
    try:
        document = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and document.get("schema") == SCHEMA


def check_replaceable(folder: Path) -> None:
    """Raise TracekitError for a path that holds something else than a sizing run."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not is_sizing_run(folder):
        raise TracekitError(
            f"'{folder}' exists and is not a sizing run, it is left as it is",
            hint="give another --out, or remove it first",
        )
