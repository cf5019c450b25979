"""The answers as tables for a terminal."""

from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from regretstop import RegretBound
from regretstop_cli._answer import Answer

# In characters: below, a question beside its answer leaves too little of a line to it.
_NARROW = 50

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


def check_table(answer: Answer, width: int) -> Table:
    """Return the table of `regretstop check`.

    Args:
        answer: What is shown.
        width: Of the terminal. On a narrow one questions and answers have lines of their own.
    """
    # As texts, without markup: so are names of parameters.
    if width < _NARROW:
        return _on_lines(answer.rows())
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for question, said in answer.rows():
        table.add_row(Text(question), Text(said))
    return table


def bound_table(found: RegretBound, width: int) -> Table:
    """Return the table of `regretstop bound`.

    Args:
        found: What is shown.
        width: As of `check_table`.
    """
    rows = [(name, f"{getattr(found, name):.6g}", meaning) for name, meaning in _MEANINGS.items()]
    if width < _NARROW:
        return _on_lines((f"{name} = {number}", meaning) for name, number, meaning in rows)
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column()
    for row in rows:
        table.add_row(*row)
    return table


def _on_lines(rows: Iterable[tuple[str, str]]) -> Table:
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(overflow="fold")
    for question, said in rows:
        table.add_row(Text(question, style="bold"))
        table.add_row(Text(said))
    return table
