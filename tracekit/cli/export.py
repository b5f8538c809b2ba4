"""tracekit export: what a run left, for other programs."""

from tracekit.cli._asked import Asked, JsonOption
from tracekit.cli._command import Panel
from tracekit.cli._output import print_json, print_lines

PANEL = Panel.replay


def command(asked: Asked, as_json: JsonOption = False) -> None:
    """Write the policy that won, its plan or its requests for other programs.

    kube-scheduler and descheduler are configurations of the policy that won. kubectl-patch and vpa
    are the recommended requests, split over the containers of each pod. moves.csv and drain.sh are
    a plan to read: pods move in waves that keep the budgets of disruption. opendc, swf, kwok and
    simkube are what was replayed, for other simulators. Nothing is executed. What a format cannot
    carry is listed.

    Example: tracekit export myrun --to kube-scheduler --out kube-scheduler.yaml
    """
    from tracekit.report.sentences import document
    from tracekit.report.terminal import following, summary

    answer = asked()
    if as_json:
        print_json(document(answer))
        return
    print_lines([*summary(answer, lines=0), *following(answer.next)])
