"""An adversary who rounds: every operation may be off by its unit roundoff, up or down, whichever hurts more.

Programs are written with an `Ops`; `worst` flips the direction of one rounding at a time while the result moves further
away. The unit is coarse (2^-20), so that float64 evaluates the model as good as exactly.
"""

import math

from headsmith.proof.rounding import Format

COARSE = Format("float64", 2.0**-20, 0.0)


class Ops:
    """round(x) is x (1 +- times u); what is below the normal range is flushed."""

    def __init__(self, fmt, signs=()):
        self.fmt, self.signs, self.count = fmt, signs, 0

    def __call__(self, x, times=1, most=math.inf):
        sign = self.signs[self.count] if self.count < len(self.signs) else 1
        self.count += 1
        return 0.0 if abs(x) < self.fmt.tiny else x + sign * min(times * self.fmt.unit * abs(x), most)

    def sum(self, terms):
        """Left to right; a sum that is rounded to nearest is no further off than either of its terms."""
        total, *rest = terms
        for term in rest:
            total = self(total + term, most=min(abs(total), abs(term)))
        return total

    def dot(self, a, b):
        return self.sum([self(x * y) for x, y in zip(a, b, strict=True)])

    def softmax(self, scores, exp_error):
        """The division multiplies by the inverse."""
        top = max(scores)
        exps = [self(math.exp(self(s - top)), exp_error) for s in scores]
        inverse = self(1 / self.sum(exps))
        return [self(e * inverse) for e in exps]


def worst(program, fmt=COARSE, sweeps=2):
    """The largest |program(executed) - program(exact)| that flipping roundings one by one finds."""
    true = program(Ops(Format(fmt.name, 0.0, 0.0)))
    first = Ops(fmt)
    best = abs(program(first) - true)
    signs = [1] * first.count
    for _ in range(sweeps):
        for i in range(len(signs)):
            signs[i] = -signs[i]
            found = abs(program(Ops(fmt, signs)) - true)
            if found > best:
                best = found
            else:
                signs[i] = -signs[i]
    return best
