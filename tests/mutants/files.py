"""What loading a file must compare."""

from tests.mutants.mutant import Mutant

FILES = "src/headsmith/compiler/files.py"
FORGED = "tests/compiler/test_files.py"

MUTANTS = [
    Mutant(
        "the built network is not compared with the stored one",
        FILES,
        "if not same or {",
        "if {",
        FORGED,
    ),
    Mutant(
        "the design's words are not compared",
        FILES,
        ' or {"name": design.name, **design.record()} != record:',
        ":",
        FORGED,
    ),
    Mutant(
        "what the file claims is not compared",
        FILES,
        'if _said(found.certificate) != manifest["certificate"]:',
        "if False:",
        FORGED,
    ),
    Mutant(
        "a bound above its eps is taken",
        FILES,
        "if design.promises and stated.total > request.eps:",
        "if False:",
        FORGED,
    ),
    Mutant("a bound below what is proved is taken", FILES, "if not least <= claimed <=", "if not claimed <=", FORGED),
]
