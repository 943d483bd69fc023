#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""trace_edit.py DIR WHAT - change a trace of verbs in one place, with its checks made right again unless WHAT is to
break the file: status, byte_len, payload, src_qp, grh, undefined, memory, result, nobody, overlap, leave, event, async, rearm,
flip, cut, version, foreign."""
import struct
import sys
import zlib

HEAD = 64
REC = struct.Struct("<IIIIQQQQ")  # struct vt_rec
KINDS = {"call": 1, "post_send": 2, "wr": 6, "poll": 7, "notify": 8, "mem": 11}
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


def completions(data):
    """(offset of the record, offset of its struct vt_wc) of all of them."""
    for at, kind, body, _ in records(data):
        if kind == KINDS["poll"]:
            for i in range(struct.unpack_from("<I", data, body + 4)[0]):
                yield at, body + 24 + i * WC


def receives(data):
    """The same of receives. The lengths of sends, and their flags, are undefined."""
    return (of for of in completions(data) if struct.unpack_from("<I", data, of[1] + 12)[0] & 128)


def change(data, at, field, mask):
    """Flip bits in a field of 4 bytes of a completion: (offset of the record, offset of its struct vt_wc)."""
    record, wc = at
    struct.pack_into("<I", data, wc + field, struct.unpack_from("<I", data, wc + field)[0] ^ mask)
    right(data, record)


def undefined(folder):
    """Of connected queue pairs: another sender and GRH flag of each completion, and an immediate of each send."""
    paths, files = both(folder)
    for data in files:
        received = set(receives(data))
        for at in completions(data):
            change(data, at, 36, 0x5a5a)
            change(data, at, 40, 1 if at in received else 3)
            if at not in received:
                change(data, at, 24, 7)
    write(paths, files)


def memory(data):
    """Change what an MR held at its end."""
    at, _, body, _ = [r for r in records(data)
                      if r[1] == KINDS["mem"] and struct.unpack_from("<I", data, r[2] + 4)[0] == MEM_FINAL][0]
    crc = struct.unpack_from("<I", data, body + 24)[0]
    struct.pack_into("<I", data, body + 24, crc ^ 1)
    right(data, at)


def renumber(data, at, begin, end):
    struct.pack_into("<QQ", data, at + 16, begin, end)
    right(data, at)


def later(data, behind):
    for at, _, _, _ in list(records(data)):
        if at > behind:
            renumber(data, at, *[n + (1 << 32) for n in struct.unpack_from("<QQ", data, at + 16)])


def both(folder):
    """Paths and data of both programs."""
    paths = [folder + "/p%d/data" % p for p in (1, 2)]
    return paths, [bytearray(open(path, "rb").read()) for path in paths]


def write(paths, files):
    for path, data in zip(paths, files):
        open(path, "wb").write(data)


def sides(folder):
    """Paths and data of the server and of the client, who posts more, and where the client's posts are."""
    paths, files = both(folder)
    posts = [[at for at, kind, _, _ in records(data) if kind in (KINDS["post_send"], KINDS["wr"])] for data in files]
    if len(posts[0]) > len(posts[1]):
        for pair in paths, files, posts:
            pair.reverse()
    return paths, files, posts[1]


