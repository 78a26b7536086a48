"""A run: one folder, found again by what was asked.

The folder's name ends in the hash of the configuration, so asking twice for the same thing meets the same
folder, and asking for anything else meets another. Results are saved as they come; the marker ``done`` is
written last. A start that finds the marker has nothing to do, a start that does not continues with what is
there. Since every file is moved into place whole, two processes with the same configuration at worst do the
same work twice.
"""

import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from headsmith.records.canonical import content_hash, from_json, to_json
from headsmith.records.files import atomic_write
from headsmith.records.tensors import load_tensors, save_tensors
from headsmith.refusal import Refusal


class Record:
    """The folder ``root/<kind>-<first 12 digits of content_hash(config)>``, kind being ``config["kind"]``.

    >>> run = Record("out", {"kind": "ours/anchors", "eps": 1e-6})
    >>> run.folder.name
    'ours-anchors-49ebc63c9a0d'
    >>> run.save("keys", [8, 9, 14])
    >>> run.load("keys")
    [8, 9, 14]
    """

    def __init__(self, root: str | os.PathLike[str], config: Mapping[str, Any]) -> None:
        self.config = dict(config)
        kind = re.sub(r"[^A-Za-z0-9._]+", "-", str(self.config.get("kind", "run"))).strip("-.") or "run"
        self.hash = content_hash(self.config)
        self.folder = Path(root) / f"{kind}-{self.hash[:12]}"
        if "config" not in self:
            self.save("config", self.config)
        elif content_hash(self.load("config")) != self.hash:
            raise Refusal(f"{self.path('config.json')} holds another configuration; move {self.folder} away")

    def __repr__(self) -> str:
        return f"Record({str(self.folder)!r}, finished={self.finished})"

    def path(self, name: str) -> Path:
        """Where a file of this run lies: ``run.path("curve.png")``. Names stay inside the folder."""
        if Path(name).is_absolute() or ".." in Path(name).parts or not name:
            raise Refusal(f"a file of a run needs a name inside its folder, not {name!r}")
        return self.folder / name

    def __contains__(self, name: str) -> bool:
        return self.path(f"{name}.json").exists()

    def save(self, name: str, obj: Any) -> None:
        """Write ``obj`` to ``name.json``, whole or not at all."""
        atomic_write(self.path(f"{name}.json"), to_json(obj))

    def load(self, name: str) -> Any:
        """What ``save(name, ...)`` wrote."""
        return from_json(self.path(f"{name}.json").read_bytes())

    def once(self, name: str, compute: Callable[[], Any]) -> Any:
        """``load(name)`` where it is there, else ``compute()``, saved: what makes a long run resumable.

        >>> run = Record("out", {"kind": "squares"})
        >>> [run.once(f"square-{n}", lambda: n**2) for n in range(5)]
        [0, 1, 4, 9, 16]
        """
        if name not in self:
            self.save(name, compute())
        return self.load(name)

    def save_tensors(self, name: str, tensors: Mapping[str, torch.Tensor]) -> Path:
        """Write a checkpoint ``{name: tensor}``, replacing an earlier one of that name."""
        return save_tensors(self.path(name), tensors)

    def load_tensors(self, name: str) -> dict[str, torch.Tensor]:
        """The tensors of a checkpoint, on the CPU; FileNotFoundError where there is none."""
        return load_tensors(self.path(name))

    def log(self, **fields: Any) -> None:
        """Append one line to ``log.jsonl``: ``run.log(step=100, loss=0.25)``."""
        line = to_json(fields).encode() + b"\n"
        handle = os.open(self.path("log.jsonl"), os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            size = os.fstat(handle).st_size
            if size and os.pread(handle, 1, size - 1) != b"\n":
                line = b"\n" + line  # the last writer was cut off in the middle of its line
            os.write(handle, line)
        finally:
            os.close(handle)

    def lines(self) -> list[dict[str, Any]]:
        """The log so far, oldest first, without lines that were cut off."""
        path = self.path("log.jsonl")
        whole = []
        for line in path.read_bytes().splitlines() if path.exists() else []:
            try:
                whole.append(from_json(line))
            except (json.JSONDecodeError, UnicodeDecodeError):
                continue
        return whole

    def mark_done(self) -> None:
        """Write the marker ``done``; call it last."""
        atomic_write(self.path("done"), self.hash + "\n")

    @property
    def finished(self) -> bool:
        """Whether ``mark_done`` was called, by this process or an earlier one."""
        return self.path("done").exists()
