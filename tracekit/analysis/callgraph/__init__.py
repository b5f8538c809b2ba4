"""Call graphs: the trees of calls of traces, rebuilt from rpc ids and repaired by other records.

The parameters of rebuilding and of exporting chains are here, with their defaults. This module
imports nothing heavy, because the command line reads it for its help.
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
