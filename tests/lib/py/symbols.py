#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks which folder's objects use which other folder's symbols, and that no files need each other in a circle.

usage: symbols.py TABLE OBJ-FOLDER     prints a TAP line per check; exits with 1 if one failed
       symbols.py --arrows OBJ-FOLDER  prints the arrows between folders as they are, as lines of a table
       symbols.py --self-test          checks that the checks can fail; needs a C compiler

Run it at the top of the tree: objects whose source is gone, which an older build left, do not count.

An include table (tests/e2e/tree/layering.t) does not see a function that is declared in a shared header and defined in a folder
that its caller must not know. The object files do: an undefined symbol of one that another defines is an arrow.

TABLE has a line per folder, and two limits:

    FOLDER: FOLDER...       objects of the first may use symbols of the others, and of their own folder; rows add up
    FOLDER: *               ... of all
    circle FILES            the largest number of files that may need each other in a circle
    across FILES            the largest such number for files of several folders (1: no circle crosses folders)

A symbol that several objects define, or that libc, libibverbs or librdmacm export (the shim interposes those), makes
an arrow only within its top folder (but APART): elsewhere nm cannot tell which definition the linker takes.
"""
import collections
import glob
import os
import subprocess
import sys
import tempfile


def nm(*words):
    return subprocess.run(['nm', *words], capture_output=True, text=True, check=False).stdout.splitlines()


def exported_by_libraries():
    names = set()
    for lib in ('libc.so.6', 'libibverbs.so.1', 'librdmacm.so.1'):
        for path in glob.glob(f'/lib/*-linux-gnu/{lib}')[:1] or glob.glob(f'/usr/lib*/{lib}')[:1]:
            names.update(line.split()[-1].split('@')[0] for line in nm('-D', '--defined-only', path))
    return names


def folder_of(obj):
    return os.path.dirname(obj)


# Folders within a top folder that no program links together.
APART = ('traces/record', 'traces/replay')


def top_of(obj):
    return folder_of(obj) if folder_of(obj) in APART else obj.split('/')[0]


class Build:
    """The objects under a folder, and for each the objects it uses, with the symbols."""

    def __init__(self, root, sources='.'):
        self.objects = sorted(o for o in objects_under(root) if '/' in o and not o.startswith('tests/')
                              and os.path.exists(os.path.join(sources, o[:-1] + 'c')))
        self.defined = collections.defaultdict(set)
        self.needed = {obj: set() for obj in self.objects}
        self.read_symbols(root)
        self.foreign = exported_by_libraries()
        self.uses = {obj: self.uses_of(obj) for obj in self.objects}

    def read_symbols(self, root):
        if not self.objects:
            return
        for line in nm('-A', *[os.path.join(root, obj) for obj in self.objects]):
            path, _, symbol = line.partition(':')
            obj = os.path.relpath(path, root)
            kind, name = symbol.split()[-2:]
            if kind in 'TDBRVW':
                self.defined[name].add(obj)
            elif kind == 'U':
                self.needed[obj].add(name)

    def uses_of(self, obj):
        """{used object: [symbols]}"""
        uses = collections.defaultdict(list)
        for name in sorted(self.needed[obj]):
            for maker in self.makers(obj, name) - {obj}:
                uses[maker].append(name)
        return uses

    def makers(self, obj, name):
        makers = self.defined.get(name, set())
        own = {m for m in makers if top_of(m) == top_of(obj)}
        if own or len(makers) != 1 or name in self.foreign:
            return own
        return makers

    def arrows(self):
        """{(folder, used folder): [(object, used object, symbol)]}"""
        arrows = collections.defaultdict(list)
        for obj in self.objects:
            for used, names in self.uses[obj].items():
                if folder_of(used) != folder_of(obj):
                    arrows[folder_of(obj), folder_of(used)] += [(obj, used, name) for name in names]
        return arrows

    def circles(self):
        """Tarjan's strongly connected components of more than one object, without recursion."""
        order, low, stack, found = {}, {}, [], []
        for start in self.objects:
            if start not in order:
                self.circles_from(start, order, low, stack, found)
        return sorted(found, key=len, reverse=True)

    def circles_from(self, start, order, low, stack, found):
        def enter(obj):
            order[obj] = low[obj] = len(order)
            stack.append(obj)
            return obj, iter(sorted(self.uses[obj]))

        work = [enter(start)]
        while work:
            obj, rest = work[-1]
            used = next(rest, None)
            if used is not None:
                if used not in order:
                    work.append(enter(used))
                elif used in stack:
                    low[obj] = min(low[obj], order[used])
                continue
            work.pop()
            if work:
                low[work[-1][0]] = min(low[work[-1][0]], low[obj])
            if low[obj] == order[obj]:
                members = stack[stack.index(obj):]
                del stack[stack.index(obj):]
                if len(members) > 1:
                    found.append(sorted(members))


