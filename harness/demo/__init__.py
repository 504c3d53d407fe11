"""The former name of `harness.plugins.demo`; what was written with it still works."""

import sys

from harness.registry import Registry

sys.modules[__name__] = Registry(group="cairn.former_names", noun="harness").find("demo")
