# SPDX-License-Identifier: MIT
"""The data of a page of `rdmaemu report`, as docs/design/report.md describes it.

usage: report_page.py PAGE EXPRESSION...    prints the value of each Python expression; in them d is the document, p
                                            the columns of packets, c those of calls, and page the whole text
"""
import base64
import html.parser
import json
import sys
import zlib


class Scripts(html.parser.HTMLParser):
    """The texts of script elements, by their ids."""

    def __init__(self):
        super().__init__()
        self.id, self.text, self.n = None, {}, 0

    def handle_starttag(self, tag, attrs):
        if tag == 'script':
            self.n += 1
            self.id = dict(attrs).get('id', str(self.n))
            self.text[self.id] = ''

    def handle_endtag(self, tag):
        if tag == 'script':
            self.id = None

    def handle_data(self, data):
        if self.id is not None:
            self.text[self.id] += data


def unpack(packed):
    return json.loads(zlib.decompress(base64.b64decode(packed, validate=True))) if packed else None


def read(path):
    """The document, the columns of packets or None, the page, and the columns of calls or None."""
    with open(path, encoding='utf-8') as f:
        page = f.read()
    scripts = Scripts()
    scripts.feed(page)
    return json.loads(scripts.text['report']), unpack(scripts.text['packets']), page, unpack(scripts.text['calls'])


if __name__ == '__main__':
    d, p, page, c = read(sys.argv[1])
    for expression in sys.argv[2:]:
        print(eval(expression))
