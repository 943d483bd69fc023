# SPDX-License-Identifier: MIT
"""README.md, docs/, man/ and the community files: their links, their form, and the commands that they show.

usage: docs_pages.py links TOP            check links, anchors, manual pages, paths and sizes
       docs_pages.py run TOP WORK PAGE... run the commands of code blocks; WORK is a directory for their files
       docs_pages.py ready PID            wait until a background command listens, or has ended

A reader can run each line of a code block (.EX to .EE in a manual page) that begins with "$ ". All lines of a block run
in one shell, in an empty state directory, and must exit with 0. A command in the background ends with "& sleep N": the
reader's next command finds it listening. On a machine that is slower than that the test waits until it does.
Comments on the line before a block say otherwise; a manual page's begin with .\\" instead of <!--:

    <!-- not run: REASON -->              nothing of this block runs
    <!-- fails: N[,N...]: REASON -->      its Nth commands exit with another status than 0
    <!-- output differs: REASON -->       the lines between the commands are not compared
    <!-- given: PATH[ PATH...] -->        files that the reader has, in the directory where the block runs
    <!-- file: NAME -->                   the block is a file that later blocks of the page have
    <!-- needs: NAME... -->               runs where these programs (or, with a slash, files) are installed, and must
                                          send packets through the device

Other lines are output: the block must print them, whatever their numbers are. An output line that ends with "..." is
the beginning of one; lines that begin with two blanks more than the first continue a wrapped line.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import time

COLUMNS = 120
README_LINES, README_WORDS = 150, 900
COMMENT = re.compile(r'(?:<!--|\.\\") (not run|fails|output differs|given|file|needs): (.*?)(?: -->|$)')
BACKGROUND = re.compile(r'&(?: sleep \d+)?\s*(?:#.*)?$')
LINK = re.compile(r'\[[^\]]*\]\(([^)\s]+)\)')
MANUAL = re.compile(r'\b(rdmaemu(?:-[a-z]+)?)\(([1-8])\)')
PATH = re.compile(r'`((?:docs|man|tests|examples|emulator|fabric|libshim|libctl|libtap|libdispatch|traces|profiles|include|mk)'
                  r'/[\w./-]*\w)(?:\([\w]*\))?`')
failed = 0


def report(name, faults):
    global failed
    print(('not ok ' if faults else 'ok ') + name)
    for fault in faults:
        print('#', fault)
    failed += bool(faults)
    sys.stdout.flush()


def lines_of(path):
    with open(path, encoding='utf-8') as f:
        return f.read().split('\n')


def pages(top):
    """All pages, by their path from the top."""
    found = glob.glob('*.md', root_dir=top) + glob.glob('docs/**/*.md', root_dir=top, recursive=True)
    return sorted(found)


def outside_blocks(lines):
    """Pairs of line number and line, without code blocks."""
    inside = False
    for number, line in enumerate(lines, 1):
        if line.startswith('```'):
            inside = not inside
        elif not inside:
            yield number, line


def links(lines):
    """Pairs of line number and target of a page's links; their texts may go over several lines."""
    text = dict(outside_blocks(lines))
    page = '\n'.join(text.get(number, '') for number in range(1, len(lines) + 1))
    for match in LINK.finditer(page):
        yield page.count('\n', 0, match.start()) + 1, match.group(1)


def anchors(lines):
    """The anchors of a page's headings, as GitHub makes them."""
    seen = {}
    for _, line in outside_blocks(lines):
        match = re.match(r'#+ +(.*)', line)
        if match:
            text = re.sub(r'\[([^\]]*)\]\([^)]*\)', r'\1', match.group(1)).replace('`', '')
            slug = re.sub(r'[^\w\- ]', '', text.strip().lower()).replace(' ', '-')
            n = seen[slug] = seen.get(slug, -1) + 1
            yield f'{slug}-{n}' if n else slug


def link_fault(top, page, target):
    """What is wrong with a link, or None."""
    if re.match(r'[a-z]+:', target):
        return None
    path, _, anchor = target.partition('#')
    to = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
    if to.startswith('..') or not os.path.exists(os.path.join(top, to)):
        return 'no such file'
    if anchor and anchor not in anchors(lines_of(os.path.join(top, to))):
        return f'{to} has no such heading'
    return None


