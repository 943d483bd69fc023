# SPDX-License-Identifier: MIT
"""Debian's Chromium without a window, driven by its DevTools protocol over a pipe: it needs no library and no port.

with Browser(DIR) as b:
    page = b.open('file:///x.html', width=360)
    page.js('document.title')
"""
import base64
import json
import os
import select
import shutil
import subprocess
import time

WAIT = 60 * int(os.environ.get('PATIENCE', '1')) * int(os.environ.get('TEST_SLOW', '1'))  # seconds, for each answer


def program():
    """The path of Chromium, or None."""
    return shutil.which('chromium') or shutil.which('chromium-browser')


class Browser:
    """profile: an empty directory, in which Chromium keeps what it needs."""

    def __init__(self, profile):
        to_it, self.commands = os.pipe()
        self.answers, from_it = os.pipe()

        def descriptors():
            # 3 and 4 may be among the pipes' own numbers.
            a, b = os.dup(to_it), os.dup(from_it)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [program(), '--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run',
             '--disable-background-networking', '--disable-component-update', '--remote-debugging-pipe',
             f'--user-data-dir={profile}', 'about:blank'],
            close_fds=False, preexec_fn=descriptors, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_it)
        os.close(from_it)
        self.number = 0
        self.left = b''
        self.events = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call('Browser.close')
            self.process.wait(WAIT)
        except (OSError, RuntimeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()

    def message(self):
        end = time.monotonic() + WAIT
        while b'\0' not in self.left:
            if not select.select([self.answers], [], [], max(0, end - time.monotonic()))[0]:
                raise RuntimeError('Chromium does not answer')
            more = os.read(self.answers, 1 << 20)
            if not more:
                raise RuntimeError('Chromium has ended')
            self.left += more
        first, self.left = self.left.split(b'\0', 1)
        return json.loads(first)

    def call(self, method, session=None, **params):
        self.number += 1
        ask = {'id': self.number, 'method': method, 'params': params}
        if session:
            ask['sessionId'] = session
        text = json.dumps(ask).encode() + b'\0'
        while text:
            text = text[os.write(self.commands, text):]
        while True:
            m = self.message()
            if m.get('id') != self.number:
                self.events.append(m)
            elif 'error' in m:
                raise RuntimeError(f'{method}: {m["error"]}')
            else:
                return m['result']

    def open(self, url, width=1280, height=900, dark=False):
        return Page(self, url, width, height, dark)


class Page:
    """A page that has said that it is ready: its root element has data-ready."""

    def __init__(self, browser, url, width, height, dark):
        self.b = browser
        target = browser.call('Target.createTarget', url='about:blank')['targetId']
        self.session = browser.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        for domain in 'Page', 'Runtime', 'Log', 'Network', 'Accessibility':
            self.call(domain + '.enable')
        self.resize(width, height)
        self.call('Emulation.setEmulatedMedia',
                  features=[{'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}])
        self.call('Page.navigate', url=url)
        self.until('document.querySelector(":root[data-ready=yes]") !== null')

    def call(self, method, **params):
        return self.b.call(method, self.session, **params)

    def resize(self, width, height=900):
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=False)

    def js(self, expression):
        """The value of an expression, of a promise when it is kept."""
        r = self.call('Runtime.evaluate', expression=expression, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in r:
            raise RuntimeError(f'{expression}: {r["exceptionDetails"]}')
        return r['result'].get('value')

    def until(self, expression):
        end = time.monotonic() + WAIT
        while not self.js(expression):
            if time.monotonic() > end:
                raise RuntimeError(f'never: {expression}: {self.trouble()}')
            time.sleep(0.05)

    def key(self, key, text=None):
        what = {'key': key, 'code': key}
        self.call('Input.dispatchKeyEvent', type='keyDown', **what, **({'text': text} if text else {}))
        self.call('Input.dispatchKeyEvent', type='keyUp', **what)

    def click(self, x, y):
        for kind in 'mousePressed', 'mouseReleased':
            self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, button='left', clickCount=1)

    def screenshot(self, path, selector=None):
        clip = {}
        if selector:
            box = self.js(f'(e => ({{x: e.left + scrollX, y: e.top + scrollY, width: e.width, height: e.height}}))'
                          f'(document.querySelector({json.dumps(selector)}).getBoundingClientRect())')
            clip = {'clip': dict(box, scale=1), 'captureBeyondViewport': True}
        data = self.call('Page.captureScreenshot', format='png', **clip)['data']
        with open(path, 'wb') as f:
            f.write(base64.b64decode(data))

    def trouble(self):
        """Exceptions, errors on the console, and requests for anything but the page itself."""
        all = []
        for e in self.b.events:
            if e.get('sessionId') != self.session:
                continue
            p = e['params']
            if e['method'] == 'Runtime.exceptionThrown':
                all.append(p['exceptionDetails'].get('exception', {}).get('description', 'an exception'))
            elif e['method'] == 'Log.entryAdded' and p['entry']['level'] == 'error':
                all.append(p['entry']['text'])
            elif e['method'] == 'Network.requestWillBeSent' and p.get('type') != 'Document':
                all.append('request for ' + p['request']['url'])
        return all
