# SPDX-License-Identifier: MIT
"""Checks a file in the Trace Event Format, in TAP lines, and counts its events.

usage: chrome_trace.py FILE[.gz] [TRACE-STAT-JSON]

Perfetto's own reader, trace_processor, is in neither Debian nor npm, so the rules here are written from the format's
document ("Trace Event Format") and from what Perfetto's documentation says of JSON traces, and they are stricter than
readers are (tests/lib/npm/trace.mjs is one, of Chromium's DevTools):

  - an object with traceEvents; each event has the members of its phase, with their types, and no others
  - slices (X) of a thread nest: of any two, one contains the other, or they do not overlap
  - async pairs (b, e): each id has one of both, of one category, name and process, in this order
  - flows (s, f): each id has one of both, in this order, each within a slice of its thread (f: bp=e)
  - counters (C) have numbers, instants (i) a scope, metadata (M) a name

With the output of `rdmaemu trace stat --json` the numbers of work requests and completions must be the same.
"""
import bisect
import collections
import decimal
import gzip
import json
import sys

ALWAYS = {'ph': str, 'pid': int, 'tid': int, 'ts': (int, decimal.Decimal), 'cat': str, 'name': str}
PHASES = {
    'X': {'dur': (int, decimal.Decimal), 'args': dict},
    'b': {'id': str, 'args': dict},
    'e': {'id': str, 'args': dict},
    's': {'id': str},
    'f': {'id': str, 'bp': str},
    'i': {'s': str},
    'C': {'args': dict},
    'M': {'args': dict},
}
OPTIONAL = {'i': {'args': dict}}
DEEPEST = 8
METADATA = {'process_name', 'thread_name', 'process_sort_index', 'thread_sort_index'}


def members_are_right(e):
    known = dict(ALWAYS, **PHASES.get(e.get('ph'), {}))
    optional = OPTIONAL.get(e.get('ph'), {})
    return e.get('ph') in PHASES and known.keys() <= e.keys() <= known.keys() | optional.keys() and all(
        isinstance(v, dict(known, **optional)[k]) and not isinstance(v, bool) for k, v in e.items())


def values_are_right(e):
    if e['ts'] < 0 or e.get('dur', 0) < 0:
        return False
    if e['ph'] == 'i':
        return e['s'] in ('g', 'p', 't')
    if e['ph'] == 'C':
        return bool(e['args']) and all(isinstance(v, (int, decimal.Decimal)) for v in e['args'].values())
    if e['ph'] == 'M':
        return e['name'] in METADATA and isinstance(e['args'].get('name'), str)
    return e['ph'] != 'f' or e['bp'] == 'e'


def badly_nested(slices):
    """The first slice of a thread that overlaps another one without being within it, or None."""
    stack = []
    for e in sorted(slices, key=lambda e: (e['ts'], -e['dur'])):
        while stack and stack[-1]['ts'] + stack[-1]['dur'] <= e['ts']:
            stack.pop()
        if stack and e['ts'] + e['dur'] > stack[-1]['ts'] + stack[-1]['dur']:
            return e
        stack.append(e)
    return None


def bad_pairs(events, first, second, key, same):
    """Ids that have not exactly one event of both phases, in this order, with equal members `same`."""
    groups = collections.defaultdict(lambda: ([], []))
    for e in events:
        if e['ph'] in (first, second):
            groups[key(e)][e['ph'] == second].append(e)
    return len(groups), [k for k, (a, b) in groups.items()
                         if len(a) != 1 or len(b) != 1 or a[0]['ts'] > b[0]['ts'] or same(a[0]) != same(b[0])]


def loose_ends(events, slices):
    """Ends of flows that are in no slice of their thread."""
    sorted_slices = {k: sorted(v, key=lambda e: e['ts']) for k, v in slices.items()}
    starts = {k: [e['ts'] for e in v] for k, v in sorted_slices.items()}
    found = []
    for e in events:
        if e['ph'] not in ('s', 'f'):
            continue
        thread = e['pid'], e['tid']
        after = bisect.bisect_right(starts.get(thread, []), e['ts'])
        # Slices nest, and calls nest a few levels deep.
        near = sorted_slices.get(thread, [])[max(0, after - DEEPEST):after]
        if not any(e['ts'] < s['ts'] + s['dur'] or e['ts'] == s['ts'] for s in near):
            found.append(e)
    return found


def check(name, good, why=''):
    print(f'{"ok" if good else "not ok"} {name}')
    if not good:
        print(f'# {why}')
    return bool(good)


def compare(events, stat):
    """With the counts of `trace stat --json`."""
    begun = sum(e['ph'] == 'b' for e in events)
    posted = sum(p['receives_posted'] + sum(p['work_requests'].values()) for p in stat)
    ended = collections.Counter(e['args']['status'] for e in events if e['ph'] == 'e')
    found = collections.Counter()
    for p in stat:
        found.update(p['completions_by_status'])
    own = collections.Counter({k: v for k, v in ended.items() if k.startswith('IBV_WC')})
    return all([check('each work request is a pair', begun == posted, f'{begun} pairs, {posted} posted'),
                check('each completion ends one', own == found, f'{own} ended, {found} found')])


def main():
    read = gzip.open if sys.argv[1].endswith('.gz') else open
    with read(sys.argv[1], 'rt', encoding='utf-8') as f:
        trace = json.load(f, parse_float=decimal.Decimal)
    good = check('an object with events', isinstance(trace, dict) and isinstance(trace.get('traceEvents'), list) and
                 trace.keys() <= {'traceEvents', 'displayTimeUnit', 'otherData'}, list(trace))
    events = trace['traceEvents']
    wrong = [e for e in events if not members_are_right(e)]
    good &= check('members of events', not wrong, wrong[:3])
    if not good:
        sys.exit(1)
    wrong = [e for e in events if not values_are_right(e)]
    good &= check('values of events', not wrong, wrong[:3])
    slices = collections.defaultdict(list)
    for e in events:
        if e['ph'] == 'X':
            slices[e['pid'], e['tid']].append(e)
    wrong = [e for e in map(badly_nested, slices.values()) if e]
    good &= check('slices of a thread nest', not wrong, wrong[:3])
    pairs, wrong = bad_pairs(events, 'b', 'e', lambda e: (e['pid'], e['cat'], e['id']), lambda e: e['name'])
    good &= check('async events are pairs', not wrong, wrong[:3])
    flows, wrong = bad_pairs(events, 's', 'f', lambda e: (e['cat'], e['id']), lambda e: e['name'])
    good &= check('flows have two ends', not wrong, wrong[:3])
    wrong = loose_ends(events, slices)
    good &= check('ends of flows are in slices', not wrong, wrong[:3])
    named = {(e['pid'], e['tid']) for e in events if e['ph'] == 'M' and e['name'] == 'thread_name'}
    wrong = {(e['pid'], e['tid']) for e in events if e['ph'] != 'M'} - named
    good &= check('each thread has a name', not wrong, wrong)
    if len(sys.argv) > 2:
        with open(sys.argv[2], encoding='utf-8') as f:
            good &= compare(events, json.load(f))
    print(f'# pairs {pairs} flows {flows} instants {sum(e["ph"] == "i" for e in events)}')
    sys.exit(not good)


if __name__ == '__main__':
    main()