def overlap(folder):
    """Let the second half of the client's posts overlap the end of the server's queue pair, in which they succeeded."""
    paths, (server, client), posts = sides(folder)
    lines = open(paths[0].replace("data", "calls")).read().splitlines()
    destroy = next(at for at, kind, body, _ in records(server) if kind == KINDS["call"] and
                   lines[struct.unpack_from("<I", server, body)[0] - 1].startswith("ibv_destroy_qp"))
    begin = struct.unpack_from("<Q", server, destroy + 16)[0]
    half = [at for at, _, _, _ in records(client) if posts[len(posts) // 2] <= at <= posts[-1]]
    later(server, destroy)
    later(client, half[-1])
    renumber(server, destroy, begin, begin + 2 * len(half) + 1)
    for i, at in enumerate(half):
        renumber(client, at, begin + 2 * i, begin + 2 * i + 1)
    write(paths, (server, client))


def leave(folder):
    """Let the server end, with all that it has, before the second half of the client's posts, which went well."""
    paths, (server, client), posts = sides(folder)
    half = posts[len(posts) // 2]
    when = struct.unpack_from("<QQQQ", client, half + 16)
    later(client, half - 1)
    # The server's records up to there, and its last one.
    end = [at for at, _, _, _ in records(server)][-1]
    last = server[end:end + struct.unpack_from("<I", server, end)[0]]
    cut = next(at for at, _, _, _ in records(server) if struct.unpack_from("<Q", server, at + 16)[0] >= when[0])
    server = server[:cut] + last
    struct.pack_into("<QQQQ", server, cut + 16, when[0], when[0], when[2], when[2])
    right(server, cut)
    write(paths, (server, client))


def room(files, number):
    """Numbers above are much larger then."""
    for data in files:
        for at, _, _, _ in list(records(data)):
            renumber(data, at, *[n + (1 << 32) if n > number else n for n in struct.unpack_from("<QQ", data, at + 16)])


def calls_of(folder, prog, data):
    """(offset, text of the line) of each call of a program."""
    lines = open("%s/p%d/calls" % (folder, prog)).read().splitlines()
    for at, kind, body, _ in records(data):
        if kind == KINDS["call"]:
            yield at, lines[struct.unpack_from("<I", data, body)[0] - 1]


def event(folder):
    """Of rping: let the client take DISCONNECTED, and the server bring it about, while the client's identifier is destroyed."""
    paths, files = both(folder)
    calls = [list(calls_of(folder, i + 1, data)) for i, data in enumerate(files)]
    client = next(i for i in (0, 1) if any(line.startswith("rdma_connect ") for _, line in calls[i]))

    def find(side, start, words=""):
        return next(at for at, line in calls[side] if line.startswith(start) and words in line)
    get = find(client, "rdma_get_cm_event ", "RDMA_CM_EVENT_DISCONNECTED")
    ack = next(at for at, line in calls[client] if at > get and line.startswith("rdma_ack_cm_event "))
    destroy = find(client, "rdma_destroy_id id=id1 ")
    leave = find(1 - client, "rdma_disconnect ")
    begin = struct.unpack_from("<Q", files[client], destroy + 16)[0]
    room([files[1 - client]], struct.unpack_from("<Q", files[1 - client], leave + 16)[0])
    room(files, begin)
    renumber(files[client], destroy, begin, begin + 6)
    renumber(files[1 - client], leave, begin + 1, begin + 2)
    renumber(files[client], get, struct.unpack_from("<Q", files[client], get + 16)[0], begin + 3)
    renumber(files[client], ack, begin + 4, begin + 5)
    write(paths, files)


def asynchronous(folder):
    """Let the program that has taken LAST_WQE_REACHED have done so while the queue pair was being destroyed."""
    paths, files = both(folder)
    calls = [list(calls_of(folder, i + 1, data)) for i, data in enumerate(files)]
    side, get, line = next((i, at, line) for i in (0, 1) for at, line in calls[i]
                           if line.startswith("ibv_get_async_event ") and "IBV_EVENT_QP_LAST_WQE_REACHED" in line)
    qp = line.split("event.element=")[1]
    ack = next(at for at, line in calls[side] if line.startswith("ibv_ack_async_event ") and "=%s " % qp in line)
    destroy = next(at for at, line in calls[side] if line.startswith("ibv_destroy_qp qp=%s " % qp))
    begin = struct.unpack_from("<Q", files[side], destroy + 16)[0]
    room(files, begin)
    renumber(files[side], destroy, begin, begin + 4)
    renumber(files[side], get, struct.unpack_from("<Q", files[side], get + 16)[0], begin + 1)
    renumber(files[side], ack, begin + 2, begin + 3)
    write(paths, files)


def rearm(folder):
    """Of app_cq_arm_twice: let the post that raised the first event last until its CQ was armed again, and begin late."""
    path = folder + "/p1/data"
    data = bytearray(open(path, "rb").read())
    _, again = [at for at, kind, _, _ in records(data) if kind == KINDS["notify"]]
    post = next(at for at, kind, _, _ in records(data) if kind == KINDS["post_send"])
    room([data], struct.unpack_from("<Q", data, again + 24)[0])
    begin, (end, _, after) = struct.unpack_from("<Q", data, post + 16)[0], struct.unpack_from("<QQQ", data, again + 24)
    struct.pack_into("<QQ", data, post + 32, after + 200000000, after + 200001000)
    renumber(data, post, begin, end + 1)
    write([path], [data])


def main():
    folder, what = sys.argv[1:]
    path = folder + "/p1/data"
    data = bytearray(open(path, "rb").read())
    several = {"overlap": overlap, "leave": leave, "event": event, "async": asynchronous, "undefined": undefined,
               "rearm": rearm}
    if what in several:
        several[what](folder)
        return
    if what == "status":
        completion(data, 8, 12)
    elif what == "byte_len":
        at, wc = next(receives(data))
        struct.pack_into("<I", data, wc + 20, 17)
        right(data, at)
    elif what == "src_qp":
        change(data, next(receives(data)), 36, 0x5a5a)
    elif what == "grh":
        change(data, next(receives(data)), 40, 1)
    elif what == "payload":
        # The CRC of what the last one received that has it.
        at, wc = [of for of in completions(data) if struct.unpack_from("<I", data, of[1] + 48)[0] & 1][-1]
        data[wc + 44] ^= 1
        right(data, at)
    elif what == "memory":
        memory(data)
    elif what == "result":
        lines = open(folder + "/p1/calls").read()
        assert " = qp1 " in lines
        open(folder + "/p1/calls", "w").write(lines.replace("attr.cap.max_inline_data=128", "attr.cap.max_inline_data=77", 1))
    elif what == "nobody":
        lines = open(folder + "/p1/calls").read()
        assert "\nibv_dealloc_pd pd=pd1 = 0\n" in lines
        open(folder + "/p1/calls", "w").write(lines.replace("\nibv_dealloc_pd pd=pd1 = 0\n", "\nibv_dealloc_pd pd=? = EINVAL\n"))
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
