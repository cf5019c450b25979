"""The bound of Wang, Wang and Wei, with its widths, slopes, grid and risk; and the count of what is left.

In come a posterior deviation, a space and δ; out goes an upper bound on the regret, in units of the prior deviation.
"""

from regretstop.bound._counted import count_above, count_left, likely_level
from regretstop.bound._grid import Array, grid_for, grids_of
from regretstop.bound._maxima import ExpectedMaxima
from regretstop.bound._paper import RegretBound, Theorem, instantaneous_regret_bound, theory_sqrt_beta
from regretstop.bound._risk import RiskLedger, ledger_for
from regretstop.bound._slopes import UNKNOWN_SLOPES, log_n_exact, sloped_axes, slopes_are_known, slopes_of
from regretstop.bound._widths import MATCHED, Widths, settle_cost, solve_widths

__all__ = [
    "MATCHED",
    "UNKNOWN_SLOPES",
    "Array",
    "ExpectedMaxima",
    "RegretBound",
    "RiskLedger",
    "Theorem",
    "Widths",
    "count_above",
    "count_left",
    "grid_for",
    "grids_of",
    "instantaneous_regret_bound",
    "ledger_for",
    "likely_level",
    "log_n_exact",
    "settle_cost",
    "sloped_axes",
    "slopes_are_known",
    "slopes_of",
    "solve_widths",
    "theory_sqrt_beta",
]
