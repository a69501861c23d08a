"""`python3 -m pandastack_kernel.write_bundle`: writes the modules that a zygote imports into one file."""

# Imported for what it imports.
from . import zygote  # noqa: F401
from .module_bundle import write_bundle
from .warm import warm_shell

if __name__ == "__main__":
    warm_shell()
    write_bundle()
