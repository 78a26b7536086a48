"""What loading a file must compare, and what makes a network void."""

from tests.mutants.mutant import Mutant

FILES = "src/headsmith/compiler/files.py"
FORGED = "tests/compiler/test_files.py"
COMPILED, SPOILED = "src/headsmith/compiler/compiled.py", "tests/compiler/test_compiled.py"
NETWORK, KINDS = "src/headsmith/network/network.py", "tests/compiler/test_every_kind.py"

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
    Mutant("a manifest spelled in two ways", FILES, "if not spelled:", "if False:", FORGED),
    Mutant("a network spelled in two ways", FILES, "if canonical(network.config()) !=", "if False and not", FORGED),
    Mutant(
        "bounds that say nothing",
        FILES,
        "if not (0 <= stated.approximation < math.inf and 0 <= stated.rounding < math.inf):",
        "if False:",
        "tests/machines/test_machine.py",
    ),
    Mutant(
        "numbers that are none",
        FILES,
        "if not all(bool(torch.isfinite(tensor).all()) for tensor in tensors.values()):",
        "if False:",
        "tests/machines/test_machine.py",
    ),
    Mutant("a format that is no number", FILES, "if type(version) is not int:", "if False:", FORGED),
    Mutant("attributes of layers", COMPILED, " and wiring(self.network) == self._wired", "", KINDS),
    Mutant("classes of parts", COMPILED, "classes(self) != self._classes or ", "", SPOILED),
    Mutant("methods of the target", COMPILED, "if overridden(self.target) or ", "if ", SPOILED),
    Mutant(
        "what cannot be read", COMPILED, "except Exception:  # what cannot", "except KeyError:  # what cannot", SPOILED
    ),
    Mutant("compiled calls", NETWORK, " or m._compiled_call_impl is not None", "", SPOILED),
    Mutant("products in TF32", "src/headsmith/network/inputs.py", "not _full_products()", "False", SPOILED),
    *(
        Mutant("which arrays", f"src/headsmith/targets/{kind}.py", " of SHA-256 {self.hash()}", "", KINDS)
        for kind in ("clip", "product", "relu_network")
    ),
    Mutant("a bound below what is proved is taken", FILES, "if not least <= claimed <=", "if not claimed <=", FORGED),
]
