#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs of one process
# Options of the check: which findings, suppressions, exit status, JSON and SARIF; and what is refused.
. "$(dirname "$0")/../../lib/lib.sh"
need python3
cd "$TEST_DIR" || exit 1

# mistake ARGS... - the program with the lost wake-up: its status, and the names of what is found
mistake() {
	local out status=0
	out=$(limit "$RDMAEMU" run "$@" -- "$T/app_check_events" notify_lost wrong 2>&1) || status=$?
	echo "$status" $(sed -n 's/^rdmaemu: [a-z]* \([A-Z:]*\): .*/\1/p' <<<"$out")
}

is "without --check nothing is found" "$(mistake)" 0
is "with it, the error is the exit status" "$(mistake --check)" "99 CQ:NOTIFY:LOST"
is "--check-exit gives another one" "$(mistake --check --check-exit 7)" "7 CQ:NOTIFY:LOST"
is "or leaves the program's" "$(mistake --check --check-exit 0)" "0 CQ:NOTIFY:LOST"
is "only these findings" "$(mistake --check='CQ:*')" "99 CQ:NOTIFY:LOST"
is "but not others" "$(mistake --check='QP:*,warnings')" 0
is "a pattern of findings of a group and of others" "$(mistake --check='*,-MR:RIGHTS:UNUSED')" "99 CQ:NOTIFY:LOST"
is "all without one" "$(mistake --check='-CQ:NOTIFY:*')" 0
is "by a variable" "$(RDMAEMU_CHECK=errors mistake)" "99 CQ:NOTIFY:LOST"
is "which may say no" "$(RDMAEMU_CHECK=no mistake)" 0
is "on other devices" "$(emu "$RDMAEMU" run --real --check -- "$T/app_check_events" notify_lost wrong 2>&1 |
	sed -n 's/^rdmaemu: \(.*\): app_.*/\1/p')" "error CQ:NOTIFY:LOST"

# --- suppressions

limit "$RDMAEMU" run --check --gen-suppressions -- "$T/app_check_events" notify_lost wrong 2>&1 |
	sed -n 's/^  suppress: //p' >made
is "--gen-suppressions prints a line" "$(cat made)" "CQ:NOTIFY:LOST seed_wait_event"
is "which suppresses the finding" "$(mistake --check --check-suppress made)" 0
printf '# a comment\n\nCQ:*  events.c # by file\n' >file
is "a source file does, too" "$(mistake --check --check-suppress file)" 0
is "from a pipe as well, which is read once" "$(mistake --check --check-suppress <(cat file))" 0
echo 'CQ:NOTIFY:LOST other_function' >other
is "another function does not" "$(mistake --check --check-suppress other)" "99 CQ:NOTIFY:LOST"

# --- documents

limit "$RDMAEMU" run --check --check-json found.json --check-sarif found.sarif -- \
	"$T/app_check_events" notify_lost wrong 2>/dev/null
is "--check-json" "$(python3 -c 'import json
for f in json.load(open("found.json")):
    print(f["severity"], f["name"], f["times"], f["stack"][0]["function"], f["other"])')" \
	"error CQ:NOTIFY:LOST 1 seed_wait_event armed"
is "--check-sarif" "$(python3 -c 'import json
run = json.load(open("found.sarif"))["runs"][0]
rules = [r["id"] for r in run["tool"]["driver"]["rules"]]
for r in run["results"]:
    at = r["locations"][0]["physicalLocation"]
    print(r["level"], r["ruleId"], r["ruleId"] in rules, at["artifactLocation"]["uri"], at["region"]["startLine"] > 1,
          len(r["relatedLocations"]))')" \
	"error CQ:NOTIFY:LOST True tests/verbs/check/events.c True 1"
limit "$RDMAEMU" run --check --check-json none.json -- "$T/app_check_events" notify_lost right
is "nothing found is an empty list" "$(python3 -c 'import json; print(json.load(open("none.json")))')" "[]"

# --- what is refused

# refused PATTERN ARGS... - one line that matches
refused() {
	local pattern=$1 status=0 out
	shift
	out=$(limit "$RDMAEMU" run "$@" -- true 2>&1) || status=$?
	echo "$status: $out"
	[ $status != 0 ] && [ "$(wc -l <<<"$out")" = 1 ] && grep -qe "$pattern" <<<"$out"
}
check "a name that is none" refused "--check 'CQ:NOTIFY:LOTS': expected names of findings" --check=CQ:NOTIFY:LOTS
check "a pattern of a group that costs more" refused "--check '.*WR:BUFFER:\*': expected names" --check='errors,WR:BUFFER:*'
check "an exit status that is none" refused '--check-exit.*256.*expected an exit status' --check --check-exit 256
check "a file of suppressions that is not there" refused 'missing: No such file' --check --check-suppress missing
echo 'CQ:NOTIFY:LOTS' >bad
check "a line of it that is none" refused '^rdmaemu: bad:1: CQ:NOTIFY:LOTS.*: expected the name of a finding' \
	--check --check-suppress bad
mkdir tmp
is "reports are in TMPDIR" "$(TMPDIR=$TEST_DIR/tmp mistake --check)" "99 CQ:NOTIFY:LOST"
is "and nothing is left there" "$(ls tmp)" ""

# --- a time limit: SIGTERM, and then SIGKILL

mkdir limit
TMPDIR=$TEST_DIR/limit "$RDMAEMU" run --check -- \
	sh -c 'trap "" TERM; "$0" notify_lost wrong; touch ended; exec sleep 1000' "$T/app_check_events" 2>limit.err &
wait_for 30 test -e ended
kill -TERM $!
check "a program that ignores SIGTERM: what was found until now is printed" \
	wait_for 30 grep -q '^rdmaemu: check: 1 error' limit.err
kill -KILL $!
wait $! 2>/dev/null
is "once" "$(grep -c '^rdmaemu: error CQ:NOTIFY:LOST' limit.err)" 1
is "a command that was killed leaves its directory" "$(ls limit | wc -l)" 1
touch -d '5 minutes ago' limit/*
is "the next one" "$(TMPDIR=$TEST_DIR/limit mistake --check)" "99 CQ:NOTIFY:LOST"
is "removes it" "$(ls limit)" ""
done_testing
