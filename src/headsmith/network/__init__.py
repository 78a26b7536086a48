"""Transformers whose weights are written down: layers, `Network`, and their files."""

from headsmith.network.affine import Affine
from headsmith.network.attention import Attention
from headsmith.network.copies import Copies
from headsmith.network.cost import Cost
from headsmith.network.embedding import Embedding
from headsmith.network.feedforward import FeedForward
from headsmith.network.files import digest, fingerprint, from_config, load_tensors, save_tensors, wiring
from headsmith.network.layer import Layer
from headsmith.network.lookup import Lookup
from headsmith.network.maps import Dense, Map, Select, Sparse
from headsmith.network.network import Network, rotation
from headsmith.network.tokens import TokenMix

__all__ = [
    "Affine",
    "Attention",
    "Copies",
    "Cost",
    "Dense",
    "Embedding",
    "FeedForward",
    "Layer",
    "Lookup",
    "Map",
    "Network",
    "Select",
    "Sparse",
    "TokenMix",
    "digest",
    "fingerprint",
    "from_config",
    "load_tensors",
    "rotation",
    "save_tensors",
    "wiring",
]
