"""The answers as tables for a terminal."""

from rich.table import Table
from rich.text import Text

from regretstop import RegretBound
from regretstop_cli._answer import Answer

_MEANINGS = {
    "value": "the bound on f* − f(x_t)",
    "existing": "that of Srinivas et al., which it improves on",
    "sqrt_beta": "√β, the width of the acquisition",
    "sqrt_eta": "√η, at the query",
    "sqrt_alpha": "√α, over the space",
    "s": "the grid leaves t^(−s)",
    "n_eta": "share of the risk at the query, 1/n_η",
    "n_alpha": "share of the risk over the grid, 1/n_α",
}


def check_table(answer: Answer) -> Table:
    """Return the table of `regretstop check`."""
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for question, said in answer.rows():
        table.add_row(Text(question), Text(said))  # no markup: names of parameters are text
    return table


def bound_table(found: RegretBound) -> Table:
    """Return the table of `regretstop bound`."""
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column()
    for name, meaning in _MEANINGS.items():
        table.add_row(name, f"{getattr(found, name):.6g}", meaning)
    return table
