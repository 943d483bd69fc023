#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
Compares the output of random sequences of verbs calls with and without a layer between them and the library.

    sequences.py COUNT JOBS PLAIN LAYER PROGRAM DEVICE GID_INDEX QUIET_MS

PROGRAM is app_device_sequences. PLAIN and LAYER are the commands that run it, as words with blanks between; "{n}" in
them becomes the number of the process, of which JOBS run at once. A device may be too slow, or too busy, for a sequence
to be the same each time: one that differs is run again, without the layer and with it, until the two have the same
output once.
"""
import concurrent.futures
import difflib
import itertools
import subprocess
import sys

TRIES = 6
LIMIT = 3600
numbers = itertools.count(1)


def run(command, program, first, count):
    """The outputs of `count` sequences, by seed."""
    device = program[1:3]
    words = command.replace('{n}', str(next(numbers))).split() + program[:1] + device
    done = subprocess.run([*words, str(first), str(count), program[3]], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT, check=False)
    blocks = {}
    for block in done.stdout.split('sequence ')[1:]:
        seed, _, text = block.partition('\n')
        blocks[int(seed)] = text
    if done.returncode or len(blocks) != count:
        print(f'# {" ".join(words)}: status {done.returncode}, {len(blocks)} of {count} sequences')
        print('#', done.stderr[-500:])
    return blocks


def run_all(command, program, count, jobs):
    starts = range(1, count + 1, -(-count // jobs))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        parts = pool.map(lambda first: run(command, program, first, min(starts.step, count + 1 - first)), starts)
        return {seed: text for part in parts for seed, text in part.items()}


def differs(seed, plain, layered, commands, program):
    """Whether the sequence never is with the layer what it is without it."""
    outputs = {plain}, {layered}
    for _ in range(TRIES):
        for command, seen in zip(commands, outputs):
            seen.add(run(command, program, seed, 1).get(seed))
        if outputs[0] & outputs[1] - {None}:
            return False
    print(f'# sequence {seed}:')
    for line in list(difflib.unified_diff(plain.splitlines(), layered.splitlines(), 'plain', 'layer', lineterm=''))[:40]:
        print('#  ', line)
    return True


def main(count, jobs, plain_command, layer_command, *program):
    count, jobs, program = int(count), int(jobs), list(program)
    plain = run_all(plain_command, program, count, jobs)
    layer = run_all(layer_command, program, count, jobs)
    other = [seed for seed in plain if seed in layer and plain[seed] != layer[seed]]
    bad = [seed for seed in other if differs(seed, plain[seed], layer[seed], (plain_command, layer_command), program)]
    lines = sum(text.count('\n') for text in plain.values())
    good = sum(text.count(' status 0 ') for text in plain.values())
    print(f'# {len(plain)} and {len(layer)} sequences of {count}, {lines} lines, {good} completions without error; '
          f'{len(other)} differed, {len(bad)} in each of {TRIES} tries')
    return bool(bad) or len(plain) != count or len(layer) != count or not good


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
