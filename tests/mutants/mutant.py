"""One mutation of the source, and the tests that must die of it."""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[2]
AREAS = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py") if path.stem != "mutant")


@dataclass(frozen=True)
class Mutant:
    """`old` stands once in the file, and `new` in its place is wrong."""

    name: str
    file: str
    old: str
    new: str
    tests: str

    def source(self, root: Path = ROOT) -> str:
        """The file with the mutation."""
        text = (root / self.file).read_text(encoding="utf-8")
        if text.count(self.old) != 1:
            raise ValueError(f"{self.name}: {self.file} holds {self.old!r} {text.count(self.old)} times, not once")
        return text.replace(self.old, self.new)


def mutants(areas: list[str]) -> list[Mutant]:
    """The mutants of these areas, in order."""
    return [mutant for area in areas for mutant in import_module(f"tests.mutants.{area}").MUTANTS]