def page_faults(top, page):
    lines = lines_of(os.path.join(top, page))
    for number, target in links(lines):
        fault = link_fault(top, page, target)
        if fault:
            yield f'{page}:{number}: link {target}: {fault}'
    for number, line in outside_blocks(lines):
        for name, section in MANUAL.findall(line):
            if not os.path.exists(os.path.join(top, 'man', f'{name}.{section}')):
                yield f'{page}:{number}: no such manual page: {name}({section})'
        for path in PATH.findall(line):
            if not glob.glob(os.path.join(top, path)):
                yield f'{page}:{number}: no such file: {path}'
        if len(line) > COLUMNS and not line.startswith('|'):
            yield f'{page}:{number}: {len(line)} columns, more than {COLUMNS}'
    if sum(line.startswith('```') for line in lines) % 2:
        yield f'{page}: a code block without end'
    for block in blocks(top, page):
        yield from block.faults()


def readme_faults(top):
    with open(os.path.join(top, 'README.md'), encoding='utf-8') as f:
        text = f.read()
    if text.count('\n') > README_LINES:
        yield f'{text.count(chr(10))} lines, more than {README_LINES}'
    if len(text.split()) > README_WORDS:
        yield f'{len(text.split())} words, more than {README_WORDS}'


def manual_faults(top, path):
    """A manual page's references to files and other manual pages, and its examples."""
    for block in blocks(top, path):
        yield from block.faults()
    with open(os.path.join(top, path), encoding='utf-8') as f:
        text = f.read().replace('\\-', '-')
    for name, section in re.findall(r'\b(rdmaemu(?:-[a-z]+)?) \(([1-8])\)', text):
        if not os.path.exists(os.path.join(top, 'man', f'{name}.{section}')):
            yield f'no such manual page: {name}({section})'
    for name in re.findall(r'\bdocs/[\w./-]*\.md', text):
        if not os.path.exists(os.path.join(top, name)):
            yield f'no such file: {name}'


def unreached(top):
    """Pages that no other page leads to, from README.md on."""
    seen, todo = set(), ['README.md']
    while todo:
        page = todo.pop()
        if page in seen or not page.endswith('.md') or not os.path.exists(os.path.join(top, page)):
            continue
        seen.add(page)
        for _, target in links(lines_of(os.path.join(top, page))):
            path = target.partition('#')[0]
            if path and not re.match(r'[a-z]+:', target):
                to = os.path.normpath(os.path.join(os.path.dirname(page), path))
                todo.append(os.path.join(to, 'README.md') if os.path.isdir(os.path.join(top, to)) else to)
    return [f'no page leads to {page}' for page in pages(top) if page not in seen]


class Block:
    """A code block that shows commands."""

    def __init__(self, page, number, marks):
        self.page, self.number = page, number
        self.marks = dict(marks)
        self.lines = []
        self.commands = []
        self.output = []

    def add(self, line):
        self.lines.append(line)
        if self.commands and self.commands[-1].endswith('\\'):
            self.commands[-1] = self.commands[-1][:-1] + line.strip()
        elif line.startswith('$ '):
            self.commands.append(line[2:].rstrip())
        elif self.commands and line.strip():
            self.output.append(line)

    def faults(self):
        for mark, reason in self.marks.items():
            if len(reason) < 8 and mark not in ('given', 'file', 'needs'):
                yield f'{self.page}:{self.number}: "{mark}" needs a reason'
        for command in self.commands if 'not run' not in self.marks else []:
            if BACKGROUND.search(command) and not re.search('& sleep', command):
                yield f'{self.page}:{self.number}: {command}: expected "& sleep 1", or the next command is too early'

    def absent(self):
        """What it needs and this machine lacks."""
        return [name for name in self.marks.get('needs', '').split()
                if not (os.path.exists(name) if '/' in name else shutil.which(name))]

    def failing(self):
        return [int(n) for n in self.marks.get('fails', '').partition(':')[0].split(',') if n.strip()]

    def script(self):
        tool = f'python3 {os.path.abspath(__file__)} ready'
        text = []
        for n, command in enumerate(self.commands, 1):
            shown = command.replace("'", "'\\''")
            text.append(command)
            if BACKGROUND.search(command):
                text.append(f'{tool} $!')
            else:
                test = '=' if n in self.failing() else '!='
                text.append(f"status=$?; [ $status {test} 0 ] && {{ echo '>>> {shown}: status '$status >&2; exit 99; }}")
        return '\n'.join(text) + '\nexit 0\n'

    def missing(self, printed):
        """Output that the page shows and that was not printed."""
        if 'output differs' in self.marks:
            return []
        wanted = []
        for line in self.output:
            if wanted and line.startswith('  ') and not wanted[-1].startswith('  '):
                wanted[-1] += ' ' + line.strip()
            else:
                wanted.append(line)
        have = plain(printed)
        return [line for line in wanted if plain(line.removesuffix('...')) not in have]


