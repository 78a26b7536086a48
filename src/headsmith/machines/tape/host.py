"""From a model to a machine and a program: sizes, norm scales and domain are read off the model and some samples.

    vm, program = hs.machine.host(module, tokens=64)     a block that fits, and the tape of the module
    other = vm.host(another)                             a tape for that very block, or a refusal that says why not

What is given is a torch module (`modules` lists which), a pair (state dict, config) or a folder of a BERT-style encoder
(`prompts.bert`), or a program of hs.prompt. A module is also *run*, in its own dtype and in float64, on the samples:
it must compute what was read from it. A state dict cannot be run; it is read by the names of its weights.
"""

from __future__ import annotations

import copy
import math
import os
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from headsmith.functions.modules import parts
from headsmith.machines.prompts.bert import bert, embedded, read_folder
from headsmith.machines.prompts.descent import DescentProgram
from headsmith.machines.prompts.heads import HeadProgram, LinearProgram
from headsmith.machines.prompts.layers import ChainProgram, NormProgram, features
from headsmith.machines.prompts.rule import RuleProgram
from headsmith.machines.tape.asked import as_chain, every, samples_of, shared
from headsmith.machines.tape.descending import descent_sizes
from headsmith.machines.tape.instruction import Sizes
from headsmith.machines.tape.lowering import lower, slots_of
from headsmith.machines.tape.modules import program_of
from headsmith.machines.tape.program import TapeProgram
from headsmith.machines.tape.ranges import WIDEST
from headsmith.machines.tape.rule_tokens import rule_sizes
from headsmith.records.shown import number
from headsmith.refusal import Refusal

FULL = 384  # numbers that one slot gets for a linear layer alone; more of them go over several passes
ROOM = 4.0  # the domain is this many times what the samples need, and each end of the norm table as well
ULPS = 1e4  # roundings that a module may make on its way, in units of its largest number
RANGES = (6, 7, 8, 9, 10)  # norm tables 2^-k .. 2^k, the shortest first: longer ones say little


def host(module: Any, tokens: int = 64, sample: Any = None, *, causal: bool = False) -> tuple[Any, TapeProgram]:
    """(vm, program): a frozen block in which the model fits, and the model as a tape for it.

    sample: tokens (..., tokens, features) such as the model will see; by default `tokens` standard normal ones, or
    words at random where there is a table of them.
    causal: the encoder layers of the module are run with the causal mask, as nn.TransformerEncoder(x, mask,
    is_causal=True).

    >>> vm, program = host(nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)).double())
    >>> vm(program, [[0.5, -0.25]]).value.shape, len(program)
    (torch.Size([1, 1]), 2)
    """
    from headsmith.machines.tape.tape import Tape

    program = fitted(module, tokens, sample, causal)
    D, S, H = program.sizes.slot, program.sizes.slots, program.sizes.heads
    return Tape(slot=D, slots=S, heads=H, domain=program.domain, norm=program.norm), program


def fitted(module: Any, tokens: int = 64, sample: Any = None, causal: bool = False) -> TapeProgram:
    """The model as a tape for the block that `host` makes for it; there is no such block yet."""
    if isinstance(module, DescentProgram | RuleProgram):
        if causal or sample is not None:
            raise Refusal(f"{module.name} carries its own data: it takes no sample and no causal mask")
        sizes = rule_sizes(module) if isinstance(module, RuleProgram) else descent_sizes(module, FULL)
        return lower(module, sizes)
    program, x = _read(module, tokens, sample, causal)
    slot, heads = _block(program)
    norm = _norm_range(program, slot, heads, x)
    sizes = Sizes(slot, slots_of(program, slot, heads, sample=x, norm=norm), heads)
    found = lower(program, sizes, sample=x, norm=norm)
    needed = reach(found, x)
    domain = max(8.0, 2.0 ** math.ceil(math.log2(ROOM * needed)))
    if needed <= WIDEST:
        domain = min(WIDEST, domain)
    return replace(found, domain=domain)


def hosted(
    module: Any,
    sizes: Sizes,
    norm: tuple[float, float],
    domain: float,
    *,
    tokens: int = 64,
    sample: Any = None,
    causal: bool = False,
) -> TapeProgram:
    """The model as a tape for a block that is there already, or a refusal that says what does not fit."""
    if isinstance(module, DescentProgram | RuleProgram):
        return lower(module, sizes, domain=domain)
    program, x = _read(module, tokens, sample, causal)
    found = lower(program, sizes, sample=x, norm=norm, domain=domain)
    needed = reach(found, x)
    if needed > domain:
        enough = 2.0 ** math.ceil(math.log2(needed))
        which = f"hs.machine.Tape(domain={number(enough, 6)}) holds it"
        if enough > WIDEST:
            which = f"no block holds more than {number(WIDEST, 6)}, measure the tokens in larger units"
        raise Refusal(
            f"a row of {program.name} reaches {number(needed)} on the samples, the domain of this machine ends at "
            f"{number(domain)}: {which}"
        )
    return found


