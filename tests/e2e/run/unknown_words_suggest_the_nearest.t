#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: no fabric is started
# Unknown verbs and options: the nearest one is suggested.
. "$(dirname "$0")/../../lib/lib.sh"

# says NAME LINE ARGS... - exit status 2, and that line on stderr
says() {
	local name=$1 line=$2 out status=0
	shift 2
	out=$(limit "$RDMAEMU" "$@" 2>&1 >/dev/null) || status=$?
	is "$name" "$status $out" "2 rdmaemu: $line"
}

says "letters swapped" "unknown verb 'stauts': did you mean 'status'?" stauts
says "a letter too few" "unknown verb 'fabrc': did you mean 'fabric'?" fabrc start
says "a letter too many" "unknown verb 'runn': did you mean 'run'?" runn true
says "a beginning" "unknown verb 'comp': did you mean 'completion'?" comp
says "nothing near" "unknown verb 'frobnicate'; see 'rdmaemu --help'" frobnicate
says "a single letter" "unknown verb 'x'; see 'rdmaemu --help'" x
says "help of an unknown verb" "unknown verb 'statsu': did you mean 'status'?" help statsu
says "the second word" "unknown verb 'port lnik': did you mean 'port link'?" port lnik none
says "the second word, nothing near" "fault: expected add, list, remove, clear or try; see 'rdmaemu fault --help'" fault frob
says "no second word" "capture: expected start, stop or list; see 'rdmaemu capture --help'" capture
says "the second word of a verb that is one alone, too" "unknown verb 'clock advanec': did you mean 'clock advance'?" clock advanec 1s
says "an argument of such a verb" "clock: unexpected argument 'frobnicate'; see 'rdmaemu clock --help'" clock frobnicate
says "an option" "run: unknown option '--captrue': did you mean '--capture'?" run --captrue x true
says "an option with a value" "run: unknown option '--fabirc=red': did you mean '--fabric'?" run --fabirc=red true
says "the beginning of an option" "fabric start: unknown option '--time': did you mean '--time-scale'?" fabric start --time 2
says "an option of another verb only" "status: unknown option '--capture'; see 'rdmaemu status --help'" status --capture x
says "an option of the other replay" "replay: unknown option '--injcet': did you mean '--inject'?" replay --injcet x
says "an option before the verb" "unknown option '--verson': did you mean '--version'?" --verson
says "a letter that is no option" "run: unknown option '-x'; see 'rdmaemu run --help'" run -x true
done_testing
