"""Reading perceptrons: their modules run and compared; files; the command line."""

import json
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

import headsmith as hs
from headsmith.doors.mlp import NoActivation, compiled_module, read_mlp, read_module, write_mlp
from headsmith.network import save_tensors


def perceptron(*widths, act=nn.ReLU, seed=0, dtype=torch.float64):
    torch.manual_seed(seed)
    layers = []
    for i, (a, b) in enumerate(pairwise(widths)):
        layers += [nn.Linear(a, b), *([act()] if i < len(widths) - 2 else [])]
    return nn.Sequential(*layers).to(dtype).eval()


def refuses(model, match, **request):
    with pytest.raises(hs.Refusal, match=match) as refusal:
        hs.plan(model, **({"domain": (-1, 1), "eps": 1e-3} | request))
    assert "\n" not in str(refusal.value)


def small(act=nn.ReLU):
    return perceptron(2, 3, 2, act=act)


def test_modules_that_do_nothing_and_modules_that_end_with_an_activation():
    inner = nn.Sequential(nn.Dropout(0.5), nn.Linear(3, 2), nn.Sigmoid())
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 3, bias=False), nn.Tanh(), nn.Identity(), inner).double().eval()
    target = read_module(model)
    assert list(map(str, target.activations)) == ["x", "tanh(x)", "sigmoid(x)"]
    net = hs.compile(model, domain=(-1, 1), eps=1e-9)
    x = 2 * torch.rand(20, 2, dtype=torch.float64) - 1
    assert float((net(x) - model(x)).detach().abs().max()) <= net.certificate.bound


# what a module says and does not do


def test_modules_that_are_no_perceptrons():
    refuses(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Linear(2, 1)), "BatchNorm1d is neither")
    refuses(nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2), nn.Linear(2, 1)), "LayerNorm is neither")
    refuses(nn.Sequential(nn.ReLU(), nn.Linear(2, 2)), "starts with ReLU")
    refuses(nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(3, 1)), "follows")
    refuses(nn.Sequential(), "nothing to compile")
    broken = small()
    with torch.no_grad():
        broken[0].weight[0, 0] = torch.nan
    refuses(broken, "finite")


def test_options_are_read_or_named():
    refuses(small(), "no option 'lipshitz' for MLP 2-3-2", lipshitz=1)
    refuses(small(), "no method is called 'magic'", method="magic")
    assert hs.plan(nn.Tanh(), domain=(-1, 1), eps=0.03, lipschitz=1).proof.kind == "conditional"


# what a module does and does not say: only running it tells


def patched(monkeypatch, owner, name, change):
    whole = getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda *given, **named: change(whole(*given, **named)))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_a_module_that_computes_something_else_is_refused(monkeypatch, dtype):
    model = small().to(dtype)
    patched(monkeypatch, nn.functional, "relu", lambda y: y * 1.5)
    refuses(model, "computes something else")


def test_a_difference_of_a_billionth_is_seen_in_a_float32_module(monkeypatch):
    model = small().float()
    hs.plan(model, domain=(-1, 1), eps=1e-3)
    patched(monkeypatch, nn.functional, "linear", lambda y: y + 1e-9)
    refuses(model, "computes something else")


def test_a_difference_in_one_dtype_only_is_seen(monkeypatch):
    patched(monkeypatch, nn.functional, "linear", lambda y: y + 1e-3 * (y.dtype == torch.float32))
    refuses(small().float(), "computes something else")


def test_a_difference_at_corners_only_is_seen(monkeypatch):
    whole = nn.Linear.forward
    monkeypatch.setattr(nn.Linear, "forward", lambda self, x: whole(self, x) + (x.abs() == 1).all(-1, keepdim=True))
    refuses(small(), "computes something else")


def test_a_random_module_is_refused(monkeypatch):
    monkeypatch.setattr(nn.functional, "relu", lambda x, inplace=False: torch.relu(x) + 1e-15 * torch.rand_like(x))
    refuses(small(), "differently when it is run twice")


def test_weights_that_change_after_they_were_read_are_noticed(monkeypatch):
    """The last run of all changes the module: every answer was right, the weights no longer are."""
    model, calls = small(), []

    def creeping(x, inplace=False):
        calls.append(x)
        if len(calls) == 4:
            with torch.no_grad():
                model[2].bias[0] += 1.0
        return torch.relu(x)

    monkeypatch.setattr(nn.functional, "relu", creeping)
    refuses(model, "weights of the module change")
    assert len(calls) == 4


def test_weights_beyond_all_balls_are_refused_in_words():
    model = small()
    with torch.no_grad():
        for linear in (model[0], model[2]):
            linear.weight *= 1e150
    refuses(model, "cannot be certified")


def test_other_shapes_and_exceptions_are_refused(monkeypatch):
    patched(monkeypatch, nn.functional, "relu", lambda y: y[:, :1])
    refuses(small(), "cannot be run")
    monkeypatch.undo()
    patched(monkeypatch, nn.Sequential, "forward", lambda y: y.sum(-1))
    refuses(small(), "computes something else")


