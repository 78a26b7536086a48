"""Networks that train networks: every activation, loss and option, both dtypes."""

import headsmith as hs

ROOM = {"x": 1.0, "y": 1.0, "w": 4.0}


def training(eps=1e-9, widths=(2, 2, 1), dtype="float64", method="auto", **options):
    asked = {"steps": 2, "rate": 0.25, "samples": 3, **options}
    room = ROOM | ({"v": 64.0} if asked.get("optimizer") == "adam" else {})
    return hs.compile(
        hs.target.Training(widths=list(widths), **asked), domain=room, eps=eps, dtype=dtype, method=method
    )


EXAMPLES = {
    "relu": lambda: training(),
    "relu, float32": lambda: training(1e-2, dtype="float32", widths=(1, 2, 2)),
    "leaky, biases, huber": lambda: training(activation="leaky", biases=True, loss="huber(0.5)"),
    "hard tanh, a box": lambda: training(activation="hard tanh", project=0.5, output="activation"),
    "logistic, decay": lambda: training(loss="logistic", decay=0.125),
    "momentum": lambda: training(optimizer="momentum", beta=0.25, biases=True),
    "adam": lambda: training(1e-4, optimizer="adam", betas=(0.5, 0.75), root=0.25, widths=(1, 2, 1)),
    "tanh": lambda: training(activation="tanh", biases=True),
    "gelu, output too": lambda: training(1e-4, activation="gelu", output="activation"),
    "softplus, float32": lambda: training(0.25, dtype="float32", activation="softplus"),
    "printed, relu, biases": lambda: training(1e-5, method="printed", biases=True),
    "printed, tanh, a box": lambda: training(2.0, method="printed", activation="tanh", project=0.5),
    "printed, identity": lambda: training(1e-3, dtype="float32", method="printed", activation="identity"),
    "softmax, relu, a box": lambda: training(1e-6, method="softmax", project=0.5),
    "softmax, tanh, output too": lambda: training(1e-6, method="softmax", activation="tanh", output="activation"),
    "softmax, logistic, decay": lambda: training(
        0.25, dtype="float32", method="softmax", biases=True, loss="logistic", decay=0.125, widths=(1, 2, 2)
    ),
    "one layer, linear": lambda: training(widths=(2, 2), activation="identity", steps=1),
}
