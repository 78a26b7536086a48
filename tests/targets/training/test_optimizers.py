"""Momentum and Adam in the forward pass: against plain loops of their formulas, and every promise of a step."""

import pytest
import torch
from flint import arb, arb_mat
from torch.nn import functional as F

import headsmith as hs
from headsmith.targets.training.network import _distances

WIDTHS, prompt = (5, 8, 8, 2), hs.prompt.training


def network(optimizer, *, widths=WIDTHS, n=20, steps=50, rate=None, eps=1e-6, dtype="float64", domain=None, **options):
    rate = rate or {"gd": 0.05, "momentum": 0.05, "adam": 0.01}[optimizer]
    asked = {"widths": list(widths), "samples": n, "steps": steps, "rate": rate, "optimizer": optimizer, **options}
    return hs.compile(hs.target.Training(**asked), eps=eps, dtype=dtype, domain=domain)


def data(n=20, widths=WIDTHS, dtype=torch.float64):
    """Labels of size 1/2: no gradient is larger than 2 at the start, and v^ stays below 4."""
    g = torch.Generator().manual_seed(1)
    X, Y, query = (torch.randn(*size, generator=g).clamp(-2, 2).to(dtype) for size in
                   ((n, widths[0]), (n, widths[-1]), (widths[0],)))  # fmt: skip
    return X / 2, Y / 4, query / 2


def gradients(target, W, X, Y, mask):
    W = [w.detach().requires_grad_() for w in W]
    p = torch.cat([X, torch.ones_like(X[:, :1])], 1) if target.biases else X
    for j, w in enumerate(W):
        p = p @ w.T
        if j + 1 < len(W):
            p = F.relu(p)
            p = torch.cat([p, torch.ones_like(p[:, :1])], 1) if target.biases else p
    loss = (0.5 * ((p - Y) ** 2).sum(-1) * mask).sum() / mask.sum()
    return [g + target.decay * w.detach() for g, w in zip(torch.autograd.grad(loss, W), W, strict=True)]


def looped(target, start, X, Y, rates=None, masks=None):
    """The plain loop of the formulas, from w as matrices with their biases last."""
    o, W = target.optimized, [w.clone() for w in start]
    M, V = ([torch.zeros_like(w) for w in W] for _ in "mv")
    for t in range(1, target.steps + 1):
        mask = torch.ones(len(X), dtype=X.dtype) if masks is None else masks[t - 1]
        rate = target.rate if rates is None else rates[t - 1]
        G = gradients(target, W, X, Y, mask)
        if o.name == "momentum":
            V = [o.beta * v + g for v, g in zip(V, G, strict=True)]
            moves = V
        else:
            (b1, b2), root = o.betas, o.root
            M = [b1 * m + (1 - b1) * g for m, g in zip(M, G, strict=True)]
            V = [b2 * v + (1 - b2) * g**2 for v, g in zip(V, G, strict=True)]
            pairs = zip(M, V, strict=True)
            moves = [m / (1 - b1**t) / torch.sqrt(v / (1 - b2**t) + root) for m, v in pairs]
        W = [w - rate * move for w, move in zip(W, moves, strict=True)]
        W = W if target.project is None else [w.clamp(*target.project) for w in W]
    return W


def gap(net, given, **told):
    """(the largest difference of any weight from the loop, the result)."""
    r = net(prompt(*given, **told))
    path = net.target.matrices.split(r.path)
    found = looped(net.target, [w[0] for w in path], *given[:2], **told)
    return max(float((a[-1] - b).abs().max()) for a, b in zip(path, found, strict=True)), r


def test_momentum_is_the_loop_and_torch():
    net, (X, Y, query) = network("momentum"), data()
    error, r = gap(net, (X, Y, query))
    assert error <= 1e-9 and not r.kinks
    W = [torch.nn.Parameter(w.clone()) for w in r.initial]
    sgd = torch.optim.SGD(W, lr=0.05, momentum=0.9)
    for _ in range(50):
        for w, g in zip(W, gradients(net.target, W, X, Y, torch.ones(20).double()), strict=True):
            w.grad = g
        sgd.step()
    assert max(float((a - b.detach()).abs().max()) for a, b in zip(r.weights, W, strict=True)) <= 1e-9
    assert float(r.loss_curve[-1]) < 0.5 * float(r.loss_curve[0])


def test_adam_is_the_loop():
    error, r = gap(network("adam"), data())
    assert error <= 1e-7 and not r.kinks and float(r.loss_curve[-1]) < 0.5 * float(r.loss_curve[0])


