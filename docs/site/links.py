"""Every link and picture of a built site leads somewhere inside it, anchors included."""
import html.parser
import pathlib
import urllib.parse


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.targets, self.anchors = [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.anchors.update(v for k, v in attrs.items() if k in ("id", "name") and v)
        for key in ("href", "src"):
            if attrs.get(key):
                self.targets.append(attrs[key])


def broken_links(site):
    """One line per link that leads nowhere: 'page: target'."""
    site = pathlib.Path(site)
    pages = {path: Page(path) for path in site.rglob("*.html")}
    for path, page in pages.items():
        if path.name == "404.html":  # its links are absolute: it stands for any address
            continue
        for target in page.targets:
            url = urllib.parse.urlsplit(target)
            if url.scheme or url.netloc:
                continue
            to = (path.parent / urllib.parse.unquote(url.path)).resolve() if url.path else path
            if to.is_dir():
                to = to / "index.html"
            if not to.exists():
                yield f"{path.relative_to(site)}: {target}"
            elif url.fragment and to in pages and urllib.parse.unquote(url.fragment) not in pages[to].anchors:
                yield f"{path.relative_to(site)}: {target} (no such heading)"
