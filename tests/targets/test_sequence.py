"""Maps of whole sequences: through the tensor grid, by repaired bumps, and as printed."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import headsmith as hs
from headsmith.compiler.files import read, seal, write

Map = hs.target.SequenceMap
F = ("sin(2*x1)*x2 + x1/2", "cos(1.5*(x1+x2))")


def f(X):
    a, b = X[..., 0, 0], X[..., 1, 0]
    return torch.stack([torch.sin(2 * a) * b + a / 2, torch.cos(1.5 * (a + b))], -1)[..., None]


def measured(net, truth=f, count=600):
    g = torch.Generator().manual_seed(0)
    n, d = net.target.tokens, net.target.features
    X = torch.rand(count, n, d, generator=g, dtype=torch.float64) * 2 - 1
    X[: count // 5] = X[: count // 5].sign()
    X = X.to(net.dtype)
    out = torch.cat([net(part) for part in X.split(100)])
    assert out.shape == X.shape
    return float((out.double() - truth(X.double())).abs().max())


@pytest.fixture(scope="module")
def grid():
    return hs.compile(Map(F, tokens=2, features=1), domain=(-1, 1), eps=1e-4)


def test_formulas_are_proved_through_the_grid(grid):
    assert grid.certificate.kind == "proved" and grid.plan.anchors <= 40
    assert measured(grid, count=4000) <= grid.certificate.bound <= 1e-4
    assert "printed rule" in str(grid.plan) and grid.plan.printed_anchors > 1e9


def test_float32():
    net = hs.compile(Map(F, tokens=2, features=1), domain=(-1, 1), eps=1e-3, dtype="float32")
    assert measured(net) <= net.certificate.bound <= 1e-3


def test_gathering_copies_bit_for_bit(grid):
    X = torch.tensor([[[0.1], [-0.7]]], dtype=torch.float64)
    seen = grid.network.trace(X)["blocks.1.hook_resid_post"]
    assert seen[0, :, 1:3].tolist() == [[0.1, -0.7], [0.1, -0.7]]


@pytest.mark.slow
def test_two_tokens_of_two_features():
    target = Map([["x1*x3", "x2"], ["x4", "x1 - x2"]], tokens=2, features=2)
    net = hs.compile(target, domain=(-1, 1), eps=1e-3)

    def truth(X):
        (a, b), (c, d) = (X[..., 0, 0], X[..., 0, 1]), (X[..., 1, 0], X[..., 1, 1])
        return torch.stack([torch.stack([a * c, b], -1), torch.stack([d, a - b], -1)], -2)

    assert measured(net, truth) <= net.certificate.bound <= 1e-3


def test_code_is_conditional_and_its_constant_is_checked():
    net = hs.compile(Map(f, tokens=2, features=1, lipschitz=4.0), domain=(-1, 1), eps=3e-2)
    assert net.certificate.kind == "conditional" and "<= 4 max|X - Y|" in net.certificate.statement
    assert measured(net) <= net.certificate.bound <= 3e-2
    assert float(net.certify([[0.5], [0.25]]).max()) <= net.certificate.bound
    with pytest.raises(hs.Refusal, match="no Lipschitz constant"):
        hs.plan(Map(f, tokens=2, features=1, lipschitz=1.0), domain=(-1, 1), eps=1e-1)
    with pytest.raises(hs.Refusal, match="give lipschitz"):
        Map(f, tokens=2, features=1)


def test_a_file_does_not_hold_code(tmp_path):
    net = hs.compile(Map(f, tokens=2, features=1, lipschitz=4.0), domain=(-1, 1), eps=3e-1)
    path = net.save(tmp_path / "f.safetensors")
    assert (hs.certify(path).status, hs.certify(path).statement) == (2, "")
    back = hs.load(path)
    assert not back.target.known and torch.equal(back([[0.5], [0.25]]), net([[0.5], [0.25]]))
    with pytest.raises(hs.Refusal, match="does not hold the function f"):
        back.certify([[0.5], [0.25]])


@pytest.mark.parametrize("moody", [lambda X: X + 1e-6 * torch.rand_like(X), torch.nn.Dropout()])
def test_code_that_answers_differently_is_refused(moody):
    with pytest.raises(hs.Refusal, match="answers differently"):
        hs.plan(Map(moody, tokens=2, features=1, lipschitz=4.0), domain=(-1, 1), eps=3e-1)


def test_code_that_has_no_value_is_refused():
    with pytest.raises(hs.Refusal, match="not finite"):
        hs.plan(Map(lambda X: X.log(), tokens=1, features=1, lipschitz=4.0), domain=(-1, 1), eps=3e-1)


@pytest.mark.parametrize(("f", "lipschitz", "eps"), [(f, 4.0, 1e-3), (lambda X: X * 2, 2.0, 1e-5)])
def test_a_refusal_of_code_names_an_eps_that_can_be_had(f, lipschitz, eps):
    target = Map(f, tokens=2, features=1, lipschitz=lipschitz)
    with pytest.raises(hs.Refusal, match="can be had") as refused:
        hs.plan(target, domain=(-1, 1), eps=eps)
    had = float(str(refused.value).split("eps = ")[-1].split(" ")[0])
    assert hs.plan(target, domain=(-1, 1), eps=had).bound <= had


@pytest.mark.parametrize("method", ["bumps", "softmax"])
def test_repaired_bumps_keep_a_sup_norm_theorem(method):
    net = hs.compile(Map(F, tokens=2, features=1), domain=(-1, 1), eps=0.6, method=method)
    assert net.certificate.kind == "proved" and "g^(dn) = 7^2 = 49 cells" in str(net.plan)
    assert measured(net) <= net.certificate.bound <= 0.6


def test_as_printed_the_bound_holds_of_whatever_is_picked(tmp_path):
    """A largest error of samples is no bound: other samples exceed it."""
    net = hs.compile(Map(F, tokens=2, features=1), domain=(-1, 1), eps=0.6, method="printed")
    assert 10 < measured(net, count=4000) <= net.certificate.bound and net.certificate.kind == "proved"
    assert hs.certify(net.save(tmp_path / "p.safetensors")).status == 0
    code = hs.compile(Map(f, 2, 1, lipschitz=4.0), domain=(-1, 1), eps=0.6, method="printed").certificate
    assert code.kind == "conditional" and code.bound > 10


@pytest.mark.parametrize("kinked", ["abs(x1)", "relu(x1)*x2", "max(x1, x2)", "clip(2*x1, -1, x2)"])
def test_bumps_follow_a_kink_and_the_grid_says_so(kinked):
    target = Map([kinked, "x2"], tokens=2, features=1)
    for asked in (0.9, 1e-3):
        with pytest.raises(hs.Refusal, match="method='bumps' has eps = ") as refused:
            hs.plan(target, domain=(-1, 1), eps=asked)
        had = float(str(refused.value).rsplit(" ", 1)[-1])
        assert hs.plan(target, domain=(-1, 1), eps=had, method="bumps").bound <= had
    net = hs.compile(target, domain=(-1, 1), eps=0.9, method="bumps")
    X = torch.rand(500, 2, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 2 - 1
    truth = np.moveaxis(target.evaluate(*X.numpy()[..., 0].T), 0, -1)[..., None]
    assert float(np.abs(net(X).numpy() - truth).max()) <= net.certificate.bound


ONE = Map(["sin(2*x1)*x2 + x1/2"], tokens=2, features=1, scalar=True)


@pytest.mark.parametrize(
    ("method", "eps"), [("auto", 1e-4), ("bumps", 0.6), ("softmax", 0.6), ("printed", 0.6)], ids=lambda v: str(v)
)
def test_a_scalar_map_by_every_method(method, eps, tmp_path):
    """Lemmas 3.12 and 3.13: a whole sequence to one number, as printed and repaired."""
    net = hs.compile(ONE, domain=(-1, 1), eps=eps, method=method)
    X = torch.rand(500, 2, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 2 - 1
    truth = torch.sin(2 * X[:, 0, 0]) * X[:, 1, 0] + X[:, 0, 0] / 2
    error = float((net(X) - truth).abs().max())
    assert net(X).shape == (500,) and error <= net.certificate.bound and net.certificate.kind == "proved"
    assert (net.certificate.bound <= eps) == (method != "printed") and (method != "printed" or error > 4)
    assert hs.certify(net.save(tmp_path / "one.safetensors")).status == 0
    lemma = {"auto": "gather", "softmax": "Lemma 3.13, repaired"}.get(method, "Lemma 3.12")
    assert lemma in net.plan.method and "-> one number" in str(net.plan)


@pytest.mark.parametrize("wrong", [{"f": ["x1", "x2"]}, {"f": f, "lipschitz": 4.0}, {"scalar": 1}])
def test_a_scalar_map_is_one_formula(wrong):
    with pytest.raises(hs.Refusal, match="one formula"):
        Map(**{"f": ["x1"], "tokens": 2, "features": 1, "scalar": True} | wrong)


def edited(net, tmp_path, edit):
    """The verdict on a file of the network with something changed and every hash made right."""
    manifest, tensors = read(net.save(tmp_path / "honest.safetensors"))
    layers = {layer["name"]: layer for layer in manifest["network"]["layers"]}
    edit(manifest, layers, tensors)
    return hs.certify(write(tmp_path / "forged.safetensors", seal(manifest, tensors), tensors))


FORGERIES = {
    "hardmax for softmax": lambda m, n, t: n["grid"].update(weights="hardmax"),
    "scale 2": lambda m, n, t: n["grid"].update(scale=(2.0).hex()),
    "a dropped key": lambda m, n, t: t.update({"grid.memory": t["grid.memory"][:-1].clone()}),
    "a moved bias": lambda m, n, t: t["lift.bias"].view(-1)[3].add_(1e-3),
    "a moved value": lambda m, n, t: t["grid.memory"][3, -1].add_(1.0),
    "no gathering": lambda m, n, t: m["network"]["layers"].pop(1),
    "gathered twice": lambda m, n, t: m["network"]["layers"].insert(1, n["gather"]),
    "every token sees every token": lambda m, n, t: n["gather"].update(visible="all"),
    "tokens exchanged": lambda m, n, t: n["read"]["map"].update(index=n["read"]["map"]["index"][::-1]),
    "another method": lambda m, n, t: m["request"].update(method="bumps"),
    "another construction": lambda m, n, t: m["design"].update(name="cells"),
    "code": lambda m, n, t: m["target"].update(f="f", lipschitz={"float": (4.0).hex()}),
    "other formulas": lambda m, n, t: m["target"]["f"].reverse(),
    "another shape": lambda m, n, t: m["target"].update(tokens=1, features=2),
}


@pytest.mark.parametrize("edit", FORGERIES.values(), ids=FORGERIES.keys())
def test_forgeries_are_not_proved(grid, tmp_path, edit):
    found = edited(grid, tmp_path, edit)
    assert found.status == 1 and not found.statement, found


@pytest.mark.parametrize(
    "one",
    [
        lambda X: X.flip(0),
        lambda X: torch.stack([X[1] / 2, X[0] - X[1]]),
        lambda X: X if X.sum() > -9 else -X,
    ],
)
def test_a_callable_on_one_sequence(one):
    net = hs.compile(Map(one, tokens=2, features=1, lipschitz=2.0), domain=(-1, 1), eps=2e-1)
    X = torch.tensor([[0.9], [-0.3]]).double()
    assert float((net(X) - one(X)).abs().max()) <= net.certificate.bound <= 2e-1


@settings(max_examples=5)
@given(st.integers(1, 3), st.integers(1, 1), st.integers(0, 99), st.sampled_from(["float64", "float32"]))
def test_measured_stays_below_certified(tokens, features, seed, dtype):
    rng, count = np.random.default_rng(seed), tokens * features
    names = [f"x{i + 1}" for i in range(count)]
    pairs = zip(names, rng.permutation(names), strict=True)
    formulas = [f"{rng.uniform(-1, 1):.3f}*sin({a}) + {rng.uniform(-1, 1):.3f}*{b}" for a, b in pairs]
    net = hs.compile(Map(formulas, tokens, features), domain=(-1, 1), eps=3e-2, dtype=dtype)
    X = net.target.sample(net.certificate.domain, 40, torch.Generator().manual_seed(seed))[0]
    X[:16] = X[:16].sign()
    assert float(net.certify(X.to(net.dtype)).max()) <= net.certificate.bound <= 3e-2


@pytest.mark.parametrize(
    ("make", "options", "says"),
    [
        (lambda: Map(["x1"] * 6, tokens=6, features=1), {}, r"g\^N"),
        (lambda: Map(["x1"], tokens=2, features=1), {}, "need 2 formulas"),
        (lambda: Map(["x1", "y"], tokens=2, features=1), {}, "x1, x2"),
        (lambda: Map(F, tokens=2, features=1), {"domain": None}, "domain"),
        (lambda: Map(F, tokens=0, features=1), {}, "at least 1"),
        (lambda: Map(F, tokens=2, features=1), {"method": "bumps", "eps": 1e-3}, r"g\^\(dn\)"),
        (lambda: Map(F, tokens=2, features=1), {"method": "magic"}, "no method"),
        (lambda: Map(["sqrt(abs(x1))"], tokens=1, features=1), {"method": "bumps"}, "slope of"),
        (lambda: Map(["1/(x1 + x2)", "x1"], tokens=2, features=1), {}, "pole"),
        (lambda: Map(["step(x1)", "x2"], tokens=2, features=1), {}, "jump"),
        (lambda: Map(3, tokens=2, features=1), {}, "list of 2 formulas"),
        (lambda: Map("sin(x1)", tokens=1, features=1), {}, "list of 1 formula,"),
        (lambda: Map("x1", tokens=1, features=1), {}, "list of 1 formula, .* not 'x1'"),
        (lambda: Map(f, tokens=2, features=1), {}, "give lipschitz=L"),
        (lambda: Map(lambda X: X[0], tokens=2, features=1, lipschitz=1.0), {}, "same shape"),
        (lambda: Map(f, 2, 1, lipschitz=float("nan")), {}, "give lipschitz"),
    ],
)
def test_refusals(make, options, says):
    with pytest.raises(hs.Refusal, match=says):
        hs.plan(make(), **({"domain": (-1, 1), "eps": 1e-2} | options))


@pytest.mark.parametrize("formulas", [F, ["x1*x2", "x1/3"]])
def test_bumps_that_do_not_fit_name_an_eps_that_does(formulas):
    target = Map(formulas, tokens=2, features=1)
    with pytest.raises(hs.Refusal, match="can be had") as refused:
        hs.plan(target, domain=(-1, 1), eps=1e-3, method="bumps")
    eps = float(str(refused.value).split("eps = ")[-1].split(" ")[0])
    assert hs.plan(target, domain=(-1, 1), eps=eps, method="bumps").bound <= eps
