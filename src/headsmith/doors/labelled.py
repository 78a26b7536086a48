"""Labelled sequences in a file: columns as CoNLL has them, CSV, or one JSON object a line. Text is read, never run.

conll   a token a line, its label in the last column, an empty line after each sequence; -DOCSTART- lines are left out.
        Ten columns between tabs are CoNLL-U: the word is the second, the label its part of speech, the fourth
csv     a header with a column token (or word) and a column label (or tag), and one that numbers sequences (sequence or
        sentence); without it an empty line ends a sequence
jsonl   {"tokens": [...], "labels": [...]} a line (or words, tags)
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from headsmith.refusal import Refusal

TOKEN, LABEL, SEQUENCE = ("token", "word", "form"), ("label", "tag"), ("sequence", "sentence")
DOCUMENT = "-DOCSTART-"
CONLL_U = 10  # columns: ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC


@dataclass(frozen=True)
class Labelled:
    """Sequences of words, and a label for each word."""

    sequences: list[list[str]]
    labels: list[list[str]]

    @property
    def tokens(self) -> int:
        """How many words there are."""
        return sum(map(len, self.sequences))


Pair = tuple[str, str]
Line = Pair | None  # None ends a sequence


def read_labelled(path: str | Path, form: str = "conll") -> Labelled:
    """The sequences and labels of a file; what cannot be read is named with its line.

    >>> _ = open("two.txt", "w").write("the DT\\ncat NN\\n\\nit PRP\\n")
    >>> read_labelled("two.txt")
    Labelled(sequences=[['the', 'cat'], ['it']], labels=[['DT', 'NN'], ['PRP']])
    """
    if form not in FORMS:
        raise Refusal(f"the forms of a labelled file are {', '.join(FORMS)}; not {form!r}")
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            found = _gathered(FORMS[form](file, str(path)))
    except (UnicodeDecodeError, csv.Error):
        raise Refusal(f"{path} is not a file of text") from None
    if not found.sequences:
        raise Refusal(f"{path} holds no labelled sequence")
    return found


def _gathered(lines: Iterable[Line]) -> Labelled:
    found = Labelled([], [])
    row: list[Pair] = []
    for line in (*lines, None):
        if line is not None:
            row.append(line)
        elif row:
            found.sequences.append([token for token, _ in row])
            found.labels.append([label for _, label in row])
            row = []
    return found


def _conll(file: Iterable[str], path: str) -> Iterator[Line]:
    universal = False
    for count, line in enumerate(file, 1):
        cells = line.rstrip("\r\n").split("\t")
        universal = universal or (len(cells) == CONLL_U and cells[0].isdigit())
        cells = cells if universal else line.split()
        if not line.strip():
            yield None
        elif cells[0] == DOCUMENT or (line.startswith("# ") and (universal or "=" in cells)):
            continue
        elif universal and len(cells) == CONLL_U:
            if cells[0].isdigit():  # not 3-4, a contraction, nor 5.1, an empty node
                yield cells[1], cells[3]
        elif len(cells) < 2 or universal:
            raise Refusal(f"{path} line {count}: a token and its label are wanted, and this is {line.strip()!r}")
        else:
            yield cells[0], cells[-1]


def _csv(file: Iterable[str], path: str) -> Iterator[Line]:
    reader = csv.reader(file)
    header = [cell.strip().lower() for cell in next(reader, [])]
    columns = [next((k for k, cell in enumerate(header) if cell in names), None) for names in (TOKEN, LABEL, SEQUENCE)]
    token, label, sequence = columns
    if token is None or label is None:
        raise Refusal(f"{path} must begin with a header that names a column token and a column label")
    last = None
    for row in reader:
        if not any(cell.strip() for cell in row):
            yield None
            continue
        if len(row) <= max(column for column in columns if column is not None):
            raise Refusal(f"{path} line {reader.line_num}: {len(row)} columns where the header has {len(header)}")
        if sequence is not None:
            if last is not None and row[sequence] != last:
                yield None
            last = row[sequence]
        yield row[token], row[label]


def _jsonl(file: Iterable[str], path: str) -> Iterator[Line]:
    for count, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
            tokens = next(found[name] for name in ("tokens", "words") if name in found)
            labels = next(found[name] for name in ("labels", "tags") if name in found)
            pairs = [(str(token), str(label)) for token, label in zip(tokens, labels, strict=True)]
        except (ValueError, TypeError, StopIteration, RecursionError):
            raise Refusal(
                f'{path} line {count}: wanted is {{"tokens": [...], "labels": [...]}}, as many labels as tokens'
            ) from None
        yield from pairs
        yield None


FORMS: dict[str, Callable[[Iterable[str], str], Iterator[Line]]] = {"conll": _conll, "csv": _csv, "jsonl": _jsonl}
