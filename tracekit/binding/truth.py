"""Interference as it really is, where that is known: computed from who sits where."""

from __future__ import annotations

import numpy as np

from tracekit.arrays import FloatArray
from tracekit.binding.floor import Floor
from tracekit.binding.model import InterferenceModel
from tracekit.vcpu.pressure import Bound, pressure


class Truth:
    """What every instance of a floor feels by another model than the one that decides."""

    def __init__(self, floor: Floor, model: InterferenceModel) -> None:
        self._floor, self._model = floor, model
        self._known = -1
        self._felt = np.zeros(len(floor.socket))

    def felt(self) -> FloatArray:
        """Score of every instance now, a fraction of its own vCPUs, shape (instances,)."""
        floor, model = self._floor, self._model
        if self._known != floor.changes:
            self._known = floor.changes
            service = floor.seats.service
            place = np.flatnonzero(floor.seats.holder >= 0)
            bound = Bound(floor.seats.holder[place], place, len(service))
            core, socket = pressure(floor.room, bound, model.cpu[service], model.agg)
            felt = model.k1[service] * core + model.k2[service] * socket
            self._felt = np.where(floor.socket >= 0, felt, 0.0)
        return self._felt