def reach(program: TapeProgram, x: Tensor | None) -> float:
    """The largest sum |theta s| + |bias| of a row, and |number| of a state, over all passes of a run on x, or 1."""
    state, most, D = program.enter(x), 0.0, program.sizes.slot
    for instruction in program:
        for rows in instruction.rows:
            total = rows.bias.abs().expand(*state.shape[:-1], -1)
            for slot, weight in rows.weights.items():
                total = total + state[..., slot * D : slot * D + weight.shape[1]].abs() @ weight.abs().mT
            most = max(most, float(total.max()))
        state = instruction.reference(state, program.sizes)
        most = max(most, float(state[..., :-1].abs().max()))
    return most or 1.0


# reading what was given


def _read(given: Any, tokens: int, sample: Any, causal: bool) -> tuple[ChainProgram, Tensor]:
    """The program, and samples on which a module was found to compute it."""
    if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 1:
        raise Refusal(f"tokens must be a positive whole number, not {tokens!r}")
    if isinstance(given, nn.Module):
        program = program_of(given, causal)
        x = samples_of(program, sample, tokens)
        _run(given, program, x, causal)
        return program, x
    if causal:
        raise Refusal("causal=True is for torch modules: a config says is_decoder, a program head(..., causal=True)")
    if isinstance(given, str | os.PathLike):
        given = read_folder(os.fspath(given))
    if isinstance(given, tuple) and len(given) == 2:
        program = bert(*given)
        sample = embedded(given[0], tokens) if sample is None else sample
    else:
        program = as_chain(given)
    return program, samples_of(program, sample, tokens)


def _run(module: nn.Module, program: ChainProgram, x: Tensor, causal: bool) -> None:
    """Runs the module, and a copy in float64, on the samples: is it what was read from it?"""
    wanted = program.reference(x)
    for run in (module, _wide(module)):
        weight = next(run.parameters(), x)
        answers = [_answer(run, x.to(weight), causal) for _ in range(2)]
        if not torch.equal(*answers):
            raise Refusal("the module answers differently when it is run twice: it is random, or it changes as it runs")
        room = ULPS * torch.finfo(weight.dtype).eps * (1 + float(wanted.abs().max()))
        if answers[0].shape != wanted.shape or not float((answers[0] - wanted).abs().max()) <= room:
            raise Refusal(
                f"the module was read as {' + '.join(stage.name for stage in program.stages[:6])}, but run on "
                f"{x.shape[-2]} tokens it computes something else: something beside its layers changes what it does"
            )


def _wide(module: nn.Module) -> nn.Module:
    """A copy in float64, whose norms keep the eps that they have."""
    wide = copy.deepcopy(module).double()
    for ours, theirs in zip(wide.modules(), module.modules(), strict=True):
        if type(ours) is nn.RMSNorm and ours.eps is None:
            ours.eps = program_of(theirs).stages[0].eps
    return wide


def _answer(module: nn.Module, x: Tensor, causal: bool) -> Tensor:
    """The module on each sequence of tokens; encoders get the causal mask where they are to have it."""
    mask = nn.Transformer.generate_square_subsequent_mask(x.shape[-2], device=x.device, dtype=x.dtype)
    try:
        with torch.no_grad():
            out = []
            for one in x.reshape(-1, *x.shape[-2:]):
                for part in parts(module) if causal else [module]:
                    masked = causal and type(part) in (nn.TransformerEncoder, nn.TransformerEncoderLayer)
                    one = part(one, mask, is_causal=True) if masked else part(one)
                out.append(one)
    except Refusal:
        raise
    except Exception as error:
        raise Refusal(f"the module cannot be run on {tuple(x.shape)} numbers: {' '.join(str(error).split())}") from None
    return torch.stack(out).reshape(*x.shape[:-2], *out[0].shape).detach().cpu().double()


# the block that fits


def _block(program: ChainProgram) -> tuple[int, int]:
    """(D, H): norms and heads fit one slot, linear layers one if they are not too wide."""
    stages = every(program)
    found = [stage for stage in stages if isinstance(stage, HeadProgram)]
    heads = max((stage.weights[0].shape[:-2].numel() for stage in found), default=1)
    size = max((stage.head_dim for stage in found), default=1)
    norms = max((stage.features for stage in stages if isinstance(stage, NormProgram)), default=1)
    widths = [n for stage in stages if isinstance(stage, LinearProgram) for n in stage.weight.shape]
    widest = max([*widths, features(program) or 1])
    slot = max(heads * size, norms, min(widest, FULL), -(-widest // 4))
    return shared(slot, heads), heads


def _norm_range(program: ChainProgram, slot: int, heads: int, x: Tensor) -> tuple[float, float]:
    """The shortest norm table that holds the samples with room on both sides."""
    for k in RANGES:
        try:
            slots_of(program, slot, heads, sample=x, norm=(ROOM * 2.0**-k, 2.0**k / ROOM))
            return (2.0**-k, 2.0**k)
        except Refusal as refusal:
            last = refusal
    raise last
