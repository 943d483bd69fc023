# SPDX-License-Identifier: MIT
"""Tests of programs that use RDMA, by pytest-rdmaemu. Yours start your own programs instead of rping and perftest."""

import pytest


def ping(fabric):
    """Run rping between two nodes. Returns the server."""
    a, b = fabric.node("a"), fabric.node("b")
    server = a.start("rping -s -C 3")
    # The client may be there before the server listens.
    b.run(f"rping -c -C 3 -a {a.address}", tries=20)
    return server


def test_two_nodes_talk(fabric):
    assert ping(fabric).wait() == 0
    assert fabric.errors() == []
    assert fabric.counters("a")["rcv_packets"] > 0


@pytest.mark.rdmaemu_faults("drop opcode=RDMA_READ_REQUEST nth=1")
def test_a_lost_request_is_sent_again(fabric):
    assert ping(fabric).wait() == 0
    assert fabric.counters("a")["timeouts"] == 1
    assert [entry.what for entry in fabric.log() if entry.kind == "drop"] == ["dropped"]


def test_the_client_says_that_its_server_is_gone(fabric):
    drop = fabric.fault("drop opcode=RDMA_READ_REQUEST", must_fire=True)
    a, b = fabric.node("a"), fabric.node("b")
    server = a.start("rping -s -C 3")
    client = b.start(f"sh -c 'until rping -c -C 3 -a {a.address}; do sleep 0.5; done'")
    drop.wait(hits=8)
    server.wait_for("cq completion failed status 12")
    client.stop()
    assert fabric.errors(node="a")[0].what == "IBV_WC_RETRY_EXC_ERR"


@pytest.mark.rdmaemu(profile="minimal")
def test_a_small_device_refuses_what_it_has_not(fabric):
    shown = fabric.node().run(["ibv_devinfo", "-v"])
    assert "max_srq:\t\t\t0" in shown


def test_a_capture_has_the_packets(fabric, rdmaemu_capture):
    assert ping(fabric).wait() == 0
    fabric.end_captures()
    assert rdmaemu_capture.read_bytes()[:4] == b"\n\r\r\n"
    assert rdmaemu_capture.stat().st_size > 1000
