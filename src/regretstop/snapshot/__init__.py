"""What a stopping rule sees at one moment: the model, the data, and why nothing can be said if so."""

from regretstop.snapshot._fitted_model import FittedModel, std_floor
from regretstop.snapshot._observed_data import LastObservation, ObservedData
from regretstop.snapshot._snapshot import Beta, Snapshot
from regretstop.snapshot._taken import Setting, fewest_observations

__all__ = [
    "Beta",
    "FittedModel",
    "LastObservation",
    "ObservedData",
    "Setting",
    "Snapshot",
    "fewest_observations",
    "std_floor",
]
