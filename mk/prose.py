#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks prose by the word list mk/prose.words, the length of lines, and the form of SPDX lines.

usage: prose.py [-c] [PATH...]     all tracked files, or those under PATH...; exits with 1 if it found something
                                   -c: the number of finds by folder instead
       prose.py --self-test

It reads of each file:

    .c .h               comments and strings
    .sh .t .py          comments, docstrings and strings
    makefiles, .conf    comments
    .md, man pages      all but code blocks and `code`

Text of others that a file quotes stands in mk/prose.allow, a line each: PATH-PATTERN<TAB>TEXT. It is ignored there.

Lines: at most 100 columns for a comment of C, 120 for a script's and for a line of docs/ and README.md that is not a
table's or a code block's. A tab is 8 columns.
"""
import bisect
import collections
import fnmatch
import os
import re
import subprocess
import sys

SPDX_C = '/* SPDX-License-Identifier: MIT */'
SPDX_SH = '# SPDX-License-Identifier: MIT'
HERE = os.path.dirname(os.path.abspath(__file__))

C_PIECE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"(?:\s*"(?:\\.|[^"\\\n])*")*|\'(?:\\.|[^\'\\\n])*\'', re.S)
PY_PIECE = re.compile(r'"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|(?:^[ \t]*#[^\n]*\n)+|#[^\n]*', re.S | re.M)
SH_PIECE = re.compile(r'(?:^[ \t]*#[^\n]*\n)+|(?<=[\s;])#[ \t][^\n]*|"(?:\\.|[^"\\])*"|\'[^\']*\'', re.M)
MK_PIECE = re.compile(r'(?:^[ \t]*#[^\n]*\n)+|(?<=\s)#[ \t][^\n]*', re.M)
PARAGRAPH = re.compile(r'\n[ \t]*(?:\n[ \t]*)+|\n(?=[ \t]*(?:[-*|]|\d+\.) )|\n(?=[ \t]+@)')
SENTENCE = re.compile(r'(?<=[.!?])[)"]*\s+')


def git_files():
    out = subprocess.run(['git', 'ls-files', '-z'], capture_output=True, text=True, check=True).stdout
    return [f for f in out.split('\0') if f and os.path.isfile(f)]


def read(path):
    with open(path, errors='replace') as f:
        return f.read()


def blanked(text):
    """As long, and on as many lines, but empty."""
    return re.sub(r'[^\n]', ' ', text)


def kind_of(path):
    name = os.path.basename(path)
    if path.startswith('tests/data/'):
        return None
    if path.endswith(('.c', '.h')):
        return 'c'
    if path.endswith('.py'):
        return 'py'
    if path.endswith(('.sh', '.t')) or name == 'run' or name.endswith('.bash'):
        return 'sh'
    if path.endswith(('.mk', '.conf', '.words')) or name == 'Makefile':
        return 'mk'
    if path.endswith('.md'):
        return 'md'
    if re.match(r'man/.*\.\d$', path):
        return 'man'
    return None


def without_marks_c(text):
    """A comment or a string of C without what frames its lines, at the same offsets."""
    if text.startswith('"'):
        return re.sub(r'"\s*"|^"|"$', lambda m: blanked(m.group()).replace('\n', ' '), text.replace('\\n', '\n '))
    text = re.sub(r'^/\*+|\*+/$|^//', lambda m: ' ' * len(m.group()), text)
    return re.sub(r'^(\s*)\*', r'\1 ', text, flags=re.M)


def without_marks_script(text):
    return re.sub(r'^([ \t]*)#', r'\1 ', text, flags=re.M)


def pieces_md(text):
    text = re.sub(r'^```.*?^```', lambda m: blanked(m.group()), text, flags=re.S | re.M)
    text = re.sub(r'`[^`\n]*`', lambda m: '`' * len(m.group()), text)
    yield 0, re.sub(r'^(?: {4}|\t).*', lambda m: blanked(m.group()), text, flags=re.M)


def pieces_man(text):
    text = re.sub(r'^\.(?:nf|EX)\b.*?^\.(?:fi|EE)\b', lambda m: blanked(m.group()), text, flags=re.S | re.M)
    text = re.sub(r'^\.(?:TP|PP|IP|SH|SS|RS|RE|br|P|\\")\b.*', lambda m: '', text, flags=re.M)
    yield 0, re.sub(r'^\.(?:B|I|BR|IR|RB|BI|IB|RI)\b|\\f[BIRP]', lambda m: ' ' * len(m.group()), text, flags=re.M)


def pieces(path, text):
    """(offset, text) of each comment, string, or page."""
    kind = kind_of(path)
    if kind == 'md':
        yield from pieces_md(text)
    elif kind == 'man':
        yield from pieces_man(text)
    elif kind == 'c':
        for m in C_PIECE.finditer(text):
            if m.group()[0] != "'":
                yield m.start(), without_marks_c(m.group())
    elif kind:
        for m in {'py': PY_PIECE, 'sh': SH_PIECE, 'mk': MK_PIECE}[kind].finditer(text):
            yield m.start(), without_marks_script(m.group())


def spans(text, separator):
    at = 0
    for m in separator.finditer(text):
        yield at, text[at:m.start()]
        at = m.end()
    yield at, text[at:]


def sentences(text):
    """(offset, sentence), without white space in front."""
    for paragraph_at, paragraph in spans(text, PARAGRAPH):
        for at, sentence in spans(paragraph, SENTENCE):
            stripped = sentence.lstrip(' \t\n-*')
            if stripped:
                yield paragraph_at + at + len(sentence) - len(stripped), stripped


class Words:
    """The word list."""

    def __init__(self, text):
        self.rules = []
        for line in text.split('\n'):
            if line and not line.startswith('#'):
                pattern, _, instead = line.partition('\t')
                # `^` is the start of a sentence, and cannot be without its capital.
                flags = 0 if pattern.startswith('^') else re.I
                self.rules.append((re.compile(pattern.replace(' ', r'\s+'), flags), instead))
        self.any = re.compile('|'.join(f'(?i:{r.pattern.lstrip("^")})' for r, _ in self.rules))

    def finds(self, sentence):
        if self.any.search(sentence):
            for rule, instead in self.rules:
                for m in rule.finditer(sentence):
                    yield m.start(), ' '.join(m.group().split())[:50], instead


class Allow:
    """Foreign text that files quote."""

    def __init__(self, text):
        self.rows = [line.split('\t', 1) for line in text.split('\n') if '\t' in line and not line.startswith('#')]

    def remove(self, path, text):
        for pattern, quoted in self.rows:
            if fnmatch.fnmatchcase(path, pattern):
                text = text.replace(quoted, '_' * len(quoted))
        return text


def word_finds(path, text, words):
    starts = [m.end() for m in re.finditer('\n', text)]
    for at, piece in pieces(path, text):
        for sentence_at, sentence in sentences(piece):
            for find_at, found, instead in words.finds(sentence):
                line = bisect.bisect_right(starts, at + sentence_at + find_at) + 1
                yield line, f'"{found}": write {instead}'


def width(line):
    return len(line.expandtabs(8))


def long_lines(path, text):
    kind, fenced = kind_of(path), False
    for number, line in enumerate(text.split('\n'), 1):
        if kind == 'c' and width(line) > 100 and re.match(r'\s*(/\*|\*|//)', line):
            yield number, f'a comment of {width(line)} columns: at most 100'
        if kind in ('sh', 'py', 'mk') and width(line) > 120 and re.match(r'\s*#', line):
            yield number, f'a comment of {width(line)} columns: at most 120'
        if kind == 'md':
            fenced ^= line.startswith('```')
            if width(line) > 120 and not fenced and not line.lstrip().startswith('|') and ' ' in line.strip():
                yield number, f'a line of {width(line)} columns: at most 120'


def spdx_form(path, text):
    kind, lines = kind_of(path), text.split('\n', 2)
    if kind == 'c' and lines[0] != SPDX_C:
        yield 1, f'the first line is not {SPDX_C}'
    if kind in ('py', 'sh', 'mk') and SPDX_SH not in lines[:2]:
        yield 1, f'neither of the first two lines is {SPDX_SH}'


def find_all(path, words, allow):
    if not kind_of(path):
        return
    text = read(path)
    finds = [*word_finds(path, allow.remove(path, text), words), *long_lines(path, text), *spdx_form(path, text)]
    for line, what in sorted(finds):
        yield f'{path}:{line}: {what}'


def is_under(path, folders):
    return not folders or any(path == f or path.startswith(f.rstrip('/') + '/') for f in folders)


def list_of(name):
    path = os.path.join(HERE, name)
    return read(path) if os.path.exists(path) else ''


SELF_TEST = [
    ('a.c', 'int x; /* A packet\n * is waited\n * for. */\n', ['2: "is waited for"']),
    ('a.c', 'puts("it is " "waited for"); is_waited_for();\n', ['1: "is waited for"']),
    ('a.c', '/* The end. Of errors the latest are kept. One of errors. */\n', ['1: "Of errors"']),
    ('a.md', 'Text.\n\n```\nthat there are\n```\n`that there are`: words that there\nare\n', ['6: "that there are"']),
    ('a.t', '# one\n# is waited\n# for\nok "that there are" # y\n', ['2: "is waited for"', '4: "that there are"']),
    ('a.py', '"""What\nis waited for"""\n', ['2: "is waited for"']),
    ('man/a.1', '.B is\nwaited\n.I for\n', ['1: "is waited for"']),
]


def self_test():
    words = Words('\\bis waited for\\b\tx\n\\bthat there are\\b\ty\n^Of errors\\b\tz\n')
    failed = []
    for path, text, wanted in SELF_TEST:
        found = [f'{line}: {what}' for line, what in word_finds(path, text, words)]
        if len(found) != len(wanted) or any(not f.startswith(w) for f, w in zip(found, wanted)):
            failed += [f'{path}: {text!r}', f'  found {found}', f'  not   {wanted}']
    long = list(long_lines('a.c', '/* ' + 'x' * 98 + '\nint ' + 'x' * 200 + '\n'))
    spdx = list(spdx_form('a.h', '// SPDX-License-Identifier: MIT\n'))
    if [n for n, _ in long + spdx] != [1, 1]:
        failed.append(f'lines: {long} {spdx}')
    print(f'{"not ok" if failed else "ok"} the check of prose notices what it is to notice')
    for line in failed:
        print(f'# {line}')
    return bool(failed)


def main(args):
    words, allow = Words(list_of('prose.words')), Allow(list_of('prose.allow'))
    count = args[:1] == ['-c']
    folders = args[1:] if count else args
    finds = [f for path in git_files() if is_under(path, folders) for f in find_all(path, words, allow)]
    if count:
        by_folder = collections.Counter(os.path.dirname(f.split(':')[0]) or '.' for f in finds)
        finds = [f'{n:6} {folder}' for folder, n in sorted(by_folder.items())]
    for line in finds:
        print(line)
    return bool(finds)


if __name__ == '__main__':
    sys.exit(self_test() if sys.argv[1:] == ['--self-test'] else main(sys.argv[1:]))
