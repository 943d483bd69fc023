#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: the command, and one fabric
# `rdmaemu run --junit` and `--tap`: cases of the program and of each fault rule, as other readers see them.
. "$(dirname "$0")/../../lib/lib.sh"
need python3

FAULT=$T/app_fault_packets
R=$RDMAEMU
cd "$TEST_DIR" || exit 1
printf '%s\n' 'drop opcode=SEND_ONLY nth=2' 'late: drop opcode=SEND_ONLY round=1 nth=99' \
	'must: drop node=nowhere must-fire' >rules
printf '"%s" local RC send 5 10 >/dev/null\n%s\n' "$FAULT" 'eval "$1"' >sends

# cases FILE - lines GROUP NAME OUTCOME MESSAGE, and the counts of the suite, as junitparser reads them
cases() {
	/usr/bin/python3 - "$1" <<-'END'
		import sys
		from junitparser import JUnitXml
		xml = JUnitXml.fromfile(sys.argv[1])
		for suite in xml:
		    print(suite.name, suite.tests, suite.failures, suite.errors, suite.skipped, suite.time > 0)
		    for case in suite:
		        for r in case.result or [None]:
		            print(case.classname, repr(case.name), type(r).__name__ if r is not None else 'passed', r.message if r is not None else '')
	END
}

status=0
limit "$R" run --fresh --scenario rules --junit all.xml --tap all.tap -- sh sends 'exit 7 # <&">' 2>err || status=$?
is 'the exit status is as without' $status 123
if /usr/bin/python3 -c 'import junitparser' 2>/dev/null; then
	is 'JUnit: a case for the program and each rule' "$(cases all.xml)" "rdmaemu run 4 2 0 1 True
program 'sh sends exit 7 # <&\">' Failure exit status 7
rule 'f1: drop opcode=SEND_ONLY nth=2 (rules:1)' passed 
rule 'late: drop opcode=SEND_ONLY round=1 nth=99 (rules:2)' Skipped never hit
rule 'must: drop node=nowhere must-fire (rules:3)' Failure must fire, but never matched"
else
	skip 'JUnit: a case for the program and each rule' 'python3-junitparser is not installed'
fi
is 'the journal stands with the program' "$(sed -n '/<testcase classname="program"/,/<\/testcase>/p' all.xml |
	grep -c 'drop\(ped\)\{0,1\} .*SEND\|SEND.*drop')" 1
is 'TAP' "$(grep -v '^# notice' all.tap | sed 's/^# seen [1-9][0-9]*/# seen some/')" "TAP version 13
1..4
not ok 1 - program: sh sends exit 7 \\# <&\">
# exit status 7
ok 2 - rule: f1: drop opcode=SEND_ONLY nth=2 (rules:1)
# seen some, hits 1
ok 3 - rule: late: drop opcode=SEND_ONLY round=1 nth=99 (rules:2) # SKIP never hit
# seen some, hits 0
not ok 4 - rule: must: drop node=nowhere must-fire (rules:3)
# must fire, but never matched
# seen 0, hits 0"
if command -v prove >/dev/null; then
	is 'prove(1) reads it' "$(prove --exec cat all.tap 2>&1 | sed -n 's/^ *Failed tests\{0,1\}: *//p')" '1, 4'
else
	skip 'prove(1) reads it' 'perl is not installed'
fi

limit "$R" run --fresh --tap good.tap -- "$FAULT" local RC send 5 10 >/dev/null
is 'a run without rules' "$? $(cat good.tap)" "0 TAP version 13
1..1
ok 1 - program: $FAULT local RC send 5 10"
limit "$R" run --fresh --tap killed.tap -- sh -c 'kill -9 $$' 2>/dev/null
is 'a program that a signal ends' "$? $(grep -c '^# signal 9 (Killed)$' killed.tap)" '137 1'
limit "$R" run --fresh --junit odd.xml -- sh -c : $'\001\xff' 2>/dev/null
check 'bytes that XML has no way to write' python3 -c 'import xml.dom.minidom as m
m.parse("odd.xml").getElementsByTagName("testcase")[0].getAttribute("name") == "sh -c : \ufffd\ufffd" or exit(1)'
rdmaemu_refuses run 'a file that cannot be written' 125 'No such file' --fresh --junit none/x.xml -- true
limit "$R" run --fresh --junit none/x.xml -- sh -c 'exit 5' 2>/dev/null
is 'a program that failed is reported as that' $? 5
is 'on real devices' "$(emu "$R" run --real --tap real.tap -- sh -c 'exit 3'
	echo "$? $(grep -c '^not ok 1 - program: sh -c exit 3$' real.tap)")" '3 1'
done_testing
