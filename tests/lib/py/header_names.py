#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the page about newer rdma-core with the names that its headers declare.

usage: header_names.py print HEADER...          the public names of headers, one per line
       header_names.py check PAGE OLD NEW [HEADER...]

OLD is a list of the names that rdma-core 44 has, NEW of those that came later, both made with `print`. The page must
name each of NEW: as it is, or by a pattern (`IBV_REG_MR_MASK_*`). Each such name on the page must be in a list, and each
name that a HEADER declares: a header that is newer than the lists has names that neither the lists nor the page know.

Names are functions, macros and enum constants. Types are left out: functions take them.
"""
import fnmatch
import re
import sys

NAME = re.compile(r'\b_?(?:ibv|IBV|rdma|RDMA|RAI|repoll)_\w+')
TYPE = re.compile(r'\b(?:struct|union|enum)\s+(\w+)')
CODE = re.compile(r'`([^`\n]+)`')
WORD = re.compile(r'(?<![\w/<*])(?<!struct )(?:_?(?:ibv|IBV|rdma|RDMA|RAI|repoll)_)[\w*]+(?![\w*.])')
# Commands and files of the page that are called like functions of the headers.
PROGRAMS = re.compile(r'_pingpong$|^rdma_cma$|^ibv_devinfo$')


def read(path):
    with open(path, encoding='utf-8') as f:
        return f.read()


def header_names(text):
    text = re.sub(r'/\*.*?\*/|//[^\n]*', ' ', text, flags=re.S)
    types = set(TYPE.findall(text))
    guards = set(re.findall(r'#ifndef\s+(\w+_H)\b', text))
    return set(NAME.findall(text)) - types - guards


def page_words(text):
    """What the page says in code spans, and in blocks of code."""
    blocks = '\n'.join(line for line in text.splitlines() if line.startswith('\t'))
    return {w for span in CODE.findall(text) + [blocks] for w in WORD.findall(span) if not PROGRAMS.search(w)}


def check(page, old, new, headers):
    words = page_words(read(page))
    old, new = set(read(old).split()), set(read(new).split())
    found = {h: header_names(read(h)) - old - new for h in headers}
    faults = [f'{page} does not name {n}' for n in sorted(new)
              if not any(fnmatch.fnmatchcase(n, w) for w in words)]
    faults += [f'{page} names {w}, which no header declares' for w in sorted(words)
               if not fnmatch.filter(new | old, w)]
    faults += [f'{h} declares {n}, which the lists lack' for h in headers for n in sorted(found[h])]
    for fault in faults:
        print(f'not ok {fault}')
    if not faults:
        print(f'ok the page names all {len(new)} names, and {len(headers)} installed headers have no others')
    return not faults


if __name__ == '__main__':
    if len(sys.argv) > 2 and sys.argv[1] == 'print':
        print('\n'.join(sorted(set().union(*(header_names(read(h)) for h in sys.argv[2:])))))
    elif len(sys.argv) > 4 and sys.argv[1] == 'check':
        sys.exit(not check(*sys.argv[2:5], sys.argv[5:]))
    else:
        sys.exit(__doc__.split('\n\n')[1])
