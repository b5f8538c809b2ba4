"""tracekit fit: what a container's neighbours cost it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tracekit.base.progress import SILENT, Progress
from tracekit.base.words import counted
from tracekit.commands._options import Engine, Frames, Option, Seed, Store
from tracekit.commands.shell.command import Panel
from tracekit.commands.shell.output import print_json, print_lines, print_sentence, print_table
from tracekit.commands.shell.signature import Call, JsonOption
from tracekit.interference.options import (
    SOCKETS,
    THREADS_PER_CORE,
    Aggregation,
    Load,
    Nonneg,
    Options,
    OtherSockets,
    Resolved,
    Sockets,
    ThreadsPerCore,
)

if TYPE_CHECKING:
    from tracekit.interference.run import Fit


def fit(
    store: Store,
    out: Frames = None,
    *,
    binding: Annotated[
        str | Path | None,
        Option("Rows of instance_id, node_ip, cpu_list, cpu_util (CSV, Parquet)."),
    ] = None,
    topology: Annotated[
        str | Path | None,
        Option("Rows of node_ip, cpu_num_total, socket_num; or 'lscpu -p' output."),
    ] = None,
    sockets: Sockets = SOCKETS,
    threads_per_core: Annotated[ThreadsPerCore, Option(names="--threads")] = THREADS_PER_CORE,
    agg: Aggregation = Options.agg,
    nonneg: Nonneg = Options.nonneg,
    load: Load = Options.load,
    other_sockets: OtherSockets = Options.other_sockets,
    resolved: Resolved = Options.resolved,
    shrink: Annotated[
        bool,
        Option(
            "Each service keeps its own k2, however little its rows tell.",
            names="--own-k2",
            off=True,
        ),
    ] = Options.shrink,
    compare: Annotated[
        str | None,
        Option("Models to compare; or a file PATH.py of your own.", metavar="all|NAME,..."),
    ] = None,
    seed: Seed = 0,
    engine: Engine = None,
    progress: Progress = SILENT,
    **further: Any,
) -> Fit:
    """Fit the cost of neighbours; see ``tracekit.interference.run.fit_store``.

    Parameters
    ----------
    compare : str, optional
        Names of models with commas between, or ``all``.
    **further
        Other fields of ``tracekit.interference.options.Options``: ``window_ms``, ``level``.
    """
    from tracekit.base.files.places import place
    from tracekit.interference.run import FIT_FOLDER, fit_store, models_of, write_fit
    from tracekit.store.folder import open_store

    if out is not None:
        FIT_FOLDER.check_free(Path(out))
    options = Options(
        compare=models_of(compare),
        agg=agg,
        nonneg=nonneg,
        load=load,
        other_sockets=other_sockets,
        resolved=resolved,
        shrink=shrink,
        **further,
    )
    fitted = fit_store(
        open_store(store),
        binding=None if binding is None else place(binding),
        topology=None if topology is None else place(topology),
        sockets=sockets,
        threads_per_core=threads_per_core,
        options=options,
        seed=seed,
        engine=engine,
        progress=progress,
    )
    if out is not None:
        write_fit(fitted, Path(out))
    return fitted


PANEL = Panel.rare


def command(call: Call, store: Path, out: Path | None, json: JsonOption = False) -> None:
    """Fit the cost of neighbours: cpu = b0 + k1*cpu_sc + k2*cpu_ss, service by service.

    cpu_sc is the CPU of containers on the same cores, cpu_ss that of other
    containers on the same socket. --binding and --topology give the vCPUs of
    containers; without them all containers of a node are neighbours (a proxy).

    Example: tracekit fit mystore --binding binding.csv --topology hosts.csv
    """
    from tracekit.answer.production import answer_of_fit
    from tracekit.interference.run import document
    from tracekit.report.terminal import facts_in_full

    result = call()
    answer = answer_of_fit(result)
    if json:
        services = result.fitted.services.to_dicts()
        facts = [one.document() for one in answer.facts]
        parts = {**document(result), "store": str(store), "services": services}
        print_json({**parts, "facts": facts})
        return
    print_lines(facts_in_full(answer.facts))
    _print(result)
    print_lines(facts_in_full(result.remarks))
    if out:
        print(f"all of it: {out}")


def _print(fit_result: Fit) -> None:
    proxy = fit_result.mode == "proxy"
    label = "proxy: neighbours by node only" if proxy else "it is known who shares cores"
    services = fit_result.fitted.services
    rows = [
        [verdict, basis, many]
        for verdict, basis, many in services.group_by("verdict", "basis")
        .len()
        .sort("len", "verdict", "basis", descending=[True, False, False])
        .iter_rows()
    ]
    print_table(
        counted(services.height, "service"), ["verdict", "k of", "services"], rows, note=label
    )
    print()
    _print_coefficients(fit_result)
    if fit_result.compared.height:
        print()
        columns = ["model", "cv_rmse", "cv_rmse_constant", "saved_share"]
        print_table("Models on rows held out", columns, fit_result.compared.select(columns).rows())
    if fit_result.rejects.height:
        _print_rejects(fit_result)


def _print_coefficients(fit_result: Fit) -> None:
    from tracekit.interference.table import COEFFICIENTS

    pooled = fit_result.fitted.pooled.row(0, named=True)
    models = [
        ("all services pooled", pooled),
        *((f"totals by {t['level']}", t) for t in fit_result.totals),
    ]
    rows = []
    for label, model in models:
        for name in COEFFICIENTS.values():
            if model.get(name) is not None:
                values = [
                    round(model[f"{name}{end}"], 5) for end in ("", "_error", "_low", "_high")
                ]
                rows.append([label, name, *values, model["verdict"]])
    if not rows:
        print_sentence(f"no coefficient is identifiable: {pooled['reason']}")
        return
    columns = ["model", "", "value", "error", "low", "high", "verdict"]
    level = f"{100 * fit_result.options.level:g} % intervals"
    print_table("Coefficients", columns, rows, note=f"{level}; pooled: {pooled['reason']}")


def _print_rejects(fit_result: Fit) -> None:
    rejects = fit_result.rejects
    was = "was" if rejects.height == 1 else "were"
    print(f"\n{counted(rejects.height, 'row')} of vCPUs {was} not used; the first:")
    for line, instance, node, reason in (
        rejects.head(3).select("line", "instance_id", "node_ip", "reason").rows()
    ):
        print_sentence(f"{instance} on {node} (row {line:,}): {reason}")
