"""The tap that reads and patches a running network, and what a layer does unless it says otherwise."""

import torch

from headsmith.network import Dense, FeedForward
from headsmith.network.layer import SILENT, Tap, size


def test_the_silent_tap_hands_everything_straight_back():
    value = torch.ones(2)
    assert SILENT("name", value) is value and SILENT.silent and SILENT.within("blocks.0.") is SILENT
    assert not SILENT.wants("name")


def test_a_patch_replaces_its_name_alone_and_none_leaves_it():
    tap = Tap({"blocks.1.z": lambda v: v + 1, "blocks.1.q": lambda v: None}).within("blocks.1.")
    assert tap("z", torch.zeros(2)).tolist() == [1, 1] and tap("q", torch.zeros(2)).tolist() == [0, 0]
    assert tap.wants("z") and not tap.wants("k")
    assert tap.within("blocks.2.")("z", torch.zeros(2)).tolist() == [0, 0]


def test_what_passes_is_recorded_after_patching():
    record = {}
    tap = Tap({"z": torch.neg}, record)
    tap("z", torch.ones(1))
    tap("q", torch.ones(1))
    assert {name: v.tolist() for name, v in record.items()} == {"z": [-1], "q": [1]}


def test_heads_are_shown_where_transformerlens_shows_them_and_put_back():
    seen, value = [], torch.arange(24.0).reshape(2, 3, 4)  # heads, tokens, rows

    def patch(shown):
        seen.append(tuple(shown.shape))
        return 2 * shown

    assert torch.equal(Tap({"z": patch})("z", value, -2), 2 * value) and seen == [(3, 2, 4)]


def test_defaults_and_sizes():
    layer, padding = FeedForward(Dense([[1.0]]), Dense([[1.0]])), torch.tensor([True])
    assert layer.tokens_out(7) == 7 and layer.padding_out(padding) is padding
    assert size(None) == 0 and size(torch.zeros(2, 3)) == 6
