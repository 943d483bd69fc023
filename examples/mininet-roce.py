#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Hosts of Mininet with RDMA devices, which speak RoCE v2 over the links of the topology.

Usage, as root: examples/mininet-roce.py [SCRIPT]

Each host has a fabric of its own. SCRIPT has commands for Mininet's command line, as `h1 rdmaemu run ib_write_bw -x 1 &`
and `h2 rdmaemu run ib_write_bw -x 1 h1`; without it they are typed.
"""
import os
import sys
import tempfile

from mininet.cli import CLI
from mininet.net import Mininet
from mininet.nodelib import LinuxBridge
from mininet.topo import SingleSwitchTopo


def start_fabric(host, directory):
    os.mkdir(directory, 0o700)
    host.cmd(f"export RDMAEMU_DIR={directory}")
    complaint = host.cmd(f"rdmaemu fabric start --roce {host.IP()}")
    if complaint:
        sys.exit(f"{host}: {complaint}")


def main(script=None):
    # With link=TCLink, links have a delay, a rate and losses.
    net = Mininet(topo=SingleSwitchTopo(2), switch=LinuxBridge, controller=None)
    net.start()
    with tempfile.TemporaryDirectory() as top:
        try:
            for host in net.hosts:
                start_fabric(host, f"{top}/{host}")
            CLI(net, script=script)
        finally:
            for host in net.hosts:
                host.cmd("rdmaemu fabric stop")
            net.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
