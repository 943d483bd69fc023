#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""join_meddler.py PORT TO-PORT TO-ADDRESS: sits between two fabrics and changes what they send.

A line on stdin says how: "flip", "replay", "swap", "cut" or "huge" changes the next pieces of either side; "seen TEXT"
prints whether the text has passed; "downgrade" changes the flags of greetings, or no longer. "done" or "seen" answers.
"""
import select
import socket
import struct
import sys
import threading

HELLO_FLAGS = 24 + 128
port, to, address = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
order = []
downgrade = [False]
seen = bytearray()
lock = threading.Lock()


def say(text):
    with lock:
        print(text, flush=True)


def meddle(how, a, b):
    """Two pieces of a stream, changed: each usually begins with a record."""
    if how == "flip":
        return a[:20] + bytes([a[20] ^ 1]) + a[21:] + b
    if how == "replay":
        return a + a + b
    if how == "swap":
        return b + a
    if how == "huge":
        return struct.pack("<I", 0xffffffff) + a[4:] + b
    return a[:len(a) // 2]


def carry(a, b):
    """Frames of the handshake, then pieces as they come; while there is an order, two of them are changed together."""
    rest, early, held = b"", 2, []
    try:
        while True:
            data = a.recv(1 << 16)
            if not data:
                break
            seen.extend(data)
            del seen[:-(1 << 22)]
            rest += data
            while early and len(rest) >= 24:
                n = struct.unpack_from("<I", rest)[0]
                if len(rest) < n:
                    break
                frame, rest = bytearray(rest[:n]), rest[n:]
                if downgrade[0] and frame[4] == 1:
                    frame[HELLO_FLAGS] = frame[HELLO_FLAGS] & ~1
                b.sendall(frame)
                early -= 1
            if early:
                continue
            if not order and not held:
                b.sendall(rest)
                rest = b""
                continue
            held.append(rest)
            rest = b""
            if len(held) == 2:
                how = order.pop() if order else None
                out, held = (meddle(how, *held) if how else b"".join(held)), []
                b.sendall(out)
                if how:
                    say("done " + how)
                if how == "cut":
                    break
    except OSError:
        pass
    for s in (a, b):
        try:
            s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def accept():
    while True:
        a, _ = ear.accept()
        try:
            b = socket.create_connection((address, to))
        except OSError:
            a.close()
            continue
        for s in (a, b):
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=carry, args=(a, b), daemon=True).start()
        threading.Thread(target=carry, args=(b, a), daemon=True).start()


ear = socket.create_server((address, port))
threading.Thread(target=accept, daemon=True).start()
while select.select([sys.stdin], [], []):
    line = sys.stdin.readline().split()
    if not line:
        break
    if line[0] == "seen":
        say("seen " + str(line[1].encode() in seen))
    elif line[0] == "downgrade":
        downgrade[0] = not downgrade[0]
        say("done downgrade")
    else:
        order.append(line[0])
