"""The search of a space: where an acquisition, or a posterior path, is largest.

In come posteriors and the points seen so far; out go maxima, the points where they are, and how they were found.
"""

from regretstop.search._acquisition import LogExpectedImprovement, UpperConfidenceBound, expected_improvement
from regretstop.search._coarse import Maximizes, coarse_maximizers, largest_of
from regretstop.search._exceedance import exceeding_point
from regretstop.search._maximize import How, Maximizer, Maximum
from regretstop.search._path_maxima import maximize_paths
from regretstop.search._rated import largest_rated
from regretstop.search._repetition import has_repeats, is_worth_repeating, noise_is_told, repeats_agree
from regretstop.search._search_model import SearchModel
from regretstop.search._visited import NOTHING, Visited

__all__ = [
    "NOTHING",
    "How",
    "LogExpectedImprovement",
    "Maximizer",
    "Maximizes",
    "Maximum",
    "SearchModel",
    "UpperConfidenceBound",
    "Visited",
    "coarse_maximizers",
    "exceeding_point",
    "expected_improvement",
    "has_repeats",
    "is_worth_repeating",
    "largest_of",
    "largest_rated",
    "maximize_paths",
    "noise_is_told",
    "repeats_agree",
]
