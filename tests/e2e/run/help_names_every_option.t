#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: no fabric is started
# --help of the command, of groups and of verbs: what it lists, its width, and that the man page has each option.
. "$(dirname "$0")/../../lib/lib.sh"

MAN=$TOP/man/rdmaemu.1
CLI=$TOP/fabric/cli

help() {
	limit "$RDMAEMU" "$@" --help
}

# Names of verbs, from the table.
mapfile -t verbs < <(sed -n 's/^\t*{ \.name = "\([a-z ]*\)",$/\1/p' "$CLI/verbs.c" | sort -u)
is "the table has verbs" "$([ ${#verbs[@]} -gt 25 ] && echo many)" many

# --- the list of all ---------------------------------------------------------------------------------

limit "$RDMAEMU" --help >"$TEST_DIR/all" 2>"$TEST_DIR/err"
is "--help: exit status" $? 0
is "--help: nothing on stderr" "$(cat "$TEST_DIR/err")" ""
lists() {
	local v bad=0
	for v in "${verbs[@]}"; do
		[ "$v" != 'capture status' ] || continue
		grep -qE "^  $v +[A-Z]" "$TEST_DIR/all" || {
			echo "$v is not listed"
			bad=1
		}
	done
	return $bad
}
check "--help lists each verb with what it does" lists
is "a verb takes one line of 80 columns" "$(grep -c '^   ' "$TEST_DIR/all")" 0
is "-h is the same" "$(limit "$RDMAEMU" -h)" "$(cat "$TEST_DIR/all")"
is "help is the same" "$(limit "$RDMAEMU" help)" "$(cat "$TEST_DIR/all")"
is "help VERB is VERB --help" "$(limit "$RDMAEMU" help port link)" "$(help port link)"
is "help GROUP is GROUP --help" "$(limit "$RDMAEMU" help port)" "$(help port)"

# --- groups -------------------------------------------------------------------------------------------

for group in fabric port fault capture trace clock; do
	help $group >"$TEST_DIR/$group"
	is "$group --help: exit status" $? 0
	members() {
		local v
		for v in "${verbs[@]}"; do
			case $v in
			'capture status') ;;
			"$group "*) grep -qE "^  ${v#* } +[A-Z]" "$TEST_DIR/$group" || return ;;
			esac
		done
	}
	check "$group --help lists its verbs" members
done
actions() {
	local w
	sed -n '/^static const struct fault_act_def acts/,/^};/s/^\t{ "\([a-z ]*\)",.*/\1/p' "$TOP/fabric/fault/keys.c" >"$TEST_DIR/acts"
	[ "$(wc -l <"$TEST_DIR/acts")" -gt 20 ] || return
	while read -r w; do
		grep -qE "^  $w +[a-z]" "$TEST_DIR/fault" || return
	done <"$TEST_DIR/acts"
}
check "fault --help lists each action" actions

# --- verbs --------------------------------------------------------------------------------------------

# Options of a verb as the completion has them: from the same table, by other code.
limit "$RDMAEMU" completion bash >"$TEST_DIR/bash"
options() {
	(
		. "$TEST_DIR/bash" 2>/dev/null
		_rdmaemu_options "$1"
	)
}
# shellcheck disable=SC2086
verb_help() {
	local v=$1 o bad=0
	help $v >"$TEST_DIR/verb" 2>"$TEST_DIR/err" || return
	[ ! -s "$TEST_DIR/err" ] || return
	if [ "$v" = replay ]; then
		help replay --inject >>"$TEST_DIR/verb" || return
	fi
	grep -q "^usage: rdmaemu $v" "$TEST_DIR/verb" || return
	for o in $(options "$v"); do
		grep -qE -- "^  (-[a-z], )?$o([ =[]|\$)" "$TEST_DIR/verb" || {
			echo "$v: no $o"
			bad=1
		}
	done
	[ -n "$(options "$v")" ] && return $bad
}
for v in "${verbs[@]}"; do
	check "$v --help names each of its options" verb_help "$v"
done

sections() {
	help run | grep -E '^[A-Z].*:$'
}
is "options are in sections, a verb's own first" "$(sections)" "Options:
Options of a capture:
Options of the fabric, if this command starts it:
Common options:"

# --- width --------------------------------------------------------------------------------------------

# Words that are longer than a line do not occur but in a narrow one.
width() {
	local v
	for v in '' run record fault clock 'capture start' replay 'replay --inject' 'port link'; do
		# shellcheck disable=SC2086
		COLUMNS=$1 help $v | awk -v w="$1" 'length($0) > w { print; bad = 1 } END { exit bad }' || return
	done
}
for columns in 60 80 132; do
	check "no line is longer than COLUMNS=$columns" width $columns
done
is "without COLUMNS and terminal it is 80" "$(unset COLUMNS; help run)" "$(COLUMNS=80 help run)"
is "COLUMNS that is no number is as none" "$(COLUMNS=x help run)" "$(COLUMNS=80 help run)"
if command -v script >/dev/null && command -v stty >/dev/null; then
	is "without COLUMNS it is the terminal's width" \
		"$(unset COLUMNS; script -qec "stty cols 50; '$RDMAEMU' run --help" /dev/null </dev/null | tr -d '\r')" \
		"$(COLUMNS=50 help run)"
else
	skip "without COLUMNS it is the terminal's width" "script(1) is not installed"
fi

# --- the man page ---------------------------------------------------------------------------------------

man_page() {
	local o bad=0
	for o in $(for v in "${verbs[@]}"; do options "$v"; done | tr ' ' '\n' | sort -u); do
		sed 's/\\-/-/g; s/\\f[A-Z]//g' "$MAN" | grep -qE -- "(^|[^-a-z])$o([^-a-z]|\$)" || {
			echo "rdmaemu(1) has no $o"
			bad=1
		}
	done
	return $bad
}
check "rdmaemu(1) has each option" man_page
man_verbs() {
	local v bad=0
	for v in "${verbs[@]}"; do
		sed 's/\\-/-/g; s/\\f[A-Z]//g; s/[",]//g' "$MAN" | grep -qE "(^|[. ])(B|BR|BI) (.* )?$v( |\$)" || {
			echo "rdmaemu(1) has no $v"
			bad=1
		}
	done
	return $bad
}
check "rdmaemu(1) has each verb" man_verbs

if [ -w /dev/full ]; then
	"$RDMAEMU" --help >/dev/full 2>/dev/null
	is "help that cannot be written is an error" $? 1
fi
done_testing
