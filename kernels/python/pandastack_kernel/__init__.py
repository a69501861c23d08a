"""Python kernels of a sandbox: a warm zygote process that forks one IPython kernel per code context.

The protocol with the guest agent is docs/code_context/kernel-protocol.md, the reasons are docs/code_context/design.md.
"""

from .module_bundle import open_bundle

# Before anything else is imported.
bundle = open_bundle()
