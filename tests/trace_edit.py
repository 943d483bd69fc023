#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""trace_edit.py DIR WHAT - change a trace of verbs in one place, with its checks made right again unless WHAT is to
break the file: status, byte_len, memory, result, flip, cut, version, foreign."""
import struct
import sys
import zlib

HEAD = 64
REC = struct.Struct("<IIIIQQQQ")  # struct vt_rec
KINDS = {"call": 1, "poll": 7, "mem": 11}
WC = 72
MEM_FINAL = 2


def records(data):
    """(offset, kind, offset and length of the body) of all complete records."""
    at = HEAD
    while at + REC.size <= len(data):
        size, check, kind = struct.unpack_from("<III", data, at)
        if not size:
            return
        if check:
            yield at, kind, at + REC.size, size - REC.size
        at += size


def right(data, at):
    """Make the record's check right."""
    size = struct.unpack_from("<I", data, at)[0]
    struct.pack_into("<I", data, at + 4, zlib.crc32(bytes(data[at + 8:at + size])) or 1)


def completion(data, field, value):
    """Change the 5th poll's first completion: a field of 4 bytes of struct vt_wc."""
    polls = [r for r in records(data) if r[1] == KINDS["poll"]]
    at, _, body, _ = polls[4]
    assert struct.unpack_from("<I", data, body + 4)[0] >= 1
    struct.pack_into("<I", data, body + 24 + field, value)
    right(data, at)


def memory(data):
    """Change what an MR held at its end."""
    at, _, body, _ = [r for r in records(data)
                      if r[1] == KINDS["mem"] and struct.unpack_from("<I", data, r[2] + 4)[0] == MEM_FINAL][0]
    crc = struct.unpack_from("<I", data, body + 24)[0]
    struct.pack_into("<I", data, body + 24, crc ^ 1)
    right(data, at)


def main():
    folder, what = sys.argv[1:]
    path = folder + "/p1/data"
    data = bytearray(open(path, "rb").read())
    if what == "status":
        completion(data, 8, 12)
    elif what == "byte_len":
        # The receive's: of a send it is undefined.
        for at, kind, body, _ in records(data):
            if kind != KINDS["poll"]:
                continue
            for i in range(struct.unpack_from("<I", data, body + 4)[0]):
                wc = body + 24 + i * WC
                if struct.unpack_from("<I", data, wc + 12)[0] & 128:
                    struct.pack_into("<I", data, wc + 20, 17)
                    right(data, at)
                    open(path, "wb").write(data)
                    return
        sys.exit("no receive")
    elif what == "memory":
        memory(data)
    elif what == "result":
        lines = open(folder + "/p1/calls").read()
        assert " = qp1 " in lines
        open(folder + "/p1/calls", "w").write(lines.replace("attr.cap.max_inline_data=128", "attr.cap.max_inline_data=77", 1))
    elif what == "flip":
        at, _, body, _ = list(records(data))[3]
        data[body] ^= 4
    elif what == "cut":
        data = data[:list(records(data))[-1][0] + 24 + 30]
    elif what == "version":
        text = open(folder + "/trace").read()
        open(folder + "/trace", "w").write(text.replace("rdmaemu trace 1", "rdmaemu trace 99", 1))
    elif what == "foreign":
        data[:4] = b"\x0a\x0d\x0d\x0a"
    else:
        sys.exit("unknown: " + what)
    open(path, "wb").write(data)


if __name__ == "__main__":
    main()
