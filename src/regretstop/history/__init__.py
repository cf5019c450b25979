"""The history: one evaluation of the objective, all that were made or are under way, and what the surrogate sees."""

from regretstop.history._encoded import EncodedHistory, HistoryEncoder
from regretstop.history._history import History
from regretstop.history._observation import Observation

__all__ = ["EncodedHistory", "History", "HistoryEncoder", "Observation"]
