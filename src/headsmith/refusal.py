"""The one error a user meets: what was asked, why it cannot be had, and what can."""


class Refusal(ValueError):
    """A request Headsmith will not carry out, in one sentence that names something it would.

    >>> raise Refusal("step(x) jumps by 1 at x = 0: no continuous head comes within 0.5; split the domain there")
    Traceback (most recent call last):
    ...
    headsmith.refusal.Refusal: step(x) jumps by 1 at x = 0: ...
    """
