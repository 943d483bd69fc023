# SPDX-License-Identifier: MIT
"""Compares metrics of `rdmaemu status --prometheus` with the JSON object of the same fabric, in TAP lines.

usage: metrics_check.py OPENMETRICS TEXT JSON

The parsers are those of Prometheus' client library, which the project has no part in.
"""
import json
import sys

from prometheus_client import parser as text_parser
from prometheus_client.openmetrics import parser as open_parser


failed = False


def check(name, good, *why):
    global failed
    failed |= not good
    print(f'{"ok" if good else "not ok"} {name}')
    for line in () if good else why:
        print(f'# {line}')


def samples(families):
    """All samples as {(name, sorted labels): value}, and types as {family: type}."""
    found, types = {}, {}
    for family in families:
        types[family.name] = family.type
        for s in family.samples:
            found[s.name, tuple(sorted(s.labels.items()))] = s.value
    return found, types


def read(path):
    with open(path, encoding='utf-8') as f:
        return f.read()


def wanted(status):
    """Samples that must be there, by the JSON object."""
    fabric = {'fabric': status['fabric']}
    for device in status['devices']:
        for port in device['ports']:
            labels = {**fabric, 'node': device['node'], 'device': device['name'], 'port': str(port['port'])}
            yield 'rdmaemu_port_active', labels, int(port['state'] == 'ACTIVE')
            for name, value in port['counters'].items():
                yield f'rdmaemu_port_{name}_total', labels, value
    for qp in status['qps']:
        labels = {**fabric, 'node': qp['node'], 'device': qp['device'], 'program': qp['name'], 'pid': str(qp['pid']),
                  'qpn': f'0x{qp["qpn"]:06x}'}
        for name, value in qp['counters'].items():
            if name in ('xmit_packets', 'xmit_bytes', 'rcv_packets', 'rcv_bytes', 'retransmissions', 'rcvd_rnr_err'):
                yield f'rdmaemu_qp_{name}_total', labels, value
        yield 'rdmaemu_qp_info', {**labels, 'type': qp['type'], 'state': qp['state']}, 1
    for client in status['clients']:
        labels = {**fabric, 'node': client['node'], 'program': client['name'], 'pid': str(client['pid']),
                  'client': str(client['client'])}
        for name in ('qps', 'cqs', 'mrs', 'pds', 'objects'):
            yield f'rdmaemu_program_{name}', labels, client[name]


def main():
    found, types = samples(open_parser.text_string_to_metric_families(read(sys.argv[1])))
    text, text_types = samples(text_parser.text_string_to_metric_families(read(sys.argv[2])))
    check('the reference parser reads OpenMetrics', len(found) > 50, len(found))
    check('counters, gauges and infos are such', set(types.values()) == {'counter', 'gauge', 'info'}, types)
    check('both formats have the same samples', found.keys() == text.keys(), sorted(found.keys() ^ text.keys())[:10])
    check('the text format has types, too', set(text_types.values()) == {'counter', 'gauge'}, text_types)
    with open(sys.argv[3], encoding='utf-8') as f:
        status = json.load(f)
    missing = []
    for name, labels, value in wanted(status):
        if found.get((name, tuple(sorted(labels.items())))) != value:
            missing.append((name, labels, value))
    check('each number of the status is there', not missing, *missing[:10])
    hits = {dict(labels)['fault']: v for (name, labels), v in found.items() if name == 'rdmaemu_fault_hits_total'}
    check('hits of fault rules', hits == {'odd': 0, 'late': 0}, hits)
    sent = [v for (name, labels), v in found.items()
            if name == 'rdmaemu_port_xmit_packets_total' and dict(labels)['node'] == 'node0']
    check('packets were counted', len(sent) == 1 and sent[0] > 40, sent)
    sys.exit(failed)


main()
