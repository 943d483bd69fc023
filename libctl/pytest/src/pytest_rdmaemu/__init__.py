# SPDX-License-Identifier: MIT
"""Tests of RDMA programs on an emulated fabric. README.md has the fixtures and markers."""

from .fabric import Entry, Fabric, FabricError, Fault
from .program import Node, Program

__all__ = ["Entry", "Fabric", "FabricError", "Fault", "Node", "Program"]
