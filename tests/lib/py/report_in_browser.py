# SPDX-License-Identifier: MIT
"""Opens pages of `rdmaemu report` in Chromium, and uses them.

usage: report_in_browser.py RUN.html EVIL.html MANY.html CALLS.html REAL.html DIR

RUN.html: of a run whose SEND_MIDDLEs a rule has dropped; EVIL.html: of a journal with markup in the names;
MANY.html: of many_packets.py, 100,000 packets; CALLS.html: of a trace with packets; REAL.html: of one of real devices.
Prints a line for each check. Screenshots go to DIR. AXE: the file of axe-core, `make npm`
"""
import os
import sys
import tempfile

from browser import Browser

# Contrast of WCAG 2: of two colours as #rrggbb.
CONTRAST = '''((a, b) => {
	const light = c => [1, 3, 5].map(i => parseInt(c.slice(i, i + 2), 16) / 255)
		.map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
		.reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
	const [x, y] = [light(a), light(b)];
	return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
})'''
WANT_NAMES = {'button', 'combobox', 'textbox', 'checkbox', 'image', 'link', 'application', 'region', 'heading', 'table'}


class Checks:
    def __init__(self):
        self.bad = False

    def __call__(self, name, fine, *why):
        print(('ok ' if fine else 'not ok ') + name)
        if not fine:
            self.bad = True
            print('\n'.join('# ' + str(w) for w in why))


def detail(page):
    return page.js("document.querySelector('#detail').innerText")


def shown(page):
    """Items that the ladder says it has."""
    return page.js("Number(document.querySelector('#ladder-count').innerText.split(' ')[0].replace(/,/g, ''))")


def choose(page, id, value):
    page.js(f"(e => {{ e.value = {value!r}; e.dispatchEvent(new Event('change', {{ bubbles: true }})); }})(byId({id!r}))")


def pixels(page, colour):
    """Pixels of the ladder in a colour of the style sheet."""
    return page.js('''(colour => {
        const canvas = byId('ladder-canvas'), data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        const want = [1, 3, 5].map(i => parseInt(colours()[colour].slice(i, i + 2), 16));
        let n = 0;
        for (let i = 0; i < data.length; i += 4)
            n += data[i + 3] > 250 && want.every((v, k) => Math.abs(v - data[i + k]) < 3);
        return n;
    })''' + f'({colour!r})')


def check_summary(check, page):
    verdict = page.js("byId('verdict').innerText")
    check('the first sentence names program, error and rule', 'ib_send_bw' in verdict and 'IBV_WC_RETRY_EXC_ERR' in verdict and
          'rule cut: drop opcode=SEND_MIDDLE' in verdict and page.js("byId('verdict').className") == 'failed', verdict)
    parts = page.js("[...document.querySelectorAll('nav a')].map(a => a.innerText)")
    check('parts that have data are shown', parts == ['Summary', 'Ladder', 'Rates', 'Latency', 'Sequence numbers', 'Completions', 'Memory',
                                                      'Findings of the checker', 'Journal'], parts)
    check('no other', page.js("[...document.querySelectorAll('section')].filter(s => !s.hidden).length") == len(parts))
    rules = page.js("byId('rules').innerText")
    check('the rules say what they have hit', 'fired' in rules and 'never matched' in rules and 'ib_send_bw' in rules, rules)


def check_ladder(check, page):
    all_items = shown(page)
    check('arrows are drawn', pixels(page, 'data') > 100)
    page.js("byId('ladder-box').focus()")
    page.key('n')
    check('n finds a lost packet, and why', 'did not arrive' in detail(page) and 'fault rule cut' in detail(page), detail(page))
    check('it is drawn as trouble', pixels(page, 'bad') > 50)
    check('no work request without recorded calls', 'Work request\n' not in detail(page), detail(page))
    check('with its bytes and journal', '0000  ' in detail(page) and 'dropped' in detail(page), detail(page))
    before = detail(page)
    page.key('ArrowUp')
    up = detail(page)
    page.key('ArrowDown')
    check('up and down select the packets next to it', up != before and detail(page) == before)
    height = page.js("byId('ladder-space').clientHeight")
    page.key('-')
    page.key('-')
    check('- zooms out', page.js("byId('ladder-space').clientHeight") < height)
    page.key('+')
    page.key('+')
    check('+ zooms in again', page.js("byId('ladder-space').clientHeight") == height)
    box = page.js("byId('ladder-box').scrollIntoView(), (r => [r.x, r.y])(byId('ladder-box').getBoundingClientRect())")
    page.click(box[0] + 300, box[1] + 200)
    check('a click selects', detail(page) != before)
    page.js("byId('f-journal').click()")
    packets = shown(page)
    check('the journal can be left out', 0 < packets < all_items, packets, all_items)
    choose(page, 'f-op', 'SEND_MIDDLE')
    middle = shown(page)
    check('of one opcode', 0 < middle < packets, middle, packets)
    choose(page, 'f-op', '')
    page.js("byId('f-bad').click()")
    check('of trouble', 0 < shown(page) < packets, shown(page))
    page.js("byId('f-bad').click()")
    page.js("byId('f-qp').value = '0x3fff', byId('f-qp').dispatchEvent(new Event('input'))")
    check('of a queue pair that is none', shown(page) == 0)
    page.js("byId('f-qp').value = '', byId('f-qp').dispatchEvent(new Event('input'))")
    program = page.js("byId('f-prog').options[1].value")
    choose(page, 'f-prog', program)
    check('of a program', program.startswith('ib_send_bw[') and shown(page) > 0, program)
    choose(page, 'f-prog', '')
    page.js("byId('f-journal').click()")
    check('and all of them again', shown(page) == all_items)


