"""Formulas: text to expression, then to values, balls, Taylor jets, and the places where it misbehaves."""

from headsmith.functions.balls import Unresolved, precision
from headsmith.functions.bounds import bound, lipschitz
from headsmith.functions.expression import Expression
from headsmith.functions.jets import Jet
from headsmith.functions.parser import parse
from headsmith.functions.places import Places

__all__ = ["Expression", "Jet", "Places", "Unresolved", "bound", "lipschitz", "parse", "precision"]
