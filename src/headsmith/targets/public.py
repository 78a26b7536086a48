"""The targets that are more than a formula: `hs.target` lists them, each lives in the file that plans it.

>>> import headsmith as hs
>>> clip = hs.target.Clip([[1.0, 2.0]], [0.5])      # x -> Range_[-1, 1]([1, 2] . x + 0.5)
>>> hs.compile(clip, domain=(-9, 9), eps=1e-6)([[0.25, -0.25]]).round(decimals=5)
tensor([0.2500], dtype=torch.float64)
"""

from headsmith.targets.clip import Clip
from headsmith.targets.descent import Descent
from headsmith.targets.equivariant import EquivariantMap
from headsmith.targets.least_squares import LeastSquares
from headsmith.targets.product import Product
from headsmith.targets.prompt_clip import PromptClip
from headsmith.targets.recall import Recall
from headsmith.targets.relu_network import ReluNetwork
from headsmith.targets.routed_clip import RoutedClip
from headsmith.targets.rule import ResidualRule
from headsmith.targets.sequence import SequenceMap
from headsmith.targets.training.target import Training

__all__ = [
    "Clip",
    "Descent",
    "EquivariantMap",
    "LeastSquares",
    "Product",
    "PromptClip",
    "Recall",
    "ReluNetwork",
    "ResidualRule",
    "RoutedClip",
    "SequenceMap",
    "Training",
]


def __dir__() -> list[str]:
    return __all__
