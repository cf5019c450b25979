"""Search spaces: parameters, and how points of them become points of the unit cube.

In come the user's parameters and dicts of their values; out go encoded points, shape (n, d), and back.
"""

from regretstop.spaces._branches import Branch
from regretstop.spaces._categorical import Categorical
from regretstop.spaces._conditions import MOST_VALUES, Parameter, When
from regretstop.spaces._inference import Item, Node, Point, Record, infer_branches
from regretstop.spaces._lacking import Lacking, lacking, unvaried
from regretstop.spaces._numbers import to_number, to_python
from regretstop.spaces._numeric import Float, Int
from regretstop.spaces._places import Place, places_of
from regretstop.spaces._sobol import scrambled_sobol, sobol_points
from regretstop.spaces._space import SAME_POINT, Space

__all__ = [
    "MOST_VALUES",
    "SAME_POINT",
    "Branch",
    "Categorical",
    "Float",
    "Int",
    "Item",
    "Lacking",
    "Node",
    "Parameter",
    "Place",
    "Point",
    "Record",
    "Space",
    "When",
    "infer_branches",
    "lacking",
    "places_of",
    "scrambled_sobol",
    "sobol_points",
    "to_number",
    "to_python",
    "unvaried",
]
