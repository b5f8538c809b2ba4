"""Requests recommended from one part of the recorded use, and judged by the other part.

Here are the parameters with description, range and default. This module imports nothing heavy, as
the help of the command line reads it.
"""

from typing import Annotated, Literal

from tracekit.base.parameters import About

By = Annotated[
    Literal["use", "calls"],
    About(
        "use: one request for each service from its recorded use; calls: limits cycle by cycle on"
        " simulated call chains."
    ),
]
BY: By = "use"

LearnShare = Annotated[
    float,
    About(
        "By use: the first share of the recorded time recommends, the rest judges.",
        minimum=0.01,
        maximum=0.99,
    ),
]
LEARN_SHARE = 0.5

RiskShare = Annotated[
    float,
    About(
        "By use: a service is at risk if it uses more than its request in more than this share of"
        " its container-steps.",
        minimum=0,
        maximum=1,
    ),
]
RISK_SHARE = 0.05
#: The ending of the folder of a replay with the recommended requests, beside the study.
REPLAYED = "-replay"
#: The name of the study of the fewest nodes with the recommended requests.
SHRUNK = "fewest-recommended"
