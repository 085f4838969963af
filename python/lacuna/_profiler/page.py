"""The profiler's page: that of `lacuna simulate --html` with the profile in its data, live on the loopback address or saved."""

import json
import math
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict

from ..errors import ProfilerError

_DATA = '<script type="application/json" id="lacuna-data">{'


def _without_nan(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _without_nan(one) for key, one in value.items()}
    return [_without_nan(one) for one in value] if isinstance(value, (list, tuple)) else value


def _in_script(value: Any) -> str:
    """JSON that can stand in a <script> element."""
    text = json.dumps(_without_nan(value))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def page(report: str, profile: Dict[str, Any], alone: bool = False) -> str:
    """`report`, the page of a simulated step, with `profile` (`Profile` in web/src/data.ts) next to the step.

    alone: without the step. A live profile may ask its server for more.
    """
    head, _, rest = report.partition(_DATA)
    if alone:
        data, end, rest = rest.partition("</script>")
        kept = {key: value for key, value in json.loads("{" + data).items() if key not in ("simulate", "inspect")}
        rest = _in_script(kept)[1:] + end + rest
    if profile["live"]:
        head = head.replace("default-src 'none';", "default-src 'none'; connect-src 'self';", 1)
    return f'{head}{_DATA}"profile":{_in_script(profile)},{rest}'


class Server:
    """The page on 127.0.0.1, in a thread; standard library only."""

    def __init__(self, port: int, live: Callable[[], str], data: Callable[[], Dict[str, Any]]) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                # Another site's page that has its own name point here must not read it.
                host = (self.headers.get("Host") or "").rsplit(":", 1)[0]
                if host not in ("127.0.0.1", "localhost"):
                    self.send_error(403)
                elif self.path == "/":
                    self.answer("text/html; charset=utf-8", live())
                elif self.path == "/data.json":
                    self.answer("application/json", json.dumps(_without_nan(data())))
                else:
                    self.send_error(404)

            def answer(self, kind: str, text: str) -> None:
                content = text.encode()
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
                self.send_header("Cache-Control", "no-store")
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *args: Any) -> None:
                pass

        try:
            self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        except OSError as error:
            message = f"cannot serve on 127.0.0.1:{port} ({error}); give another port, or 0 for any that is free"
            raise ProfilerError(message) from None
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/"
        self._thread = threading.Thread(target=self._server.serve_forever, name="lacuna.Profiler page", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
