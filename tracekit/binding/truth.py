"""Interference as it really is, where that is known: computed from who is bound where."""

import numpy as np

from tracekit.arrays import FloatArray
from tracekit.binding.model import InterferenceModel
from tracekit.binding.vcpu_state import VcpuState
from tracekit.vcpu.pressure import Bound, pressure


class Truth:
    """The loss of every instance of a state by another model than the one that decides."""

    def __init__(self, state: VcpuState, model: InterferenceModel) -> None:
        self._state, self._model = state, model
        self._known = -1
        self._inflation = np.zeros(len(state.socket))

    def inflation(self) -> FloatArray:
        """Score of every instance now, a fraction of its own vCPUs, shape (instances,)."""
        state, model = self._state, self._model
        if self._known != state.changes:
            self._known = state.changes
            service = state.occupancy.service
            place = np.flatnonzero(state.occupancy.owner >= 0)
            bound = Bound(state.occupancy.owner[place], place, len(service))
            core, socket = pressure(state.room, bound, model.cpu[service], model.agg)
            inflation = model.k1[service] * core + model.k2[service] * socket
            self._inflation = np.where(state.socket >= 0, inflation, 0.0)
        return self._inflation
