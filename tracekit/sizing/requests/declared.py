"""What a sizing by recorded use takes: each parameter with its meaning, range and default.

Nothing heavy is imported here, since verbs read it for the command line's help.
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
        "By use: a service is at risk that uses more than its request in more than this share of"
        " its container-steps.",
        minimum=0,
        maximum=1,
    ),
]
RISK_SHARE = 0.05
#: The replay of what a study recommends lies beside the study, with this behind its name.
REPLAYED = "-replay"
#: What the study of the fewest nodes with these requests is called.
SHRUNK = "fewest-recommended"
