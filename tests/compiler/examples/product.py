"""Products X -> A X B: of one sign, signed, wide, tall, as printed."""

import headsmith as hs

A, SIGNED = [[1.0, -2.0], [0.5, 0.0]], [[0.0, 3.0], [-1.0, 0.25]]
POSITIVE = [[1.0, 2.0, 0.5], [3.0, 0.5, 1.0]]

EXAMPLES = {
    "signed": lambda: hs.compile(hs.target.Product(A, SIGNED), eps=1e-12),
    "positive": lambda: hs.compile(hs.target.Product(A, POSITIVE), domain=(-3, 2), eps=1e-12),
    "printed": lambda: hs.compile(hs.target.Product(A, POSITIVE), eps=1e-12, method="printed"),
    "signed, float32": lambda: hs.compile(
        hs.target.Product([[1.0, -2.0]], [[0.0], [3.0], [-1.0]]), eps=1e-4, dtype="float32"
    ),
}