def objects_under(root):
    for path, _, names in os.walk(root):
        for name in names:
            if name.endswith('.o'):
                yield os.path.relpath(os.path.join(path, name), root)


def read_table(text):
    allowed, limits = {}, {'circle': 0, 'across': 1}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split('#')[0].strip()
        if not line:
            continue
        word, colon, rest = line.partition(':')
        if colon:
            allowed.setdefault(word.strip(), set()).update(rest.split())
        elif line.split()[0] in limits:
            limits[line.split()[0]] = int(line.split()[1])
        else:
            sys.exit(f'symbols.py: line {number} of the table is neither a folder nor a limit: {line}')
    return allowed, limits


def forbidden(build, allowed):
    """A line for each arrow that the table does not have."""
    lines = []
    for (folder, used), symbols in sorted(build.arrows().items()):
        if not {used, '*'} & allowed.get(folder, set()):
            lines.append(f'{folder} uses {used}, which the table does not allow:')
            lines += [f'  {obj} needs {name}() of {maker}' for obj, maker, name in symbols]
    return lines


def missing_rows(build, allowed):
    folders = {folder_of(o) for o in build.objects}
    return [f'no row for the folder {f}' for f in sorted(folders - set(allowed))] + [
        f'a row for {f}, which has no objects' for f in sorted(set(allowed) - folders)]


def circle_text(build, members):
    """The circle's files, each with one other that it needs and the symbol."""
    lines = []
    for obj in members:
        for used in sorted(set(members) & set(build.uses[obj])):
            lines.append(f'  {obj} needs {build.uses[obj][used][0]}() of {used}')
    return [f'{len(members)} files: {" ".join(members)}', *lines]


def too_large(build, limit, crossing):
    lines = []
    for members in build.circles():
        crosses = len({folder_of(m) for m in members}) > 1
        if len(members) > limit and crosses >= crossing:
            lines += circle_text(build, members)
    return lines


def checks(build, allowed, limits):
    """(name, lines that say what is wrong)"""
    across = limits['across']
    return [
        ('each folder has a row in the table of symbols', missing_rows(build, allowed)),
        ('no folder uses a symbol of one that the table does not allow', forbidden(build, allowed)),
        (f'no circle of more than {limits["circle"]} files', too_large(build, limits['circle'], False)),
        ('no circle crosses folders' if across == 1 else f'no circle of more than {across} files crosses folders',
         too_large(build, across, True)),
    ]


def check_table(table, root):
    build = Build(root)
    if not build.objects:
        sys.exit(f'symbols.py: no objects under {root}: build first')
    failed = False
    with open(table) as f:
        allowed, limits = read_table(f.read())
    for name, wrong in checks(build, allowed, limits):
        print(f'{"not ok" if wrong else "ok"} {name}')
        for line in wrong[:60]:
            print(f'# {line}')
        failed = failed or bool(wrong)
    return failed


def print_arrows(root):
    rows = collections.defaultdict(set)
    build = Build(root)
    for obj in build.objects:
        rows.setdefault(folder_of(obj), set())
    for folder, used in build.arrows():
        rows[folder].add(used)
    for folder in sorted(rows):
        print(f'{folder}: {" ".join(sorted(rows[folder]))}'.rstrip())


# Three files in two folders: a and b of `low` need each other; b needs c of `high`, which needs a.
SELF_TEST = {
    'low/a.c': 'int b_get(void); int a_get(void) { return b_get(); }',
    'low/b.c': 'int a_get(void); int c_get(void); int b_get(void) { return a_get() + c_get(); }',
    'high/c.c': 'int a_get(void); int c_get(void) { return a_get(); }',
}


def self_test():
    with tempfile.TemporaryDirectory() as top:
        for path, text in SELF_TEST.items():
            os.makedirs(os.path.join(top, folder_of(path)), exist_ok=True)
            with open(os.path.join(top, path), 'w') as f:
                f.write(text)
            subprocess.run([*os.environ.get('CC', 'cc').split(), '-c', '-o', os.path.join(top, path[:-1] + 'o'),
                            os.path.join(top, path)], check=True)
        build = Build(top, top)
        found = [bool(wrong) for table in ('low: high\nhigh: low\ncircle 3\nacross 3', 'high: low\ncircle 2\nacross 2')
                 for _, wrong in checks(build, *read_table(table))]
        symbols = any('b.o needs c_get() of high/c.o' in line for line in forbidden(build, {'high': {'low'}}))
    good = found == [False] * 4 + [True] * 4 and symbols
    print(f'{"ok" if good else "not ok"} the checks of symbols notice what they are to notice')
    return not good


if __name__ == '__main__':
    if sys.argv[1:] == ['--self-test']:
        sys.exit(self_test())
    if len(sys.argv) == 3:
        sys.exit(print_arrows(sys.argv[2]) if sys.argv[1] == '--arrows' else check_table(*sys.argv[1:]))
    sys.exit(__doc__)