def plain(text):
    """Text without its numbers and spacing."""
    text = re.sub(r'\b0x[0-9a-f]+\b|\b[0-9a-f]{16}\b|\b[0-9a-f]{4}(:[0-9a-f]{4}){3}\b', 'N', text)
    return re.sub(r'\s+', ' ', re.sub(r'[-+]?\d+(\.\d+)*', 'N', text)).strip()


def block_ends(page, line):
    """Whether a line begins or ends a block: 'both', 'begin', 'end' or None."""
    if not page.startswith('man/'):
        return 'both' if line.startswith('```') else None
    return {'.EX': 'begin', '.EE': 'end'}.get(line.strip())


def unescaped(page, line):
    """A line of an example as the reader sees it."""
    if not page.startswith('man/'):
        return line
    return line.replace('\\-', '-').replace('\\&', '').replace('\\(aq', "'").replace('\\e', '\\')


def blocks(top, page):
    """The blocks of a page that have commands, or are files."""
    block, marks = None, []
    for number, line in enumerate(lines_of(os.path.join(top, page)), 1):
        end = block_ends(page, line)
        if end and block is None and end != 'end':
            block = Block(page, number, marks)
        elif end and block:
            if block.commands or 'file' in block.marks:
                yield block
            block, marks = None, []
        elif block is not None:
            block.add(unescaped(page, line))
        elif COMMENT.search(line):
            marks += COMMENT.findall(line)
        elif line.strip():
            marks = []


