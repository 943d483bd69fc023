# SPDX-License-Identifier: MIT
"""An ibv_rc_pingpong client whose packets scapy makes: a third implementation of RoCE v2, written by hand.

roce_scapy.py SOURCE SERVER TCP_PORT BYTES ROUNDS: a message of random bytes goes to the server in each round, and has to
come back. Identifications of IPv4 headers are random, and TTL, type of service, MigReq and FECN are such as the server's
fabric never sends. Every third message is sent twice, and of every fourth the middle is left out first: the server has
to acknowledge the one, and to ask for the other.
"""

import random
import socket
import sys

from scapy.all import IP, UDP, Raw, conf, raw
from scapy.contrib.roce import AETH, BTH, opcode

MTU = 1024
PORT = 4791
IN_ONE_PIECE = 64
QPN, PSN = 0x00CAFE, 0xFFFFF0  # PSNs wrap around
ACK, SEQ_NAK = 0x1F, 0x60
OP = {op: opcode("RC", op)[0] for op in ("SEND_FIRST", "SEND_MIDDLE", "SEND_LAST", "SEND_ONLY", "ACKNOWLEDGE")}


class Peer:
    """The connection: PSNs of both sides, and sockets."""

    def __init__(self, source, server, size):
        self.ends = (source, server)
        self.size = size
        self.dqpn = self.epsn = 0
        self.psn = PSN
        self.messages, self.inbox = [], b""
        self.rand = random.Random(1)
        self.raw = conf.L3socket()
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind((source, PORT))
        self.udp.settimeout(60)  # the machine may stand still for half a minute
        self.acked = self.naked = None  # the latest PSNs

    def send(self, bth, payload):
        """Send a packet."""
        ip = IP(src=self.ends[0], dst=self.ends[1], flags="DF", id=self.rand.randrange(1, 65536), ttl=77, tos=0x2A)
        self.raw.send(ip / UDP(sport=0xC123, dport=PORT, chksum=0) / bth / payload)

    def packets(self, message):
        """The packets of a SEND."""
        parts = [message[i : i + MTU] for i in range(0, len(message), MTU)]
        for i, part in enumerate(parts):
            last = i == len(parts) - 1
            kind = "SEND_ONLY" if len(parts) == 1 else "SEND_FIRST" if not i else "SEND_LAST" if last else "SEND_MIDDLE"
            pad = -len(part) % 4
            psn = self.psn + i & 0xFFFFFF
            bth = BTH(opcode=OP[kind], migreq=1, fecn=1, padcount=pad, dqpn=self.dqpn, ackreq=last, psn=psn)
            yield bth, Raw(part + bytes(pad))

    def send_all(self, packets, lost=()):
        """Send packets, except for those whose numbers are in @lost."""
        for i, (bth, payload) in enumerate(packets):
            if i not in lost:
                self.send(bth, payload)

    def take_answer(self, bth):
        """Note an ACK or a NAK."""
        if bth[AETH].syndrome == SEQ_NAK:
            self.naked = bth.psn
        elif bth[AETH].syndrome & 0xE0 == 0:
            self.acked = bth.psn
        else:
            sys.exit(f"syndrome {bth[AETH].syndrome:#x}")

    def take_request(self, bth):
        """Add a packet of a SEND to the message that arrives, and acknowledge it."""
        if bth.psn != self.epsn:
            return
        self.epsn = self.epsn + 1 & 0xFFFFFF
        payload = raw(bth.payload)
        self.inbox += payload[: len(payload) - bth.padcount]
        if bth.opcode in (OP["SEND_LAST"], OP["SEND_ONLY"]):
            self.messages.append(self.inbox)
            self.inbox = b""
        if bth.ackreq:
            ack = BTH(opcode=OP["ACKNOWLEDGE"], dqpn=self.dqpn, psn=bth.psn)
            self.send(ack, AETH(syndrome=ACK, msn=len(self.messages)))

    def receive(self):
        """Take a packet of the server, whose ICRC has to be scapy's."""
        data, (_, port) = self.udp.recvfrom(65536)
        bth = BTH(data)
        rebuilt = bth.copy()
        rebuilt.icrc = None
        # The server's kernel sets DF, and numbers the packets that leave in one piece from 0.
        for number in range(IN_ONE_PIECE):
            ip = IP(src=self.ends[1], dst=self.ends[0], flags="DF", id=number)
            if raw(ip / UDP(sport=port, dport=PORT, chksum=0) / rebuilt)[28:] == data:
                break
        else:
            sys.exit(f"the ICRC is another: {data.hex()}")
        if bth.opcode == OP["ACKNOWLEDGE"]:
            self.take_answer(bth)
        else:
            self.take_request(bth)

    def until(self, done):
        """Receive until @done() holds."""
        while not done():
            self.receive()

    def exchange(self, number, is_last):
        """A round."""
        message = self.rand.randbytes(self.size)
        packets = list(self.packets(message))
        last = packets[-1][0].psn
        lost = [1] if number % 4 == 3 and len(packets) > 2 else []
        self.send_all(packets, lost)
        if lost:
            self.until(lambda: self.naked == packets[1][0].psn)
            self.naked = None
            self.send_all(packets[1:])
        self.until(lambda: self.acked == last and len(self.messages) > number)
        if self.messages[number] != message:
            sys.exit(f"message {number} came back changed")
        # The server ends with its last round.
        if number % 3 == 2 and not is_last:
            self.acked = None
            self.send_all(packets)
            self.until(lambda: self.acked == last)
        self.psn = last + 1 & 0xFFFFFF


def connect(source, server, tcp_port):
    """Exchange queue pairs as ibv_rc_pingpong does. Return: the server's QPN and PSN."""
    gid = "00" * 10 + "ffff" + socket.inet_aton(source).hex()
    with socket.create_connection((server, tcp_port)) as tcp:
        tcp.sendall(f"0000:{QPN:06x}:{PSN:06x}:{gid}\0".encode())
        theirs = tcp.recv(52, socket.MSG_WAITALL).decode()
        tcp.sendall(b"done\0")
    _, qpn, psn, _ = theirs.split(":")
    return int(qpn, 16), int(psn, 16)


def main():
    """Run the client."""
    source, server = sys.argv[1:3]
    tcp_port, size, rounds = (int(arg) for arg in sys.argv[3:])
    peer = Peer(source, server, size)
    peer.dqpn, peer.epsn = connect(source, server, tcp_port)
    for number in range(rounds):
        peer.exchange(number, number == rounds - 1)


main()
