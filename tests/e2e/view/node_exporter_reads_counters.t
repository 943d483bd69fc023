#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: one node
# Prometheus' node_exporter reads the counters of a node's ports from the tree of /sys that its programs see.
. "$(dirname "$0")/../../lib/lib.sh"
need python3 ibv_rc_pingpong prometheus-node-exporter

R=$RDMAEMU
cd "$TEST_DIR" || exit 1
"$R" fabric start
check 'traffic' pair_once ibv_rc_pingpong -n 100

# It is written in Go, which opens files without libc: the tree is shown to it by its option.
port=$(free_port)
cat >exporter <<'END'
exec prometheus-node-exporter --collector.disable-defaults --collector.infiniband --web.disable-exporter-metrics \
	--path.sysfs="$RDMAEMU_SYSFS/sys" --web.listen-address="127.0.0.1:$1"
END
"$R" run -- sh exporter "$port" >log 2>&1 &
exporter=$!
check 'node_exporter listens' wait_listen "$port" $exporter
python3 -c 'import sys, urllib.request as u
sys.stdout.write(u.urlopen("http://127.0.0.1:%s/metrics" % sys.argv[1]).read().decode())' "$port" >metrics
kill $exporter
wait $exporter 2>/dev/null

# metric NAME - its value for the port
metric() {
	sed -n "s/^node_infiniband_$1{device=\"rdmaemu0\",port=\"1\"} //p" metrics
}
# counter NAME - the value of `rdmaemu status`
counter() {
	"$R" status --json | json "d['devices'][0]['ports'][0]['counters']['$1']"
}
is 'packets sent' "$(metric port_packets_transmitted_total)" "$(counter xmit_packets)"
is 'packets received' "$(metric port_packets_received_total)" "$(counter rcv_packets)"
is 'there are some' "$(counter xmit_packets | sed 's/^[1-9][0-9]*$/some/')" some
is 'the port is active, its link up' "$(metric state_id) $(metric physical_state_id)" '4 5'
is 'the collector found nothing wrong' "$(sed -n 's/^node_scrape_collector_success{collector="infiniband"} //p' metrics)" 1
"$R" fabric stop
done_testing
