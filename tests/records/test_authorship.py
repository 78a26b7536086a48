import gzip
import io
import json
import struct

import numpy as np
import pytest
import torch
from safetensors.torch import save

from headsmith.records import save_tensors
from headsmith.records.authorship import ours


def written(tmp_path, data):
    path = tmp_path / "file"
    path.write_bytes(data)
    return path


def png(software):
    text = b"tEXtSoftware\x00" + software
    header = struct.pack(">I", 13) + b"IHDR" + bytes(17)
    return b"\x89PNG\r\n\x1a\n" + header + struct.pack(">I", len(text) - 4) + text + bytes(4)


def npz(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def zipped(name):
    buffer = io.BytesIO()
    with gzip.GzipFile(name, "wb", fileobj=buffer) as file:
        file.write(b"text")
    return buffer.getvalue()


WEIGHT = {"w": torch.zeros(2)}
OURS = {
    "nothing": b"",
    "network": save(WEIGHT, {"headsmith": "{}"}),
    "lab model": save({"headsmith.lab": torch.zeros(3), **WEIGHT}),
    "picture": png(b"headsmith"),
    "arrays": npz(**{"float32:w": np.zeros(2), "bfloat16:v": np.zeros(2)}),
    "archive": zipped("headsmith-lab.tar"),
    "record": json.dumps({"headsmith": 1}, indent=1).encode(),
}
FOREIGN = {
    "text": b"headsmith wrote me, I say",
    "weights": save(WEIGHT),
    "weights with metadata": save(WEIGHT, {"format": "pt", "by": "headsmith"}),
    "picture": png(b"Matplotlib"),
    "arrays": npz(w=np.zeros(2)),
    "mixed arrays": npz(**{"float32:w": np.zeros(2), "v": np.zeros(2)}),
    "archive": zipped("thesis.tar"),
    "record": b'{"author": "headsmith"}',
    "no zip": b"PK\x03\x04 and nothing",
    "no header": struct.pack("<Q", 6) + b"[1, 2]",
    "no object": struct.pack("<Q", 21) + b'{"__metadata__": null}',
    "endless header": struct.pack("<Q", 2**63) + b"{}",
    "zeros": bytes(1000),
}


@pytest.mark.parametrize("name", OURS)
def test_our_mark_is_found(tmp_path, name):
    assert ours(written(tmp_path, OURS[name]))


@pytest.mark.parametrize("name", FOREIGN)
def test_everything_else_is_somebody_elses(tmp_path, name):
    assert not ours(written(tmp_path, FOREIGN[name]))


def test_tensors_are_marked(tmp_path):
    assert ours(save_tensors(tmp_path / "w", WEIGHT))