def run_block(block, top, work, files):
    """What went wrong when its commands ran. files: other blocks, by the names of files that they are."""
    place = os.path.join(work, f'{os.path.basename(block.page)}.{block.number}')
    os.makedirs(place)
    for name in ('examples', 'profiles', 'tests', 'traces'):
        os.symlink(os.path.join(top, name), os.path.join(place, name))
    for path in block.marks.get('given', '').split():
        os.symlink(os.path.join(top, path), os.path.join(place, os.path.basename(path)))
    for name, other in files.items():
        with open(os.path.join(place, name), 'w') as f:
            f.write('\n'.join(other.lines) + '\n')
    # Where packets are counted at the end, the fabric must still be there then.
    env = dict(os.environ, RDMAEMU_DIR=os.path.join(place, 'state'),
               RDMAEMU_LINGER='60000' if 'needs' in block.marks else '100')
    limit = int(os.environ.get('LIMIT', '120'))
    with open(os.path.join(place, 'output'), 'wb') as out:
        shell = subprocess.Popen(['bash', '-c', block.script()], cwd=place, env=env, stdin=subprocess.DEVNULL,
                                 stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = shell.wait(limit)
        except subprocess.TimeoutExpired:
            status = None
        settle(shell.pid)
        sent = packets_sent(env['RDMAEMU_DIR'])
        stop_fabrics(env['RDMAEMU_DIR'])
    with open(os.path.join(place, 'output'), errors='replace') as f:
        printed = f.read()
    faults = []
    if status is None:
        faults = [f'not done in {limit} s']
    elif status != 0:
        faults = [f'status {status}']
    elif block.missing(printed):
        faults = [f'not printed: {line}' for line in block.missing(printed)]
    elif 'needs' in block.marks and not sent:
        faults = ['no packet passed the device']
    return faults + (printed.split('\n')[-40:] if faults else [])


def session(sid):
    """The processes of a session."""
    found = []
    for stat in glob.glob('/proc/[0-9]*/stat'):
        try:
            with open(stat, errors='replace') as f:
                fields = f.read().rpartition(')')[2].split()
        except OSError:
            continue
        if int(fields[3]) == sid and fields[0] != 'Z':
            found.append(int(stat.split('/')[2]))
    return found


def settle(sid):
    """Let background commands come to their end, then end those that do not."""
    for n in range(100):
        left = session(sid)
        if not left:
            return
        if n == 50:
            for pid in left:
                try:
                    os.kill(pid, 15)
                except ProcessLookupError:
                    pass
        time.sleep(0.04)
    for pid in session(sid):
        try:
            os.kill(pid, 9)
        except ProcessLookupError:
            pass


def fabrics(state):
    """The names of the fabrics that run there."""
    return [os.path.basename(sock)[:-len('.sock')] for sock in glob.glob(os.path.join(state, '*.sock'))]


def packets_sent(state):
    """How many packets all ports of all fabrics have sent."""
    total = 0
    for name in fabrics(state):
        out = subprocess.run(['rdmaemu', 'status', '--json', '--dir', state, '--fabric', name], timeout=60,
                             capture_output=True, text=True)
        try:
            devices = json.loads(out.stdout).get('devices', [])
        except ValueError:
            continue
        total += sum(port['counters'].get('xmit_packets', 0) for device in devices for port in device['ports'])
    return total


def stop_fabrics(state):
    for name in fabrics(state):
        subprocess.run(['rdmaemu', 'fabric', 'stop', '--dir', state, '--fabric', name], timeout=60,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def listening_sockets():
    for path in ('/proc/net/tcp', '/proc/net/tcp6'):
        try:
            rows = lines_of(path)[1:]
        except OSError:
            continue
        yield from (row.split()[9] for row in rows if row and row.split()[3] == '0A')


def listens(pid):
    """Whether a process listens on a TCP port or a port of the rdma_cm."""
    inodes = set(listening_sockets())
    for fd in glob.glob(f'/proc/{pid}/fd/*'):
        try:
            match = re.fullmatch(r'socket:\[(\d+)\]', os.readlink(fd))
        except OSError:
            continue
        if match and match.group(1) in inodes:
            return True
    out = subprocess.run(['rdmaemu', 'status', '--json'], capture_output=True, text=True, timeout=60)
    try:
        ids = json.loads(out.stdout).get('ids', [])
    except ValueError:
        return False
    return any(i.get('pid') == pid and i.get('state', '').upper().startswith('LISTEN') for i in ids)


def ready(pid):
    """Wait up to 3 s: a client in the background does not listen."""
    for _ in range(60):
        if not os.path.exists(f'/proc/{pid}') or listens(pid):
            return
        time.sleep(0.05)


def main():
    verb, args = sys.argv[1], sys.argv[2:]
    if verb == 'ready':
        ready(int(args[0]))
        return
    top = args[0]
    if verb == 'links':
        for page in pages(top):
            report(page, list(page_faults(top, page)))
        for path in sorted(glob.glob('man/*.[1-8]', root_dir=top)):
            report(path, list(manual_faults(top, path)))
        report('README.md is short', list(readme_faults(top)))
        report('README.md leads to all pages', unreached(top))
    else:
        for page in args[2:]:
            files = {}
            for block in blocks(top, page):
                title = f'{page}:{block.number}: {(block.commands or [""])[0]}'
                if 'file' in block.marks:
                    files[block.marks['file']] = block
                elif block.absent():
                    print(f'ok {title} # SKIP not installed: {" ".join(block.absent())}')
                elif 'not run' not in block.marks:
                    report(title, list(block.faults()) or run_block(block, top, args[1], files))
    sys.exit(failed != 0)


main()
