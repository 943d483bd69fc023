# SPDX-License-Identifier: MIT
"""Scenarios at random for torture/fault.py: rules, what may come of them, and a load for them."""

MTU = 1024
PAUSE = 20  # ms that a rule stops a program

REQUEST_OPS = {
    "RC": ["SEND_ONLY", "SEND_FIRST", "SEND_MIDDLE", "SEND_LAST", "RDMA_WRITE_ONLY", "RDMA_WRITE_MIDDLE",
           "RDMA_WRITE_WITH_IMM", "RDMA_READ_REQUEST", "FETCH_ADD", "REQUEST", "SEND", "RDMA_WRITE"],
    "UC": ["SEND_ONLY", "SEND_FIRST", "SEND_MIDDLE", "SEND_LAST", "RDMA_WRITE_MIDDLE", "RDMA_WRITE_WITH_IMM",
           "REQUEST"],
    "UD": ["SEND_ONLY", "SEND", "REQUEST"],
}  # fmt: skip
ANSWER_OPS = ["ACK", "NAK", "ACKNOWLEDGE", "RDMA_READ_RESPONSE", "RDMA_READ_RESPONSE_MIDDLE", "ATOMIC_ACKNOWLEDGE",
              "RESPONSE"]  # fmt: skip
# Statuses that a rule can give a request, and the operations that can have them.
WC_SEND = {
    "LOC_LEN": None, "LOC_QP_OP": None, "LOC_PROT": None, "GENERAL": None, "RETRY_EXC": "RC", "RNR_RETRY_EXC": "RC",
    "REM_ABORT": "RC", "RESP_TIMEOUT": "RC", "FATAL": "RC", "REM_INV_REQ": "RC", "REM_OP": "RC",
}  # fmt: skip
WC_RECV = ["LOC_LEN", "LOC_QP_OP", "LOC_PROT", "GENERAL"]

LOST = {"RETRY_EXC"}
REFUSED = {"REM_OP", "REM_INV_REQ", "REM_ACCESS"}


