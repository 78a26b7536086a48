"""The checker sets its precision in `check`; its parts are tested in the same."""

import pytest
from flint import ctx


@pytest.fixture(autouse=True)
def context():
    before = ctx.prec, ctx.cap
    ctx.prec, ctx.cap = 128, 20
    yield
    ctx.prec, ctx.cap = before
