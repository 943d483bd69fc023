#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs on two nodes of one fabric
# `rdmaemu trace ladder` and `rdmaemu log --ladder`: each packet and entry is an arrow, in text, SVG and Mermaid.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/lost_packet.sh"
need python3 ib_send_bw

R=$RDMAEMU
cd "$TEST_DIR" || exit 1

# Two sends; the second packet of the first one is lost once.
lost_packet_capture sends.pcapng

limit "$R" trace ladder sends.pcapng >text
is 'lanes are nodes, with their addresses' "$(head -n 1 text | tr -s ' ')" ' b (10.77.0.2) a (10.77.0.1)'
lost='^ *[0-9.]*  |-* SEND_MIDDLE qp 0x[0-9a-f]* psn 0x[0-9a-f]*, 1024 B -*x   |  dropped by fault rule one: drop opcode=SEND_MIDDLE nth=1$'
is 'a packet that is lost ends before the other lane, with the rule' "$(grep -c "$lost" text)" 1
is 'a NAK comes back' "$(grep -c '|<-* NAK sequence qp .* -*|$' text)" 1
count() {
	"$R" trace ladder "$@" | sed 1d | grep -vc ' later$'
}
is 'each packet is a line' "$(count sends.pcapng)" "$("$R" log | sed -n 's/.*capture 1: it has ended, after \([0-9]*\) packets/\1/p')"
qp=$(grep -o 'SEND_FIRST qp 0x[0-9a-f]*' text | head -n 1 | sed 's/.* //')
is 'only packets to a queue pair' "$(limit "$R" trace ladder --qp "$qp" sends.pcapng | sed 1d | grep -vc '> *|\|>|$\|x   |')" 0

limit "$R" trace ladder --format svg sends.pcapng >ladder.svg
check 'SVG is XML, with an arrow and a label for each packet' python3 -c 'import sys, xml.dom.minidom as m
svg = m.parse("ladder.svg").documentElement
lines = len(svg.getElementsByTagName("line")) - 2
texts = [t.firstChild.data for t in svg.getElementsByTagName("text") if t.firstChild]
packets = int(sys.argv[1])
assert svg.tagName == "svg" and lines == packets, (lines, packets)
assert sum(" qp 0x" in t for t in texts) == packets
assert "dropped by fault rule one: drop opcode=SEND_MIDDLE nth=1" in texts, texts
assert float(svg.getAttribute("height")) > 22 * packets' "$(count sends.pcapng)"
limit "$R" trace ladder --format mermaid sends.pcapng >ladder.mmd
is 'Mermaid has nothing but its statements' "$(grep -vcE '^sequenceDiagram$|^    participant L[0-9]+ as [^;]+$|^    L[0-9]+(->>|--x)L[0-9]+: [^;<>]+$|^    Note (over|right of) L[0-9]+(,L[0-9]+)?: [^;]+$' ladder.mmd)" 0
is 'and each packet' "$(grep -c -- '->>\|--x' ladder.mmd)" "$(count sends.pcapng)"

# Comments and names of interfaces may be anybody's.
python3 - <<-'END'
	data = open("sends.pcapng", "rb").read()
	old = b"dropped by fault rule one: drop opcode=SEND_MIDDLE nth=1"
	new = b"%%{init: {}}%%\n\x1b[2J\x7f\xc2\x9b2J\xff \xc3\xa9 "
	assert data.count(old) == 1 and data.count(b"b/rdmaemu0/1") == 1
	data = data.replace(old, new.ljust(len(old), b"x")).replace(b"b/rdmaemu0/1", b"\x1b/rdmaemu0/1")
	open("hostile.pcapng", "wb").write(data)
END
limit "$R" trace ladder hostile.pcapng >hostile
is 'a terminal acts on no byte of a comment' "$(grep -c 'x   |  %%{init: {}}%%??\[2J???2J? é x*$' hostile)" 1
is 'or of a name' "$(head -n 1 hostile | tr -s ' ')" ' ? (10.77.0.2) a (10.77.0.1)'
is 'Mermaid takes a comment for no directive' "$(limit "$R" trace ladder --format mermaid hostile.pcapng |
	grep '%\|{' | sed 's/x*$//')" "    Note over L0,L1: #37;#37;{init: {}}#37;#37;??[2J???2J? é "

# Captures of other devices.
is 'pcap of Linux: lanes are addresses' "$(limit "$R" trace ladder "$TOP/tests/data/traces/cm_reject.pcap" | tr -s ' -' | cut -c 1-60)" \
	" 10.1.0.1 10.1.0.2
 0.000000 |- CM REQ ->|
 0.000655 |<- CM REJ, reason 8 -|"
idle=$(for f in "$TOP"/tests/data/traces/*.pcap*; do limit "$R" trace ladder "$f" >/dev/null && echo fine; done | uniq)
is 'all of them can be drawn' "$idle" fine

# The journal.
limit "$R" log --ladder >log
is 'entries are arrows between programs' "$(grep -c 'dropped SEND_MIDDLE -*x *|  by fault rule one' log)" 1
is 'their lanes are programs' "$(head -n 1 log | grep -c 'ib_send_bw\[[0-9]*\]@b .*ib_send_bw\[[0-9]*\]@a')" 1
is 'each entry is a line' "$(sed 1d log | grep -vc ' later$')" "$("$R" log | wc -l)"
"$R" fabric stop
is 'that of a fabric that has ended, too' "$(limit "$R" log --ladder --last 1 2>/dev/null | sed 1d | grep -c 'dropped SEND_MIDDLE')" 1

rdmaemu_refuses log 'with --follow' 2 'expected no --follow' --ladder --follow
rdmaemu_refuses log '--format without it' 2 'expected --ladder' --format svg
rdmaemu_refuses 'trace ladder' 'a format that is none' 2 'expected text, svg or mermaid' --format png sends.pcapng
rdmaemu_refuses 'trace ladder' 'a file that is no capture' 2 'expected a capture' text
head -c $(($(stat -c %s sends.pcapng) / 2)) sends.pcapng >cut.pcapng
limit "$R" trace ladder cut.pcapng >cut 2>err
is 'a capture that was cut' "$? $(cat err)" '0 rdmaemu: trace ladder: cut.pcapng ends within a packet'
done_testing
