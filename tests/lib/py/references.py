#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Finds references to files that do not exist, and prototypes under the section of another file.

usage: references.py [-a] [PATH...]      all tracked files, or those under PATH...; exits with 1 if it found something
       references.py --self-test

Looked for in docs, man pages and makefiles, and in the comments of C files and scripts:

    docs/README.md      starts with a folder of the top level: that path, or one that a pattern (*, [ch], {a,b}) matches
    join/mesh.c         any tracked path that ends with it
    mesh.c              any tracked file of that name

A header section `/* --- mesh.c, conn.c: what they do --- */` names the files that define the prototypes after it.
Files of others (verbs.h, rxe_resp.c) stand in FOREIGN.
"""
import fnmatch
import io
import os
import re
import subprocess
import sys
import tempfile
import tokenize

EXTENSIONS = 'c|h|t|py|sh|mk|md|map'

# Names of files of rdma-core, the kernel, libc and programs that are tested, and of examples.
FOREIGN = ('verbs.h', 'rdma_cma.h', 'rsocket.h', 'rdma/*.h', 'infiniband/*.h', 'linux/*.h', 'cm.c', 'cma.c', 'rxe_*.c', 'tag_matching.md',
           'test.c', '*NAME*', 'examples/rdmaemu-token')

# Paths that a build or a user makes.
MADE = ('build', )

TOKEN = re.compile(r'[\w.*?\[\]{},/+-]*[\w*\]}]')
COMMENT_C = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', re.S)
COMMENT_SH = re.compile(r'(?:^|(?<=\s))#[^\n]*')
SECTION = re.compile(r'^/\* -{2,}\s*([^*]*?)\s*-*\s*\*/')
PROTOTYPE = re.compile(r'^[a-z_][\w\s*]*?\b(\w+)\(')


def tracked():
    out = subprocess.run(['git', 'ls-files', '-z'], capture_output=True, text=True, check=True).stdout
    return [f for f in out.split('\0') if f and os.path.isfile(f)]


def read(path):
    with open(path, errors='replace') as f:
        return f.read()


def blank(text):
    """As many lines, and nothing on them."""
    return '\n' * text.count('\n')


def comments_of_c(text):
    """The text with all but its comments blanked."""
    kept, at = [], 0
    for m in COMMENT_C.finditer(text):
        kept.append(blank(text[at:m.start()]))
        kept.append(m.group() if m.group()[0] == '/' else blank(m.group()))
        at = m.end()
    return ''.join(kept) + blank(text[at:])


def comments_of_shell(text):
    return '\n'.join(' '.join(COMMENT_SH.findall(line)) for line in text.split('\n'))


def comments_of_python(text):
    """Its comments and docstrings: strings that are a statement."""
    lines = [''] * (text.count('\n') + 1)
    previous = None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        starts = previous in (None, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and starts):
            for number, line in enumerate(token.string.split('\n'), token.start[0] - 1):
                lines[number] += line
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            previous = token.type
    return '\n'.join(lines)


def prose_of(path):
    """The file with all but its prose blanked; None if it has none."""
    if path.endswith(('.c', '.h')):
        return comments_of_c(read(path))
    if path.endswith('.py'):
        return comments_of_python(read(path))
    if path.endswith(('.sh', '.t')) or path in ('tests/run', 'tests/bench/run', '.ci/run'):
        return comments_of_shell(read(path))
    if path.endswith(('.md', '.mk')) or path == 'Makefile' or re.match(r'man/.*\.\d$', path):
        return read(path).replace('\\-', '-')
    return None


def braces(pattern):
    m = re.search(r'\{([^{}]*,[^{}]*)\}', pattern)
    if not m:
        return [pattern]
    return [p for word in m.group(1).split(',') for p in braces(pattern[:m.start()] + word + pattern[m.end():])]


class Tree:
    def __init__(self, files):
        self.files = files
        self.names = {os.path.basename(f) for f in files}
        self.folders = {f[:i] for f in files for i in range(len(f)) if f[i] == '/'}
        self.tops = {f.split('/')[0] for f in self.folders}

    def exists(self, path):
        path = path.rstrip('/')
        if path in self.folders or path in self.files:
            return True
        if re.search(r'[*?\[]', path):
            return any(fnmatch.fnmatchcase(f, path) for f in (*self.files, *self.folders))
        return False

    def has_end(self, token):
        """Whether a tracked path is the token, or ends with it."""
        return self.exists(token) or any(f.endswith('/' + token) for f in self.files) or self.exists('*/' + token)

    def is_reference(self, token):
        """Whether the token is to name a file or a folder of the tree."""
        if token.startswith(('/', '.', '-')) or '//' in token or token.split('/')[0] in MADE:
            return False
        if token.split('/')[0] in self.tops and '/' in token:
            return True
        return bool(re.fullmatch(rf'[\w*\[\]/-]+\.(?:{EXTENSIONS}|\[[a-z]+\])', token))

    def is_stale(self, token):
        if not self.is_reference(token) or any(fnmatch.fnmatchcase(token, f) for f in FOREIGN):
            return False
        return not all(self.is_there(t) for t in braces(token))

    def is_there(self, token):
        if token.split('/')[0] in self.tops and '/' in token and self.exists(token):
            return True
        return self.has_end(token)


def tokens_of(line):
    """Words of a line that may be paths; not those of URLs, of includes in <>, and of options."""
    line = re.sub(r'\b\w+://\S*|<[\w/]+\.h>|\\f[BIRP]', ' ', line)
    for m in TOKEN.finditer(line):
        before, after = line[m.start() - 1:m.start()], line[m.end():m.end() + 1]
        tokens = [m.group()] if '{' in m.group() else m.group().split(',')
        if before not in ('/', '$', '~', '@', '%', '\\', '=', ')') and after not in ('$', '%') and m.group()[0] != '{':
            yield from (t.rstrip('.') for t in tokens if t)


def stale_in(tree, path):
    prose = prose_of(path)
    for number, line in enumerate((prose or '').split('\n'), 1):
        for token in tokens_of(line):
            if tree.is_stale(token):
                yield f'{path}:{number}: {token}: no such file'


def definitions(text):
    """Names of the functions that a C file defines, and of its variables."""
    names, head = set(), ''
    for line in text.split('\n'):
        if line.startswith('{'):
            # ERRNO_VERB(name, ...) and ERRNO_EXPORT() define a function with a macro.
            names.update(re.findall(r'\b(?:ERRNO_\w+\()?(\w+)[(,]', head)[:1])
            head = ''
        elif re.match(r'[a-zA-Z_]', line):
            head = line if not head or head.endswith((';', '}')) else head + ' ' + line
            if line.endswith((';', '}', '{')):
                names.update(re.findall(r'\b(\w+)(?:\[\w*\])*\s*=', line)[:1])
                head = ''
        elif head and line[:1] in ('\t', ' '):
            head += line
        else:
            head = ''
    return names


class Sections:
    """Header sections and what the files that they name define."""

    def __init__(self, tree):
        self.tree = tree
        self.by_name = {}
        for f in tree.files:
            if f.endswith(('.c', '.h')):
                self.by_name.setdefault(os.path.basename(f), []).append(f)
        self.cache = {}

    def defines(self, name, function):
        return any(function in self.definitions_of(f) for f in self.by_name.get(name, ()))

    def definitions_of(self, path):
        if path not in self.cache:
            self.cache[path] = definitions(read(path))
        return self.cache[path]

    def misplaced_in(self, header):
        named = None
        for number, line in enumerate(read(header).split('\n'), 1):
            m = SECTION.match(line)
            if m:
                named = [os.path.basename(f) for f in re.findall(r'[\w/]+\.[ch]', m.group(1))]
                continue
            m = PROTOTYPE.match(line)
            if not m or not named or line.startswith(('static', 'typedef', 'return', 'else')):
                continue
            if not any(self.defines(f, m.group(1)) for f in named):
                yield f'{header}:{number}: {m.group(1)}() is not defined in {", ".join(named)}'


def is_under(path, folders):
    return not folders or any(path == f or path.startswith(f.rstrip('/') + '/') for f in folders)


def find_all(folders):
    tree = Tree(tracked())
    sections = Sections(tree)
    for path in tree.files:
        if is_under(path, folders):
            yield from stale_in(tree, path)
            if path.endswith('.h'):
                yield from sections.misplaced_in(path)


SELF_TEST = {
    'low/a.c': '/* See low/a.h, a.h, low/[ab].c, low/gone.c, and gone.h. */\nint a_get(int x,\n\t  int y)\n{\n}\n',
    'low/a.h': '/* --- a.c --- */\nint a_get(int x, int y);\nint b_get(void);\n',
    'docs/x.md': '`low/a.{c,h}`, `low/*.c`, but not `low/a.{c,py}`, low/b_*.c or docs/y.md; https://x/docs/z.md, verbs/a.h\n',
}
SELF_TEST_FINDS = ['docs/x.md:1: low/a.{c,py}', 'docs/x.md:1: low/b_*.c', 'docs/x.md:1: docs/y.md',
                   'docs/x.md:1: verbs/a.h', 'low/a.c:1: low/gone.c', 'low/a.c:1: gone.h', 'low/a.h:3: b_get()']


def self_test():
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as top:
        os.chdir(top)
        for path, text in SELF_TEST.items():
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, 'w') as f:
                f.write(text)
        subprocess.run(['git', 'init', '-q'], check=True)
        subprocess.run(['git', 'add', '.'], check=True)
        found = list(find_all([]))
        os.chdir(here)
    good = len(found) == len(SELF_TEST_FINDS) and all(any(line.startswith(want) for line in found) for want in SELF_TEST_FINDS)
    print(f'{"ok" if good else "not ok"} the check of references notices what it is to notice')
    if not good:
        print(*(f'# {line}' for line in found), sep='\n')
    return not good


if __name__ == '__main__':
    if sys.argv[1:] == ['--self-test']:
        sys.exit(self_test())
    finds = list(find_all(sys.argv[1:]))
    print(*finds, sep='\n', end='\n' if finds else '')
    sys.exit(bool(finds))
