#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: a run in a run
# `rdmaemu run --real --emulate`: rdma_cm identifiers are real or emulated by their addresses, and a program that
# listens at any address takes connections from both. The emulator of an outer run stands for the machine's devices:
# its nodes have addresses of 10.77.0.0/24, those of the emulated devices have addresses of 10.88.0.0/24.
. "$(dirname "$0")/../../lib/lib.sh"
# shellcheck source=tests/lib/plain_real.sh
. "$TOP/tests/lib/plain_real.sh"
need rping ucmatose udaddy rdma_server rstream

R=$RDMAEMU
printf 'name machine\n' >"$TEST_DIR/machine"
limit "$R" fabric start --fabric machine --profile "$TEST_DIR/machine"
limit "$R" fabric start --fabric beside --subnet 10.88.0.0/24

# on NUMBER COMMAND... - on the real node m<NUMBER>, 10.77.0.<NUMBER>, which is the emulated e<NUMBER>, 10.88.0.<NUMBER>
cat >"$TEST_DIR/on" <<END
#!/bin/bash
n=\$1
shift
exec "$R" run --fabric machine --node "m\$n" --profile "$TEST_DIR/machine" -- \
	"$R" run --real --emulate --fabric beside --node "e\$n" -- "\$@"
END
chmod +x "$TEST_DIR/on"
on() {
	limit "$TEST_DIR/on" "$@"
}
on 1 true
on 2 true

# all_ok PROGRAM ARGS... - no check of a test program fails
all_ok() {
	local out
	out=$(on 1 "$T/$1" "${@:2}" 2>&1) && ! grep -q '^not ok' <<<"$out" || { tail -n 20 <<<"$out"; return 1; }
}
check "one program with identifiers of both" all_ok app_cm_beside 10.77.0.1 10.88.0.1
check "fields that the program writes" all_ok app_cm_beside_fields 10.77.0.1 10.88.0.1 10.77.0.1
check "fields that the program writes, with emulated devices alone" limit "$R" run --fabric beside --node e1 -- \
	"$T/app_cm_beside_fields" 10.88.0.1 10.88.0.1
printf 'fail call=%s errno=ENODEV\n' rdma_create_event_channel rdma_create_id rdma_create_ep >"$TEST_DIR/no_cm"
check "fields that the program writes, on a machine without rdma_cm" limit "$R" run --fabric machine --node m1 \
	--profile "$TEST_DIR/machine" --scenario "$TEST_DIR/no_cm" -- \
	"$R" run --real --emulate --fabric beside --node e1 -- "$T/app_cm_beside_fields" 10.88.0.1 10.88.0.1
check "identifiers and channels that are gone" all_ok app_cm_unknown_id
for address in 10.77.0.1 10.88.0.1; do
	check "connections by $address" all_ok app_cm_conn remote $address
	check "endpoints by $address" all_ok app_cm_ep remote $address
done
check "synchronous identifiers" all_ok app_cm_sync local
check "threads" all_ok app_cm_threads

# A shell's Ctrl-Z, or a debugger; the program waits for events most of the time.
stopped() {
	# shellcheck disable=SC2016
	on 1 sh -c 'rping -s -a 10.77.0.1 -p "$0" -C 2 & server=$!
		for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
			sleep 0.2; kill -STOP $server; sleep 0.01; kill -CONT $server || exit
		done
		while rping -c -a 10.77.0.1 -p "$0" -C 2 >"$1" 2>&1; status=$?; grep -q "error 8" "$1" && kill -0 $server; do
			sleep 0.2
		done
		cat "$1"
		[ $status = 0 ] || exit $status
		wait $server' "$(free_port)" "$TEST_DIR/stopped.client" >"$TEST_DIR/stopped" 2>&1
	did_well $? "$TEST_DIR/stopped" && ! grep "Interrupted" "$TEST_DIR/stopped" && return
	cat "$TEST_DIR/stopped"
	return 1
}
check "a program that is stopped, and continues" stopped

# --- real programs

# packets FABRIC - how many its devices have sent
packets() {
	"$R" status --json --fabric "$1" |
		json "sum(p['counters']['xmit_packets'] for x in d['devices'] for p in x['ports'])"
}

# connects NET SERVER CLIENT - programs of nodes 1 and 2 end well; in the commands, ADDR is the server's address there
connects() {
	sides pair "$TEST_DIR/on 1 ${2//ADDR/$1.1}" "$TEST_DIR/on 2 ${3//ADDR/$1.1}" env
	went_well pair || { cat "$TEST_DIR/pair.status"; tail -n 5 "$TEST_DIR"/pair.{server,client}; return 1; }
}

# uses NET USED UNUSED NAME SERVER CLIENT - they do, by the devices of one fabric alone
uses() {
	local used unused
	used=$(packets "$2") unused=$(packets "$3")
	check "$4: $1" connects "$1" "$5" "$6"
	is "$4: $1: the devices" "$(($(packets "$2") > used)) $(($(packets "$3") - unused))" "1 0"
}

while IFS='|' read -r name server client; do
	uses 10.77.0 machine beside "$name" "$server" "$client"
	uses 10.88.0 beside machine "$name" "$server" "$client"
done <<END
rping|rping -s -a 0.0.0.0 -C 3|rping -c -a ADDR -C 3
rping of an address|rping -s -a ADDR -C 3|rping -c -a ADDR -C 3
ucmatose|ucmatose|ucmatose -s ADDR
udaddy|udaddy|udaddy -s ADDR
rdma_server|rdma_server|rdma_client -s ADDR
END

# One server for clients of both.
limit "$TEST_DIR/on" 1 rping -s -P -p 7175 >/dev/null 2>&1 &
server=$!
for net in 10.77.0 10.88.0 10.77.0; do
	check "one server: $net" wait_for 30 on 2 rping -c -p 7175 -a $net.1 -C 2
done
kill $server
wait $server 2>/dev/null

# rsockets are the real library's.
check "rsockets of a real address" connects 10.77.0 "rstream -S 1000 -C 10 -p 7176" "rstream -s ADDR -S 1000 -C 10 -p 7176"

# --- an address of both

# The nodes of a third fabric have the machine's addresses.
limit "$R" fabric start --fabric same --subnet 10.77.0.0/24
same() {
	limit "$R" run --fabric machine --node "m$1" --profile "$TEST_DIR/machine" -- \
		"$R" run --real --emulate --fabric same --node "s$1" -- "${@:2}"
}
same 1 true
before=$(packets machine)
# It serves later clients, too: rping may end with 255 after it has done its work (did_well() of tests/lib/lib.sh).
same 1 rping -s -P -a 10.77.0.1 >/dev/null 2>&1 &
server=$!
check "an address of both" wait_for 30 same 1 rping -c -a 10.77.0.1 -C 1
kill $server
wait $server 2>/dev/null
is "is real" "$(($(packets machine) > before)) $(packets same)" "1 0"
check "the journal says so" grep -q 'real device used .* rping.*@s1: it has an address of rdmaemu0 port 1, too' <("$R" log --fabric same)

for f in machine beside same; do
	"$R" fabric stop --fabric $f
done
done_testing
