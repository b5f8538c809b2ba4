"""The folder of a sizing run: a manifest, Parquet files and models, written atomically.

::

    RUN/
      manifest.json        schema, seeds, settings, policies with every parameter, facts
      table.parquet        seed x policy: the measures of table 7 (``measures.MEASURES``)
      summary.parquet      policy x measure: mean over seeds, 95 % interval
      differences.parquet  agent, policy x measure: agent minus policy, seed by seed, interval
      training.parquet     policy, seed x epoch: reward, overflow share, loss; moving mean and band
      containers.parquet   policy, chosen container x period: need and limit
      limits.parquet       policy, seed, container: the largest limit it was given
      sensitivity.parquet  what was varied, policy x measure; only with --sensitivity
      models/seed-N.npz    the trained network, for --model
"""

from pathlib import Path
from typing import Any

from tracekit._version import VERSION
from tracekit.base import parameters
from tracekit.base.files.places import named_from
from tracekit.base.files.result_folder import ResultFolder
from tracekit.base.parameters import spell
from tracekit.sizing.study import Study
from tracekit.sizing.weights import save_model

SCHEMA = "tracekit/size/1"
SIZING_FOLDER = ResultFolder(what="sizing run", schema=SCHEMA)
FRAMES = ("table", "summary", "differences", "containers", "limits", "training", "sensitivity")


def manifest_of(study: Study) -> dict[str, Any]:
    """Return the manifest of a comparison: seeds, simulation set, and every parameter's value."""
    return {
        "schema": SCHEMA,
        "tool_version": VERSION,
        "seeds": list(study.seeds),
        "set": {"name": study.whole.name, "facts": dict(study.facts)},
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
    """Write a run folder; an earlier sizing run there is replaced, and its other files stay.

    Parameters
    ----------
    store : Path, optional
        The store of the simulation set; the manifest has its path relative to the run.

    Raises
    ------
    TracekitError
        If the path exists and is not a sizing run.
    """
    document = manifest_of(study)
    if store is not None:
        document["set"]["store"] = named_from(folder, store)
    frames = {name: getattr(study, name) for name in FRAMES}

    def models(made: Path) -> None:
        for name, model in study.models.items():
            save_model(model, made / "models" / f"{name}.npz")

    SIZING_FOLDER.write(Path(folder), document, frames, more=models)
