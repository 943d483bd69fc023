#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs on two nodes of one fabric
# The profile for Wireshark that `make install` installs, as tshark reads it: columns, colours and filter buttons.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/lost_packet.sh"
need python3 ib_send_bw tshark

R=$RDMAEMU
PROFILE=$TOP/traces/wireshark/rdmaemu
cd "$TEST_DIR" || exit 1
export WIRESHARK_CONFIG_DIR=$TEST_DIR/config
mkdir -p config/profiles
cp -r "$PROFILE" config/profiles/

lost_packet_capture sends.pcapng
"$R" fabric stop

# Each of tshark's complaints about a table of a profile is a line on stderr, next to one about root.
limit tshark -C rdmaemu -r sends.pcapng >text 2>err
is 'tshark reads it without a complaint' "$? $(grep -v '^Running as user' err)" '0 '
is 'columns: node, queue pair, PSN' "$(grep -cE ' b/rdmaemu0/1 .* 0x[0-9a-f]{6} [0-9]+ .*RC Send First' text | sed 's/^[1-9][0-9]*$/some/')" some
is 'why a packet did not arrive' "$(grep -cE ' dropped .*RC Send Middle .*dropped by fault rule one: drop opcode=SEND_MIDDLE nth=1' text)" 1
is 'an AETH' "$(grep -cE ' a/rdmaemu0/1 .* 0x[0-9a-f]{6} [0-9]+ Nak .*RC Acknowledge' text)" 1

# filter_counts EXPRESSION - how many packets it selects
filter_counts() {
	limit tshark -r sends.pcapng -Y "$1" 2>/dev/null | wc -l
}
# buttons - lines LABEL COUNT
buttons() {
	python3 -c 'import csv, sys
for row in csv.reader(l for l in open(sys.argv[1]) if l[0] != "#"):
    print(row[1] + "\t" + row[2].replace("\\x22", chr(34)))' "$PROFILE/dfilter_buttons" |
		while IFS=$'\t' read -r label filter; do
			echo "$label $(filter_counts "$filter")"
		done
}
all=$(wc -l <text)
acks=$(grep -c 'RC Acknowledge' text)
is 'buttons select' "$(buttons)" "Dropped 1
Faults 1
NAK 1
CM 0
No ACKs $((all - acks))"
if command -v script >/dev/null; then
	COLORTERM=truecolor TERM=xterm-256color script -qec 'tshark --color -C rdmaemu -r sends.pcapng' /dev/null \
		</dev/null >colours 2>&1
	is 'a lost packet is white on red' "$(grep -c $'\033\[48;2;170;50;50m.* dropped ' colours)" 1
	is 'ACKs are grey' "$(grep -c $'\033\[38;2;96;96;96m.*RC Acknowledge' colours | sed 's/^[1-9][0-9]*$/some/')" some
	is 'each filter of colours is one' "$(grep -c 'Could not compile' colours)" 0
else
	skip 'colours' 'script(1) is not installed'
fi
done_testing
