#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 30
# waits
# settings: one: the programs are on nodes of their own
# `rdmaemu replay DIR --as PROGRAM --mode MODE -- OTHER`: recordings that are made on demand, and grow.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/rdmacm.sh"
. "$TOP/tests/lib/live.sh"
need rping udaddy ucmatose

S=10.77.0.1
cd "$TEST_DIR" || exit 1

# parts DIR N [PLAYED] - so many programs are in a trace, of which so many (all) are played without a live one
parts() {
	local n out
	n=$(find "$1" -maxdepth 1 -name 'p[0-9]*' | wc -l)
	[ "$n" = "$2" ] || {
		echo "$1: $n programs"
		return 1
	}
	[ -z "$(find . -maxdepth 2 -name '*new-*')" ] || {
		find . -maxdepth 2 -name '*new-*'
		return 1
	}
	out=$(limit "$RDMAEMU" replay "$1" 2>&1) && grep -q "^${3:-$2} programs, .*no divergence" <<<"$out" && return
	echo "$out"
	return 1
}

refuses() {
	rdmaemu_refuses replay "$1" 2 "${@:2}"
}

NODES=(--node a --live-node b)
SERVER=(--as rping --command 'rping -s -C 3' "${NODES[@]}")
LIVE=(rping -c -a "$S" -C 3)

check "once: recorded, as there is nothing" live 0 '^recorded: 2 programs, episode 1' T "${SERVER[@]}" --mode once
check "all that was recorded is played" parts T 2
check "once: played, as there is something" live 0 '^1 programs, .*no divergence$' T "${SERVER[@]}" --mode once
check "none is the default" live 0 'no divergence$' T --as rping
check "new_episodes: a recorded request is played" live 0 'no divergence$' T --as rping --mode new_episodes
check "nothing was added" parts T 2
LIVE=(rping -c -a "$S" -C 3 -V)
check "once: a new request is answered from the recording" live 0 'no divergence$' T --as rping --mode once
check "new_episodes: a new request is recorded" live 0 '^recorded: 2 programs, episode 2' T --as rping --mode new_episodes
check "both are played, one after the other" parts T 4
LIVE=(rping -c -a "$S" -C 7 -V)
check "none: more than is recorded" live 1 'recorded:' T --as rping --mode none
check "all: the real program answers" live 0 '^recorded: 2 programs, episode 3' T --as rping --mode all \
	--command 'rping -s -C 7'
check "what was recorded last is played" live 0 'no divergence$' T --as rping
LIVE=(rping -c -a "$S" -C 3)
check "and to others what was theirs" live 0 'no divergence$' T --as rping
check "all of them" parts T 6

# A live command that connects more often than was recorded.
cat >clients <<'END'
#!/bin/sh
n=$(cat howmany)
while [ $n -gt 0 ]; do
	ucmatose -s 10.77.0.1 -C 2 || exit
	n=$((n - 1))
done
END
chmod +x clients
LIVE=(./clients)
UCM=(--as ucmatose --command 'ucmatose -C 2' "${NODES[@]}")
echo 1 >howmany
check "one connection is recorded" live 0 '^recorded: 2 programs' M "${UCM[@]}" --mode new_episodes
echo 2 >howmany
check "none: a second one is refused" live 8 REJECTED M --as ucmatose
check "new_episodes: it is let through" live 0 '^recorded: 4 programs, episode 2' M --as ucmatose --mode new_episodes
check "what was played is recorded with it" parts M 6 2
check "then both are played" live 0 '^2 programs, .*no divergence$' M --as ucmatose
echo 1 >howmany
check "and one of them if one is requested" live 0 'no divergence$' M --as ucmatose --mode new_episodes
check "which adds nothing" parts M 6 2

# Datagrams, and a real program that connects.
LIVE=(udaddy -c 2 -C 4)
CLIENT=(--as udaddy --command "udaddy -s $S -c 2 -C 4" --node b --live-node a --live-first)
check "once: the live program listens" live 0 '^recorded: 2 programs' U "${CLIENT[@]}" --mode once
check "a client without its server: udaddy" live 0 'no divergence$' U "${CLIENT[@]}" --mode once
LIVE=(udaddy -s "$S" -c 2 -C 4)
check "a server without its client: udaddy" live 0 'no divergence$' U --as p1
LIVE=(udaddy -s "$S" -c 2 -C 4 -S 200)
# The played side waits for the rest of its messages before it says that one has differed.
WAIT=20 check "with other messages" live 1 'differs' U --as p1

LIVE=(rping -c -a "$S" -C 3)
check "the real program fails" live 2 'ended before it listened' X --as x --command false --mode once
check "nothing is kept of it" test ! -e X
LIVE=(sh -c 'echo this; exit 3')
check "the live one fails" live 3 this X --as rping --command 'rping -s' --mode once
check "nothing either" test ! -e X

touch "junk"
mkdir full && touch full/file
refuses "no such mode" "expected none, once, new_episodes or all" T --as rping --mode sometimes -- true
refuses "a mode for all programs" "expected --as with them" T --mode once
refuses "no real program" "expected --command" new --as rping --mode once -- true
refuses "none without a record" "trace: No such file" new --as rping -- true
refuses "a directory of something else" "trace: No such file" full --as rping --mode once -- true
refuses "a file" "junk" junk --as rping --mode once -- true
refuses "another fabric than the recorded one" "expected no flags that change it" T --as rping --mode all --seed 7 -- true
refuses "a place that is not there" "nowhere" nowhere/T --as rping --mode once --command true -- true
sed -i 's/^command .*/command rping .../' T/p1/program T/p3/program T/p5/program
refuses "a command that was cut" "expected --command" T --as rping --mode all -- true
done_testing
