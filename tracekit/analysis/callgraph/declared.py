"""What a rebuilding of call graphs takes, and an export of chains: each with its default.

Nothing heavy is imported here, since verbs read it for the command line's help.
"""

from typing import Annotated, Literal, get_args

from tracekit.base.parameters import About

_Mode = Literal["naive", "repair"]
Mode = Annotated[_Mode, About("naive takes rpc ids by their word, repair mends.")]
MODES: tuple[Mode, ...] = get_args(_Mode)
MODE: Mode = "repair"

Chains = Annotated[int, About("Call chains taken from a store.", minimum=1)]
#: As many as the sizing study had (Yao et al., C.S.A. 2023 32(4), section 3.1).
CHAINS = 330
