"""Perceptrons: the errors through a stack, its rounding and enclosures, and what is asked of a module."""

from tests.mutants.mutant import Mutant

STACK, TESTS = "src/headsmith/proof/stack.py", "tests/proof/test_stack.py"
UNITS, READ = "src/headsmith/constructions/units.py", "src/headsmith/doors/mlp.py"
TYPES, STEPS = "src/headsmith/functions/modules.py", "tests/functions/test_modules.py"
MLP, MODULES = "src/headsmith/targets/perceptron.py", "tests/doors/test_mlp.py"


def stack(name, old, new):
    return Mutant(name, STACK, old, new, TESTS)


def read(name, old, new):
    return Mutant(name, READ, old, new, MODULES)


def typed(name, old, new):
    return Mutant(name, TYPES, old, new, STEPS)


MUTANTS = [
    stack("errors through a matrix", "matrix @ approximation * INFLATE", "approximation.max() * np.ones(len(matrix))"),
    stack("half of the errors through a matrix", "matrix @ approximation * INFLATE", "matrix @ approximation / 2"),
    stack("rounding through a matrix", "(matrix @ rounding + noise)", "(0.0 * (matrix @ rounding) + noise)"),
    stack("half of the rounding through a matrix", "(matrix @ rounding + noise)", "(matrix @ rounding / 2 + noise)"),
    stack("rounding of a matrix product", "(matrix @ rounding + noise)", "(matrix @ rounding)"),
    stack(
        "half of the rounding of a matrix product", "gamma(terms + 1, fmt.unit) *", "gamma(terms + 1, fmt.unit) / 2 *"
    ),
    stack("the bias in its size", "(matrix @ size + np.abs(linear.bias)) + 2", "(matrix @ size) + 2"),
    stack("the inputs in its size", "(matrix @ size + np.abs(linear.bias)) + 2", "(np.abs(linear.bias)) + 2"),
    stack("terms that are flushed to zero", " + 2 * terms * fmt.tiny", ""),
    stack("widening by our own error", "wide = approximation + rounding", "wide = 0.0 * approximation"),
    stack("half of the widening", "wide = approximation + rounding", "wide = (approximation + rounding) / 2"),
    stack("widening by our rounding", "wide = approximation + rounding", "wide = approximation"),
    stack("widening by our approximation", "wide = approximation + rounding", "wide = rounding"),
    stack("the error of the heads", "(unit.approximation + sigma", "(0.0 + sigma"),
    stack("half of the error of the heads", "(unit.approximation + sigma", "(unit.approximation / 2 + sigma"),
    stack("the gap between code and formula", " + sigma.apart(reach[1])", ""),
    stack("half of the gap", " + sigma.apart(reach[1])", " + sigma.apart(reach[1]) / 2"),
    stack("the slope of an activation", "+ unit.slope * approximation)", "+ approximation)"),
    stack("errors before an activation", "+ unit.slope * approximation)", ")"),
    stack("the rounding of the heads", "(unit.rounding + unit", "(0.0 + unit"),
    stack("half of the rounding of the heads", "(unit.rounding + unit", "(unit.rounding / 2 + unit"),
    stack("rounding before an activation", "+ unit.slope * rounding)", ")"),
    stack("the slope, for rounding", "+ unit.slope * rounding)", "+ rounding)"),
    stack("errors in the size of what heads return", "+ approximation + rounding, top)", "+ rounding, top)"),
    stack("rounding in the size of what heads return", "+ approximation + rounding, top)", "+ approximation, top)"),
    stack("our errors in |z|", "np.abs(hi)) + wide", "np.abs(hi)) + 0 * wide"),
    stack("the number of heads of a unit", "len(unit.heads) * len(size) + 1", "len(size) + 1"),
    stack("the number of units", "len(unit.heads) * len(size) + 1", "len(unit.heads) + 1"),
    stack("the values of several heads", "(values + lines * reach)", "(lines * reach)"),
    stack("the lines of several heads", "(values + lines * reach)", "(values + 0 * reach)"),
    stack("what several heads round", "* INFLATE + self.rounding", "* INFLATE"),
    stack("noise of a box", " + self.noise(np.abs(middle) + radius)", " + 1e-300"),
    stack("the radius of a box", "np.abs(self.weight) @ radius + self", "np.abs(self.weight) @ radius / 2 + self"),
    stack("the bottom of an activation", "np.minimum(ends.min(0), self.bottom)", "ends.min(0)"),
    stack("zonotope sampling gap", " + between + room", " + room"),
    stack("half of the sampling gap", " + between + room", " + between / 2 + room"),
    stack("slope in the sampling gap", "(slope + np.abs(tilt)) * width", "np.abs(tilt) * width"),
    stack("the width of a band", "((most - least) / 2 + between", "(0 * most + between"),
    stack("half of the width of a band", "((most - least) / 2 + between", "((most - least) / 4 + between"),
    stack("noise through a matrix", "np.abs(linear.weight) @ self.noise + linear", "linear"),
    stack(
        "half of the noise through a matrix",
        "np.abs(linear.weight) @ self.noise",
        "np.abs(linear.weight) @ self.noise / 2",
    ),
    stack("what a product adds to the noise", " + linear.noise(size)", ""),
    stack(
        "noise in the reach of a zonotope",
        "np.abs(self.generators).sum(1) + self.noise) * INFLATE",
        "np.abs(self.generators).sum(1)) * INFLATE",
    ),
    stack("generators in the reach of a zonotope", "reach = (np.abs(self.generators).sum(1) + self", "reach = (self"),
    stack("fresh directions of a bent zonotope", "np.diag(width)", "0 * np.diag(width)"),
    stack("half of the fresh directions", "np.diag(width)", "np.diag(width) / 2"),
    stack("noise through an activation", "np.abs(tilt) * self.noise + 1e-15", "1e-15"),
    Mutant("softplus beyond its threshold", STACK, "arb(0, self.gap)", "arb(0)", "tests/functions/test_activations.py"),
    Mutant(
        "the worst output, not the best",
        UNITS,
        "carried.approximation.max()",
        "carried.approximation.min()",
        "tests/constructions/test_units.py",
    ),
    Mutant(
        "weights that the dtype does not hold",
        MLP,
        "if not np.array_equal(value.astype",
        "if False and np.array_equal(value.astype",
        "tests/constructions/test_units.py tests/targets/test_perceptron.py",
    ),
    Mutant(
        "values beyond the dtype",
        MLP,
        "if not size < float(",
        "if False and size < float(",
        "tests/targets/test_perceptron.py",
    ),
    Mutant(
        "steeper than 1 in the values",
        MLP,
        "size = sigma.steep * size +",
        "size = 1.0 * size +",
        "tests/targets/test_perceptron.py",
    ),
    Mutant(
        "only known activations",
        MLP,
        "        _ = self.sigmas  # refuses what is not known\n",
        "",
        "tests/targets/test_perceptron.py",
    ),
    typed("the types of containers", "if type(module) is nn.Sequential:", "if isinstance(module, nn.Sequential):"),
    typed("the types of matrices", "if type(part) is nn.Linear else", "if isinstance(part, nn.Linear) else"),
    typed("hooks before a module", "module._forward_hooks or module._forward_pre_hooks", "module._forward_hooks"),
    typed("hooks after a module", "module._forward_hooks or module._forward_pre_hooks", "module._forward_pre_hooks"),
    typed(
        "global hooks before",
        "every._global_forward_hooks or every._global_forward_pre_hooks",
        "every._global_forward_hooks",
    ),
    typed(
        "global hooks after",
        "every._global_forward_hooks or every._global_forward_pre_hooks",
        "every._global_forward_pre_hooks",
    ),
    typed("methods of an instance", "if own or module._compiled", "if module._compiled"),
    typed("compiled calls", "if own or module._compiled_call_impl is not None:", "if own:"),
    typed("dropout at work", "and module.training and module.p > 0", "and False"),
    read("running the module", "if not (apart <= 0).all():", "if not (apart <= np.inf).all():"),
    read("running it twice", "if not np.array_equal(answers[0], answers[1]):", "if False:"),
    read("running it in float64", "(module, copy.deepcopy(module).double())", "(module,)"),
    read(
        "running it in its own dtype", "(module, copy.deepcopy(module).double())", "(copy.deepcopy(module).double(),)"
    ),
    read(
        "running it on corners",
        "np.concatenate([[[x] * features for x in (lo / 2 + hi / 2, lo, hi)], inside, corners])",
        "inside",
    ),
    read("reading it again", "if read_module(module).hash() != target.hash():", "if False:"),
    read("rounding of honest modules", "gamma(len(matrix) + 2, unit) *", "0.0 *"),
    typed("weights that are no parameters", "if not plain or part.weight", "if False and part.weight"),
    typed("biases that are no parameters", " and type(held[1]) in (nn.Parameter, type(None))", ""),
    typed("sparse weights", " or v.layout is not torch.strided", ""),
    typed("negated weights", ".resolve_neg()", ""),
    Mutant(
        "scores beyond all balls",
        "src/headsmith/proof/cells.py",
        "if not Z[0] > 0:",
        "if False:",
        MODULES,
    ),
    Mutant(
        "what else a class holds",
        "src/headsmith/functions/activations.py",
        " and vars(kind).keys() <= BARE",
        "",
        "tests/functions/test_activations.py",
    ),
    Mutant(
        "the code of something else",
        "src/headsmith/functions/activations.py",
        "not isinstance(forward, FunctionType)",
        "forward is None",
        "tests/functions/test_activations.py",
    ),
    read("two networks in a file", "if len(own) < len(found):", "if False:"),
    read("the options of activations in a file", "spelled(of_module(part)))", "type(part).__name__)"),
]