class Rules:
    """Rules at random, and what may come of them."""

    def __init__(self, rng, load):
        self.rng, self.load = rng, load
        self.text = []  # a line each; the rules of line N are called N, N+...
        self.errors = []  # of each line: what requests may end with once it has hit
        self.recv_errors = set()
        self.random_loss = False  # beyond what the journal tells of
        kinds = self.kinds()
        for _ in range(rng.choice([1, 1, 2, 2, 3, 4, 5, 6])):
            rng.choices([k for k, _ in kinds], [w for _, w in kinds])[0]()

    def kinds(self):
        if self.load.type == "CM":
            return [(self.cm, 6), (self.drop, 1), (self.link, 1), (self.fail_cm, 1)]
        return [(self.drop, 6), (self.corrupt, 2), (self.duplicate, 2), (self.delay, 2), (self.reorder, 2),
                (self.rate, 1), (self.rnr, 2), (self.nak, 2), (self.link, 2), (self.wc, 2), (self.fail, 0.7),
                (self.limit, 0.3), (self.event, 1), (self.pause, 0.5), (self.kill, 0.5)]  # fmt: skip

    def add(self, *words, errors=frozenset()):
        self.text.append(" ".join(w for w in words if w))
        self.errors.append(set(errors))

    def allowed(self, faults):
        """Statuses that those of the rules can bring about which have hit."""
        return set().union(*(self.errors[int(r["name"][1:])] for r in faults if r["hits"] and r["name"][0] == "r"))

    @property
    def reliable(self):
        return self.load.type in ("RC", "XRC")

    def ops(self):
        return REQUEST_OPS.get("RC" if self.reliable else self.load.type, ["MAD"])

    def where(self, answers=True):
        """Selectors that packets of the load can have."""
        rng, words = self.rng, []
        if self.load.type == "CM":
            return ""
        if rng.random() < 0.7:
            words.append("opcode=" + rng.choice(self.ops() + (ANSWER_OPS if answers and self.reliable else [])))
        if self.load.type != "UD":
            if rng.random() < 0.3:
                words.append("conn=1")
            if rng.random() < 0.2:
                first = rng.randrange(20)
                words.append("psn=+%d..+%d" % (first, first + rng.randrange(8)))
            if rng.random() < 0.3:
                words.append(rng.choice(["round=1", "round=1..2", "round=..3"]))
        if rng.random() < 0.1:
            words.append("type=" + self.load.type)
        if rng.random() < 0.1:
            words.append("program=app_fault_packets")
        if self.load.nodes and rng.random() < 0.3:
            words.append(rng.choice(["link=a-b", "node=a", "node=b", "peer=b", "node=a direction=tx",
                                     "node=b direction=tx", "link=a-b direction=tx"]))  # fmt: skip
        # Opcodes that are not the load's would be refused.
        return " ".join(words)

    def when(self, few=False):
        rng, words = self.rng, []
        kind = rng.randrange(5)
        if kind == 0:
            return "nth=%d" % (1 + rng.randrange(12))
        if kind == 1 or few:
            words = ["after=%d" % rng.randrange(10), "for=%d" % (1 + rng.randrange(4))]
        elif kind == 2:
            words = ["prob=%s" % rng.choice(["0.01", "0.1", "0.3"])]
        elif kind == 3:
            words = ["every=%d" % (2 + rng.randrange(6))]
        elif rng.random() < 0.7:
            words = ["at=%dms" % rng.randrange(4), "for=%dms" % (1 + rng.randrange(300))]
        return " ".join(words)

    def drop(self):
        if self.rng.random() < 0.3:
            self.add("loss", self.rng.choice(["1%", "10%", "50%"]), errors=LOST)
        else:
            self.add("drop", self.where(), self.when(), errors=LOST)

    def corrupt(self):
        self.add("corrupt", self.where(), self.when(), errors=LOST)

    def duplicate(self):
        self.add("duplicate", self.where(), self.when())

    def delay(self):
        how = self.rng.choice(["", "jitter=100us", "jitter=50us distribution=normal", "jitter=50us distribution=pareto"])
        self.add("delay", self.rng.choice(["20us", "300us", "5ms", "100ms"]), how, self.where(), self.when(),
                 errors=LOST)  # fmt: skip
        self.random_loss = True

    def reorder(self):
        self.add("reorder", self.rng.choice(["", "gap=%d" % (1 + self.rng.randrange(5))]), "5ms", self.where(),
                 self.when(), errors=LOST)  # fmt: skip
        self.random_loss = True

    def rate(self):
        self.add("rate", self.rng.choice(["10Mbit", "1Gbit", "100Gbit"]))

    def rnr(self):
        if self.reliable:
            self.add("rnr", self.rng.choice(["", "timer=1", "opcode=RDMA_READ_REQUEST", "opcode=SEND"]), self.when(),
                     errors={"RNR_RETRY_EXC"})  # fmt: skip

    def nak(self):
        if not self.reliable:
            return
        code = self.rng.choice(["PSN_SEQ_ERR", "REM_INV_REQ_ERR", "REM_ACCESS_ERR", "REM_OP_ERR"])
        self.add("nak code=" + code, "opcode=RDMA_WRITE" if code == "REM_ACCESS_ERR" else "", self.when(True),
                 errors=LOST if code == "PSN_SEQ_ERR" else {code[:-4]})  # fmt: skip

    def link(self):
        node = self.rng.choice(["a", "b"]) if self.load.nodes else "node0"
        at = "at=%dms" % self.rng.randrange(5)
        spell = "for=%dms" % (1 + self.rng.randrange(600))
        kinds = [("link down node=%s" % node, at, spell), ("link flap period=10ms node=%s" % node, at, "for=100ms")]
        if self.load.nodes:
            kinds += [("partition a|b", at, spell), ("link down link=a-b", at, spell),
                      ("partition a|b", at, spell, "; heal at=300ms")]  # fmt: skip
        self.add(*self.rng.choice(kinds), errors=LOST)
        self.random_loss = True

    def wc(self):
        if self.rng.random() < 0.3:
            status = self.rng.choice(WC_RECV)
            self.add("wc opcode=RECV status=IBV_WC_%s_ERR" % status, self.when(True), errors=REFUSED)
            self.recv_errors.add(status)
            self.random_loss = True
            return
        statuses = [s for s, of in WC_SEND.items() if not of or self.reliable]
        status = self.rng.choice(statuses)
        self.add("wc status=IBV_WC_%s_ERR" % status, self.when(True), errors={status})
        self.random_loss = True

    def fail(self):
        name, errno = self.rng.choice([("ibv_post_send", "ENOMEM"), ("ibv_reg_mr", "ENOMEM"),
                                       ("ibv_create_qp", "ENOMEM"), ("ibv_post_recv", "ENOMEM"),
                                       ("ibv_create_cq", "ENOMEM"), ("ibv_modify_qp", "EINVAL")])  # fmt: skip
        self.add("fail call=%s errno=%s" % (name, errno), "nth=%d" % (1 + self.rng.randrange(20)))

    def fail_cm(self):
        self.add("fail call=%s errno=ENOMEM" % self.rng.choice(["rdma_create_id", "rdma_connect", "rdma_accept"]),
                 "nth=%d" % (1 + self.rng.randrange(6)))  # fmt: skip

    def limit(self):
        self.add("limit", self.rng.choice(["max_qp=0", "max_qp=1", "max_mr=0", "max_cq=1", "max_qp_wr=16"]))

    def event(self):
        self.add("event", self.rng.choice(["IBV_EVENT_CLIENT_REREGISTER", "IBV_EVENT_SM_CHANGE",
                                           "IBV_EVENT_LID_CHANGE"]), "node=a" if self.load.nodes else "node=node0",
                 "at=%dms" % self.rng.randrange(5))  # fmt: skip

    def pause(self):
        self.add("pause program=app_fault_packets for=%dms" % PAUSE, self.rng.choice(["at=1ms", "opcode=SEND nth=2"]))

    def kill(self):
        if self.load.nodes:
            self.add("kill node=" + self.rng.choice("ab"), self.rng.choice(["at=1ms", "opcode=SEND nth=3"]),
                     errors=LOST)  # fmt: skip

    def cm(self):
        message = self.rng.choice(["REQ", "REP", "RTU", "DREQ", "DREP", ""])
        self.add(*self.rng.choice([
            ("cm drop", message, self.when(True)),
            ("cm delay", self.rng.choice(["20ms", "3s"]), message, self.when(True)),
            ("cm duplicate", message, self.when(True)),
            ("cm reject", "reason=%d" % self.rng.choice([28, 8, 12]), self.when(True)),
            ("cm mra", self.when(True)),
        ]))  # fmt: skip


class Load:
    """A program and its arguments at random."""

    def __init__(self, rng):
        self.type = rng.choice(["RC", "RC", "RC", "XRC", "UC", "UD", "CM"])
        # Where a port sends to itself its link does not count: there, packets arrive while others are posted.
        self.manual = rng.random() < 0.8
        self.nodes = self.type != "CM" and (self.manual or rng.random() < 0.4)
        self.n = rng.choice([1, 4, 10, 30, 60])
        size = rng.choice([64, 1000] if self.type == "UD" else [64, 1000, 6000, 20000])
        self.settle = 600 if self.type == "CM" else 20
        self.args = ["remote" if self.nodes else "local", self.type, "mix", str(self.n), str(size), "mtu=%d" % MTU,
                     "seed=%d" % (1 + rng.randrange(1 << 30)), "settle=%d" % self.settle,
                     "window=%d" % rng.choice([1, 5, 60, 60]), "retry=%d" % rng.choice([2, 7]),
                     "rnr=%d" % rng.choice([1, 6]), "timeout=14"]  # fmt: skip
        self.program = "app_fault_packets"
        if self.type == "CM":
            self.program, self.args = "app_cm_tries", [str(1 + rng.randrange(6))]