def check_access(check, page):
    nodes = page.call('Accessibility.getFullAXTree')['nodes']
    nameless = [n['role']['value'] for n in nodes if not n['ignored'] and n['role']['value'] in WANT_NAMES and
                not n.get('name', {}).get('value')]
    check('each control, picture and table has a name', not nameless, nameless)
    order = page.js("[...document.querySelectorAll('h1, h2, h3, h4')].map(h => Number(h.tagName[1]))")
    check('headings leave out no level', all(b <= a + 1 for a, b in zip(order, order[1:])), order)


def check_axe(check, page, name):
    """axe-core has the rules of WCAG that a program can decide."""
    path = os.environ.get('AXE', '')
    if not os.path.exists(path):
        print(f'ok axe-core finds nothing, {name} # SKIP it is not installed: make npm')
        return
    with open(path, encoding='utf-8') as f:
        page.js(f.read() + '; 0')
    found = page.js("axe.run(document, { resultTypes: ['violations'] }).then(r => r.violations.map(v => "
                    "`${v.id}: ${v.nodes.slice(0, 3).map(n => n.target.join(' ')).join(', ')}`))")
    check(f'axe-core finds nothing, {name}', found == [], *found)


def check_colours(check, page, name):
    weak = page.js(f"Object.entries(colours()).filter(([k]) => !['page', 'panel', 'line'].includes(k)).filter(([, v]) => "
                   f"Math.min({CONTRAST}(v, colours().page), {CONTRAST}(v, colours().panel)) < 4.5).map(([k]) => k)")
    check(f'all colours can be read, {name}', weak == [], weak)


def check_small(check, browser, url, shots):
    page = browser.open(url, width=360, height=740)
    width = page.js('document.documentElement.scrollWidth')
    check('360 pixels are wide enough', width <= 360, width)
    shift = page.js('''new Promise(done => {
        let sum = 0;
        new PerformanceObserver(l => { for (const e of l.getEntries()) sum += e.value; }).observe({ type: 'layout-shift', buffered: true });
        setTimeout(() => done(sum), 500);
    })''')
    check('nothing jumps while it is loaded', shift < 0.1, shift)
    check_axe(check, page, '360 pixels')
    page.screenshot(os.path.join(shots, 'small.png'))


# Scrolls through the whole ladder at several zooms: [frames, longest drawing in ms, mean, most arrows in a frame, how
# many are allowed].
SCROLL = '''(async () => {
    const original = drawLadder, times = [];
    let most = 0, allowed = 1;
    drawLadder = view => {
        const begin = performance.now();
        original(view);
        times.push(performance.now() - begin);
        most = Math.max(most, view.drawn);
        allowed = (view.height + 40) * view.packets.about.flows.length * 4;
    };
    const box = byId('ladder-box');
    for (const zoom of [0, 8, 8]) {
        for (let i = 0; i < zoom; i++)
            byId('zoom-out').click();
        for (let i = 0; i <= 40; i++) {
            box.scrollTop = (box.scrollHeight - box.clientHeight) * i / 40;
            await new Promise(requestAnimationFrame);
            await new Promise(requestAnimationFrame);
        }
    }
    drawLadder = original;
    return [times.length, Math.max(...times), times.reduce((a, b) => a + b) / times.length, most, allowed];
})()'''


# By opcode and sender: how many packets there are, and how many different work requests they name.
REQUESTS = '''(async () => {
    const original = drawLadder, rows = new Map();
    let view;
    drawLadder = v => original(view = v);
    byId('zoom-in').click();
    byId('zoom-out').click();
    await new Promise(requestAnimationFrame);
    await new Promise(requestAnimationFrame);
    drawLadder = original;
    const p = view.packets;
    for (let i = 0; i < p.n; i++) {
        const flow = p.about.flows[p.flow[i]], node = p.about.hosts[flow.from].node, name = packetName(p, i);
        const row = rows.get(name + node) || [name, node, 0, new Set()];
        const request = packetWorkRequest(view, i);
        row[2]++;
        if (/SEND, 64 bytes, wr_id 0x2, posted at [0-9.]+ s by ibv_post_send$/.test(request))
            row[3].add(request);
        rows.set(name + node, row);
    }
    return [...rows.values()].map(r => [r[0], r[1], r[2], r[3].size]).sort();
})()'''
WANT_REQUESTS = [['ACK', 'a', 20, 20], ['ACK', 'b', 20, 20], ['SEND_ONLY', 'a', 20, 20], ['SEND_ONLY', 'b', 20, 20]]


