#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""inject_peer.py PORT GID [LID] - the server's side of the exchange of ibv_*_pingpong, for a peer that is nobody: queue pair
0x12 at that GID or LID, its first PSN 0xfffffe."""
import socket
import sys

port, gid = int(sys.argv[1]), sys.argv[2]
lid = int(sys.argv[3]) if len(sys.argv) > 3 else 0
SIZE = len("0000:000000:000000:" + "0" * 32) + 1

s = socket.create_server(("127.0.0.1", port))
c, _ = s.accept()
theirs = c.recv(SIZE, socket.MSG_WAITALL)
print(theirs.rstrip(b"\0").decode(), flush=True)
c.sendall(f"{lid:04x}:000012:fffffe:{gid}".encode() + b"\0")
c.recv(5, socket.MSG_WAITALL)
