#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: looks at frames, not at programs
# scapy and tshark read a frame of each opcode on each network as we mean it, and checksums follow their definition.
. "$(dirname "$0")/../../lib/lib.sh"
F=$TEST_DIR/frames.pcapng

# looked WHAT FILE - what tests/lib/py/frames_check.py says
looked() {
	limit /usr/bin/python3 "$TOP/tests/lib/py/frames_check.py" "$1" "$2" 2>&1
}

check "frames are written" limit "$T/sys_frames" "$F" || done_testing
is "ICRC and VCRC of all of them, by their definition" "$(looked crc "$F")" "609 frames, 0 wrong"
if /usr/bin/python3 -c 'import scapy.contrib.roce' 2>/dev/null; then
	is "the ICRC that scapy computes, for each opcode in IPv4" "$(looked scapy "$F")" "87 frames, 0 wrong"
else
	skip "the ICRC that scapy computes" "python3-scapy is not installed"
fi
if command -v tshark >/dev/null; then
	is "the fields that tshark sees, and that nothing is malformed" "$(looked tshark "$F")" "435 frames, 0 wrong"
else
	skip "the fields that tshark sees" "tshark is not installed"
fi

# One bit of each frame's P_Key.
/usr/bin/python3 - "$F" "$TEST_DIR/other.pcapng" <<'EOT'
import sys
data = open(sys.argv[1], "rb").read()
open(sys.argv[2], "wb").write(data.replace(b"\x80\x01\x40\x01", b"\x80\x03\x40\x01"))
EOT
is "another P_Key is another ICRC in all, another VCRC in 348" "$(looked crc "$TEST_DIR/other.pcapng" | tail -n 1)" "609 frames, 957 wrong"
done_testing