@pytest.mark.parametrize("optimizer, eps, most", [("momentum", 1e-2, 1e-5), ("adam", 0.03, 1e-5)])
def test_float32_is_the_loop(optimizer, eps, most):
    net, given = network(optimizer, eps=eps, dtype="float32"), data(dtype=torch.float32)
    error, r = gap(net, given)
    assert error <= most and r.certificate.bound <= net.certificate.bound <= eps
    assert bool((net.certify(prompt(*given)) <= r.perturbations).all())


OPTIONS = {
    "momentum": {"beta": 0.5},
    "momentum, everything": {"beta": 0.99, "biases": True, "decay": 0.1, "project": 0.5},
    "no momentum": {"beta": 0.0},
    "adam": {"betas": (0.5, 0.9), "root": 1e-2},
    "adam, everything": {"biases": True, "decay": 0.1, "project": 0.5},
    "no averages": {"betas": (0.0, 0.0), "root": 0.1},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_is_the_loop_and_each_step_keeps_its_bound(name):
    optimizer = "momentum" if "momentum" in name else "adam"
    net = network(optimizer, steps=12, eps=1e-5, **OPTIONS[name])
    error, r = gap(net, data())
    assert error <= (1e-13 if optimizer == "momentum" else 1e-6)
    measured = net.certify(prompt(*data()))
    assert bool((measured <= r.perturbations).all())
    assert bool((measured >= 1e-3 * r.perturbations).all())
    assert r.certificate.bound >= float(r.perturbations.max())
    assert (r.certificate.approximation > 0) == (optimizer == "adam")


@pytest.mark.parametrize("optimizer", ["momentum", "adam"])
def test_rates_and_masks_are_told_by_the_prompt(optimizer):
    g = torch.Generator().manual_seed(3)
    masks, rates = (torch.rand(8, 20, generator=g) > 0.5).double(), torch.rand(8, generator=g).double() * 0.02 + 0.001
    net = network(optimizer, steps=8, eps=1e-5, domain={"v": 8.0} if optimizer == "adam" else None)
    for told in ({"rates": rates}, {"masks": masks}, {"rates": rates, "masks": masks}):
        error, r = gap(net, data(), **told)
        assert error <= (1e-13 if optimizer == "momentum" else 1e-6)
        assert bool((net.certify(prompt(*data(), **told)) <= r.perturbations).all())


@pytest.mark.parametrize("optimizer", ["momentum", "adam"])
def test_a_batch_is_its_prompts_and_forgets_nothing_between_steps(optimizer):
    net, (X, Y, query) = network(optimizer, steps=20, eps=1e-5), data()
    X2, Y2 = torch.stack([X, X / 2, -X] * 3), torch.stack([Y, -Y, Y / 2] * 3)
    whole = net(prompt(X2, Y2, query))
    measured = net.certify(prompt(X2[6:], Y2[6:], query))
    for k in (0, 1, 8):
        one = net(prompt(X2[k], Y2[k], query))
        assert float((whole.path[k] - one.path).abs().max()) <= 1e-12
        assert float((whole.perturbations[k] / one.perturbations - 1).abs().max()) <= 1e-3
    assert bool((measured <= whole.perturbations[6:]).all())


def test_one_vector_of_inputs_is_the_same_run():
    net, (X, Y, query) = network("adam", steps=5, eps=1e-5), data()
    r = net(prompt(X, Y, query))
    assert torch.equal(net(X, Y, query, r.path[0]), torch.cat([r.path[-1], r.prediction]))
    exact = net.target.exact(X.tolist(), Y.tolist(), query.tolist(), r.path[0].tolist())
    assert max(abs(float(b.mid()) - v) for b, v in zip(exact, r.path[-1].tolist(), strict=False)) <= 1e-6


def test_the_moments_are_in_the_trace():
    for optimizer, names in (("momentum", ["velocity"]), ("adam", ["first moment", "second moment"])):
        net, given = network(optimizer, steps=3, eps=1e-5), data()
        trace, r = net.trace(prompt(*given)), net(prompt(*given))
        start = net.target.matrices.split(r.path)[0][0]
        g = gradients(
            net.target, [w[0] for w in net.target.matrices.split(r.path)], *given[:2], torch.ones(20).double()
        )[0]
        expected = {"velocity": g, "first moment": 0.1 * g, "second moment": 0.001 * g**2}
        for name in names:
            found = trace[f"step 1 / layer 1 / {name}"]
            assert found.shape == start.shape and float((found - expected[name]).abs().max()) <= 1e-15
        moved = trace["step 2 / layer 1 / update"]
        path = net.target.matrices.split(r.path)[0]
        assert float((moved - (path[2] - path[1])).abs().max()) <= 1e-15


def test_v_is_held_to_its_range_in_every_step():
    X, Y, query = data()
    with pytest.raises(hs.Refusal, match=r"in step \d+, v .* outside the certified domain \[0, 4\].* wider domain$"):
        network("adam", steps=3, eps=1e-5)(prompt(4 * X, 8 * Y, query))
    wide = network("adam", steps=3, eps=1e-4, domain={"v": 1e3})
    assert wide.plan.domain["v"] == (0.0, 1e3) and wide(prompt(4 * X, 8 * Y, query)).certificate.bound <= 1e-4
    with pytest.raises(hs.Refusal, match="starts at 0"):
        network("adam", domain={"v": (-1.0, 4.0)})
    with pytest.raises(hs.Refusal, match=r"names 'v'; it has x, y, w$"):
        network("momentum", domain={"v": 4.0})


def test_a_root_that_no_table_carries_is_refused_in_words():
    with pytest.raises(hs.Refusal, match=r"no table of 1/sqrt\(v \+ root\) carries the root 1e-12 .* larger root"):
        network("adam", root=1e-12)


def test_a_step_that_cannot_keep_the_promise_is_refused():
    given = [4 * part for part in data(dtype=torch.float32)]
    net = network("momentum", eps=1e-5, dtype="float32")
    with pytest.raises(hs.Refusal, match=r"step \d+ of this prompt may be off by .* compile with eps=") as said:
        net(prompt(*given))
    eps = float(str(said.value).split("eps=")[1].split(",")[0])
    assert network("momentum", eps=eps, dtype="float32")(prompt(*given)).certificate.bound <= eps


def test_the_sentence_names_the_optimizer_and_its_numbers():
    momentum = network("momentum", beta=0.75, decay=0.5, steps=2).certificate.statement
    for words in ("|w' - (w - rate v*)|_2 <= rate bound", "|v' - v*|_2 <= bound, v* = 0.75 v + (gradient + 0.5 w)",
                  "v what the tokens hold of it, 0 at the start"):  # fmt: skip
        assert words in momentum
    net = network("adam", betas=(0.8, 0.95), root=0.01, steps=2, project=1.0, eps=1e-4)
    for words in ("Proj_[-1, 1](w - rate (m* / (1 - 0.8^t)) / sqrt(v* / (1 - 0.95^t) + 0.01))",
                  "m* = 0.8 m + (1 - 0.8) gradient", "v* = 0.95 v + (1 - 0.95) gradient^2", "v in [0, 4]",
                  "v of the set: v* / (1 - b2^t)", "in step t = 1, 2"):  # fmt: skip
        assert words in net.certificate.statement
    assert "Adam (betas 0.8 and 0.95, root 0.01)" in str(net.target)
    assert "v* = 0.95 v" in net(prompt(*data())).certificate.statement


@pytest.mark.parametrize(
    "options, words",
    [({"optimizer": "sgd"}, "no optimizer is called 'sgd'; there are gd, momentum, adam"),
     ({"optimizer": "momentum", "beta": 1.0}, "beta must be a number from 0 up to but not 1"),
     ({"optimizer": "momentum", "beta": "high"}, "beta must be"), ({"optimizer": "adam", "betas": 0.9}, "two numbers"),
     ({"optimizer": "adam", "betas": (0.9, 1.0)}, r"betas\[1\] must be"),
     ({"optimizer": "adam", "betas": (-0.1, 0.9)}, r"betas\[0\] must be"),
     ({"optimizer": "adam", "root": 0.0}, "root of Adam must be .* positive"),
     ({"optimizer": "adam", "root": -1}, "root of Adam"), ({"beta": 0.9}, "beta belongs to optimizer='momentum'"),
     ({"optimizer": "momentum", "root": 1.0}, "root belongs to optimizer='adam', not to 'momentum'")],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(options, words):
    with pytest.raises(hs.Refusal, match=words) as refusal:
        hs.target.Training(widths=[2, 1], **options)
    assert "\n" not in str(refusal.value)


def test_a_moment_that_is_off_counts_as_much_as_w_over_the_rate():
    one, three = arb_mat([[1.0]]), arb_mat([[3.0]])
    assert _distances([(three, three)], [(one, one)], arb(0.5)) == [4.0, 2.0]
