"""The verbs of tracekit: one file per verb, holding the function of its name.

The command line and ``import tracekit`` offer the same verbs: a subcommand is a call of one of
these functions, and the printing of what comes back. A verb opens folders, makes workers and
writes results; what it computes is done by the packages below.
"""

#: Former names, which still work everywhere but are listed nowhere, with the names of today.
FORMERLY = {
    "plan": "estimate",
    "score": "explain",
    "shrink": "nodes",
    "size": "requests",
    "vary": "sensitivity",
}
