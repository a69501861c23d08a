"""The universal pattern with the official Python SDK: one sandbox, one kernel, one function as the body of your tool.

    pip install pandastack
    export PANDASTACK_API_KEY=pds_…                 # the hosted service, or:
    export PANDASTACK_API=http://127.0.0.1:8080     # `pandastack serve --listen 127.0.0.1:8080`, key from `pandastack token create`
    python examples/python/universal_pattern.py
"""

from pandastack import Sandbox

# One sandbox and one persistent kernel for the whole agent session.
sandbox = Sandbox.create(template="code-interpreter", ttl_seconds=3600)
ctx = sandbox.create_code_context()


def run_python(code: str) -> str:
    """The body of your framework's tool: what the model reads."""
    ex = ctx.run_code(code)
    if ex.error:
        return ex.error
    if ex.png:
        print(f"(chart: {len(ex.png)} characters of base64 for the user interface)")
    return ex.text or ex.stdout


def main() -> None:
    # The calls a model would make: state is kept, a traceback comes back as text, a chart as an object.
    for code in (
        "import numpy as np\nsamples = np.random.default_rng(7).normal(50, 8, 1000)",
        "round(float(samples.mean()), 2), round(float(np.percentile(samples, 95)), 2)",
        "plt.hist(samples)",
        "import matplotlib.pyplot as plt\nplt.hist(samples, bins=30)\nplt.show()",
    ):
        print(f">>> {code}")
        print(f"{run_python(code)}\n")


try:
    main()
finally:
    ctx.close()
    sandbox.kill()
