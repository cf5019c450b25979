""""""

from regretstop.search._acquisition import LogExpectedImprovement, UpperConfidenceBound, expected_improvement
from regretstop.search._exceedance import exceeding_point
from regretstop.search._fitted import Fitted
from regretstop.search._maximize import How, Maximum, Search
from regretstop.search._path_maxima import maximize_paths
from regretstop.search._repetition import is_worth_repeating, repeats_agree
from regretstop.search._visited import NOTHING, Visited
from regretstop.search._worst import Searching, glances, worst_of

__all__ = [
    "NOTHING",
    "Fitted",
    "How",
    "LogExpectedImprovement",
    "Maximum",
    "Search",
    "Searching",
    "UpperConfidenceBound",
    "Visited",
    "exceeding_point",
    "expected_improvement",
    "glances",
    "is_worth_repeating",
    "maximize_paths",
    "repeats_agree",
    "worst_of",
]