def test_the_module_stays_as_it_was():
    model = perceptron(3, 4, 2).train()
    model[0].weight.grad = torch.ones_like(model[0].weight)
    before = {name: v.clone() for name, v in model.state_dict().items()}
    seed = torch.random.get_rng_state()
    hs.compile(model, domain=(-1, 1), eps=1e-3)
    assert model.training and all(part.training for part in model)
    assert torch.equal(model[0].weight.grad, torch.ones_like(model[0].weight)) and model[2].weight.grad is None
    assert all(torch.equal(v, before[name]) and v.dtype == torch.float64 for name, v in model.state_dict().items())
    assert all(p.requires_grad for p in model.parameters()) and torch.equal(seed, torch.random.get_rng_state())


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_honest_modules_of_any_size_are_not_refused(dtype, scale):
    """The room for rounding holds for wide, deep and badly scaled networks."""
    for act in (nn.ReLU, nn.GELU, nn.Softplus, nn.SiLU, lambda: nn.LeakyReLU(3.0)):
        model = perceptron(60, 80, 50, 3, act=act)
        with torch.no_grad():
            model[0].weight *= min(scale, 1.0 if dtype is torch.float16 else scale)
        compiled_module(model.to(dtype), (-4, 4))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_an_honest_linear_module_rounds(dtype):
    """There is no activation whose own room could pay for the sums."""
    torch.manual_seed(0)
    compiled_module(nn.Sequential(nn.Linear(200, 3)).to(dtype), (-4, 4))


# files


def test_files_of_perceptrons(tmp_path):
    model = nn.Sequential(nn.Linear(3, 4), nn.GELU("tanh"), nn.Linear(4, 2), nn.ReLU6()).eval()
    assert read_mlp(write_mlp(tmp_path / "named.safetensors", model)).hash() == read_module(model).hash()
    plain = perceptron(3, 4, 2, dtype=torch.float32)
    save_tensors(tmp_path / "plain.safetensors", dict(plain.state_dict()), {})
    assert read_mlp(tmp_path / "plain.safetensors", "relu").hash() == read_module(plain).hash()
    with pytest.raises(NoActivation, match="which activation"):
        read_mlp(tmp_path / "plain.safetensors")
    with pytest.raises(hs.Refusal, match="no activation is called"):
        read_mlp(tmp_path / "plain.safetensors", "swash")


def test_written_files_keep_options_and_nested_modules(tmp_path):
    """A slope of 0.2 read back as 0.01 would be another network."""
    inner = nn.Sequential(nn.Dropout(0.5), nn.Linear(4, 3, bias=False), nn.Hardtanh(-0.3, 7.1))
    model = nn.Sequential(nn.Linear(3, 4), nn.LeakyReLU(0.2), nn.Identity(), inner, nn.Linear(3, 1)).eval()
    found = read_mlp(write_mlp(tmp_path / "m.safetensors", model))
    assert found.hash() == read_module(model).hash() and "0.2" in str(found.activations[0])


def test_files_that_will_not_do(tmp_path):
    plain, path = dict(perceptron(3, 4, 2, dtype=torch.float32).state_dict()), tmp_path / "odd.safetensors"
    for tensors, metadata, words in (
        ({"a": torch.zeros(2)}, {}, "no MLP"),
        (plain, {"layers": json.dumps({"a": 1})}, "names"),
        (plain, {"layers": "["}, "no JSON"),
        (plain, {"layers": '["Linear", "Conv", "Linear"]'}, "no activation is called 'Conv'"),
        (plain, {"layers": '["ReLU", "ReLU", "Linear"]'}, "starts with ReLU"),
        (plain, {"layers": '["Linear", "Linear"]'}, "no matrix 1.weight"),
        ({f"{side}.0.weight": torch.ones(2, 2) for side in "ab"}, {}, "several networks"),
    ):
        save_tensors(path, tensors, metadata)
        with pytest.raises(hs.Refusal, match=words):
            read_mlp(path, "relu")


def test_command_line(tmp_path, capsys):
    from headsmith.cli import main

    save_tensors(tmp_path / "mlp.safetensors", dict(perceptron(3, 4, 2, dtype=torch.float32).state_dict()), {})
    request = ["compile", str(tmp_path / "mlp.safetensors"), "--domain", "-3", "3", "--eps", "1e-6"]
    out = tmp_path / "attention.safetensors"
    assert main([*request, "--activation", "relu", "--out", str(out)]) == 0
    assert "MLP 3-4-2 with relu(x)" in capsys.readouterr().out
    assert hs.load(out).certificate.bound <= 1e-6
    assert main(request) == 0
    assert "relu is assumed, --activation changes it" in capsys.readouterr().err
    assert main(["plan", *request[1:], "--json"]) == 0
    assert main(["certify", str(out)]) == 0
    assert "where mlp is the MLP 3-4-2 with relu(x) of SHA-256" in " ".join(capsys.readouterr().out.split())


def test_numbers_survive_the_reading():
    weight = np.array([[1e-300, -0.0], [0.1, 3.0]])
    model = nn.Sequential(nn.Linear(2, 2)).double()
    with torch.no_grad():
        model[0].weight.copy_(torch.from_numpy(weight))
    assert read_module(model).weights[0].tobytes() == weight.tobytes()