def check_calls(check, page):
    all_items = shown(page)
    hint = page.js("byId('ladder-hint').innerText")
    check('calls are drawn', pixels(page, 'text') > 50 and not hint, hint)
    page.js("byId('f-calls').click()")
    check('calls can be left out', 0 < shown(page) < all_items, shown(page), all_items)
    page.js("byId('f-calls').click()")
    choose(page, 'f-prog', page.js("[...byId('f-prog').options].map(o => o.value).find(v => v.endsWith('@b'))"))
    page.js("byId('ladder-box').focus()")
    page.key('Home')
    seen = []
    for _ in range(400):
        seen.append(detail(page).split(',')[0])
        if seen[-1] == 'SEND_ONLY':
            break
        page.key('ArrowDown')
    check('a post comes before its packet', seen[-1] == 'SEND_ONLY' and 'ibv_post_send' in seen, seen[-5:])
    check('whose detail says by which work request', 'Work request' in detail(page) and 'by ibv_post_send' in detail(page), detail(page))
    requests = page.js(REQUESTS)
    check('packets name their work requests', requests == WANT_REQUESTS, requests)
    while not detail(page).startswith('ibv_poll_cq') and len(seen) < 500:
        page.key('ArrowDown')
        seen.append('')
    text = detail(page)
    check('a poll says what it has found', 'SEND' in text or 'RECV' in text, text)
    check('whose program it is', 'ibv_rc_pingpong[' in text or 'ibv_rc_pingpo[' in text, text)
    check('no call fails to be drawn', not page.trouble(), *page.trouble())


def check_real(check, page):
    text = page.js("byId('connections').innerText")
    check('a page of real devices says why it has no packets', 'real devices' in text, text)
    check('it has calls', shown(page) > 80 and pixels(page, 'text') > 50, shown(page))
    lanes = page.js("[...byId('f-prog').options].length")
    check('of two programs', lanes == 3, lanes)
    parts = page.js("[...document.querySelectorAll('nav a')].map(a => a.innerText)")
    check('and what traces have', parts == ['Summary', 'Ladder', 'Latency', 'Completions', 'Memory'], parts)
    check('no part of it fails', not page.trouble(), *page.trouble())


def check_many(check, page):
    check('it has each packet', shown(page) == 100000, shown(page))
    frames, longest, mean, most, allowed = page.js(SCROLL)
    print(f'# 100,000 packets: {frames} frames, drawn in {mean:.1f} ms, at most {longest:.1f} ms; at most {most} arrows')
    check('each frame draws only what it can show', frames > 100 and 0 < most <= allowed < 100000, most, allowed)
    page.js("byId('ladder-box').focus()")
    page.key('End')
    check('the last packet can be reached', 'packet 100,000' in detail(page), detail(page))
    page.key('n')
    check('and the first trouble', 'NAK sequence' in detail(page), detail(page))
    check('nothing fails', not page.trouble(), *page.trouble())


def main():
    run, evil, many, calls, real, shots = ('file://' + os.path.abspath(a) for a in sys.argv[1:])
    shots = shots.removeprefix('file://')
    check = Checks()
    with tempfile.TemporaryDirectory() as profile, Browser(profile) as browser:
        page = browser.open(run)
        check_summary(check, page)
        check_colours(check, page, 'light')
        page.screenshot(os.path.join(shots, 'summary.png'))
        check_ladder(check, page)
        page.key('n')
        page.screenshot(os.path.join(shots, 'ladder.png'), '#ladder')
        check_access(check, page)
        check_axe(check, page, 'light')
        check('it asks for no other file, and nothing fails', not page.trouble(), *page.trouble())
        dark = browser.open(run, dark=True)
        check('dark is dark', dark.js('colours().page') != page.js('colours().page'))
        check_colours(check, dark, 'dark')
        check_axe(check, dark, 'dark')
        check_small(check, browser, run, shots)
        bad = browser.open(evil)
        check('markup in names is text', bad.js('document.title') != 'evil' and
              '</script><script>' in bad.js("byId('journal').innerText"), bad.js('document.title'))
        check('and nothing fails', not bad.trouble(), *bad.trouble())
        page = browser.open(calls)
        check_calls(check, page)
        check_axe(check, page, 'calls')
        page.screenshot(os.path.join(shots, 'calls.png'), '#ladder')
        page = browser.open(real)
        check_real(check, page)
        check_axe(check, page, 'real devices')
        page.screenshot(os.path.join(shots, 'real.png'))
        check_many(check, browser.open(many))
    sys.exit(check.bad)


main()
