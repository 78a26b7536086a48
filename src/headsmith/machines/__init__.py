"""Machines: the prompt carries the algorithm, the weights are frozen.

hs.machine.Solver(features, samples, eps)                        regressions from prompts
hs.machine.Attention(features, head_dim, tokens, domain, eps)    attention heads, linear layers, MLPs from prompts
hs.machine.Tape(slot, slots, heads, domain, norm)                whole transformers, from prompts one after another
hs.machine.host(module)                                          a tape that fits a torch module, and its program
hs.machine.TokenGrid(features, head_dim, tokens, domain, heads)  Thm 4.1: all weights in every token, H heads a row
hs.machine.Neurons, hs.machine.Gradients                         Hopfield layers: the patterns carry the weights
"""

from headsmith.machines.attention import Attention
from headsmith.machines.hopfield import Gradients, Neurons
from headsmith.machines.result import Result
from headsmith.machines.solver import Solver
from headsmith.machines.tape.host import host
from headsmith.machines.tape.tape import Tape
from headsmith.machines.token_grid import TokenGrid

__all__ = ["Attention", "Gradients", "Neurons", "Result", "Solver", "Tape", "TokenGrid", "host"]


def __dir__() -> list[str]:
    return sorted(__all__)
