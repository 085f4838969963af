"""The profiler's page: charts of a training, live on the loopback address or saved as one file."""

import html
import json
import math
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, Optional

from .errors import ProfilerError

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Lacuna profiler</title>
<style>
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif }
body { max-width: 1100px; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.4rem; margin: 0 } h2 { font-size: 1.05rem; margin: 2rem 0 .3rem }
.quiet { opacity: .7 } .warn { color: #b45309 }
svg { width: 100%; height: 240px; display: block } svg text { font-size: 11px; fill: currentColor }
.key span { margin-right: 1.2rem; white-space: nowrap } .key i { display: inline-block; width: 1.1em; height: .7em; margin-right: .4em }
table { border-collapse: collapse; font-variant-numeric: tabular-nums } td, th { padding: .1rem .8rem .1rem 0; text-align: right }
td:first-child, th:first-child { text-align: left } td.bar { background: linear-gradient(90deg, #2563eb55 var(--w), transparent var(--w)) }
iframe { width: 100%; height: 900px; border: 1px solid #8884; margin-top: .5rem }
</style></head><body>
<h1>Lacuna profiler</h1><p class="quiet" id="about"></p><p class="warn" id="failures"></p>
<h2>Speedup over the same machine without skipping, whole training step</h2>
<p class="quiet">The band is two standard errors either side, from the samples that were measured.</p>
<div class="key" id="key"></div><svg id="speedup"></svg>
<h2>Energy efficiency over the same machine without skipping</h2><svg id="energy"></svg>
<h2>Zeros of all layers together</h2><div class="key" id="zkey"></div><svg id="zeros"></svg>
<h2>Zeros by layer, last measured step</h2><table id="layers"></table>
__DETAIL__
<script>
const title = __TITLE__, fixed = __DATA__;
const colours = ["#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#0891b2", "#be185d", "#4d7c0f"];
const byId = (id) => document.getElementById(id);
const make = (name, attributes, text) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return node;
};
function key(target, names) {
  target.replaceChildren(...names.map((name, i) => {
    const span = document.createElement("span"), mark = document.createElement("i");
    mark.style.background = colours[i % colours.length];
    span.append(mark, name);
    return span;
  }));
}
// lines: [{name, points: [[step, value, spread]]}]
function chart(svg, lines, digits, percent) {
  svg.replaceChildren();
  lines = lines.map((line) => ({...line, points: line.points.filter((p) => p[1] !== null)}));
  const all = lines.flatMap((line) => line.points);
  if (!all.length) { svg.append(make("text", {x: 10, y: 30}, "nothing measured yet")); return; }
  const w = svg.clientWidth || 1000, h = 240, left = 56, right = 12, top = 10, bottom = 24;
  const xs = all.map((p) => p[0]), lows = all.map((p) => p[1] - 2 * (p[2] || 0)), highs = all.map((p) => p[1] + 2 * (p[2] || 0));
  let x0 = Math.min(...xs), x1 = Math.max(...xs), y0 = percent ? 0 : Math.min(...lows), y1 = percent ? 1 : Math.max(...highs);
  if (x0 === x1) x1 = x0 + 1;
  if (y1 - y0 < 1e-3) { y0 -= 0.05; y1 += 0.05; }
  const x = (v) => left + (v - x0) / (x1 - x0) * (w - left - right), y = (v) => h - bottom - (v - y0) / (y1 - y0) * (h - top - bottom);
  const show = (v) => percent ? (100 * v).toFixed(digits) + " %" : v.toFixed(digits);
  for (let i = 0; i <= 4; ++i) {
    const v = y0 + (y1 - y0) * i / 4;
    svg.append(make("line", {x1: left, x2: w - right, y1: y(v), y2: y(v), stroke: "currentColor", opacity: .12}));
    svg.append(make("text", {x: left - 6, y: y(v) + 4, "text-anchor": "end"}, show(v)));
  }
  svg.append(make("text", {x: left, y: h - 6}, "step " + x0), make("text", {x: w - right, y: h - 6, "text-anchor": "end"}, "step " + x1));
  lines.forEach((line, i) => {
    const colour = colours[i % colours.length];
    if (line.points.some((p) => p[2])) {
      const up = line.points.map((p) => x(p[0]) + "," + y(p[1] + 2 * (p[2] || 0)));
      const down = line.points.map((p) => x(p[0]) + "," + y(p[1] - 2 * (p[2] || 0))).reverse();
      svg.append(make("polygon", {points: up.concat(down).join(" "), fill: colour, opacity: .15}));
    }
    svg.append(make("polyline", {points: line.points.map((p) => x(p[0]) + "," + y(p[1])).join(" "), fill: "none", stroke: colour, "stroke-width": 1.8}));
    for (const p of line.points) {
      const dot = make("circle", {cx: x(p[0]), cy: y(p[1]), r: line.points.length > 200 ? 1.5 : 3, fill: colour});
      dot.append(make("title", {}, line.name + ", step " + p[0] + ": " + show(p[1]) + (p[2] ? " \\u00b1 " + show(p[2]) : "")));
      svg.append(dot);
    }
  });
}
function draw(data) {
  const machines = [...new Set(data.rows.map((row) => row.machine))];
  const of = (name, value, spread) => ({name, points: data.rows.filter((row) => row.machine === name).map((row) => [row.step, row[value], spread ? row[spread] : 0])});
  byId("about").textContent = title + "; " + data.steps + " steps so far, " + new Set(data.rows.map((row) => row.step)).size + " measured, " + data.dropped + " dropped because simulation was still busy";
  byId("failures").textContent = data.failures.join("; ");
  key(byId("key"), machines);
  chart(byId("speedup"), machines.map((name) => of(name, "speedup", "standard_error")), 3);
  chart(byId("energy"), machines.map((name) => of(name, "energy_efficiency")), 3);
  key(byId("zkey"), ["A: activations", "W: weights", "G: gradients of the outputs"]);
  chart(byId("zeros"), ["zeros_A", "zeros_W", "zeros_G"].map((name) => of(machines[0], name)).map((line, i) => ({...line, name: "AWG"[i]})), 1, true);
  const table = byId("layers");
  table.replaceChildren();
  const head = table.insertRow();
  for (const text of ["layer", "A", "W", "G"]) { const cell = document.createElement("th"); cell.textContent = text; head.append(cell); }
  for (const [name, zeros] of Object.entries(data.layers)) {
    const row = table.insertRow();
    row.insertCell().textContent = name;
    for (const share of zeros) {
      const cell = row.insertCell();
      cell.className = "bar"; cell.style.setProperty("--w", (100 * share).toFixed(1) + "%");
      cell.textContent = (100 * share).toFixed(1) + " %";
    }
  }
}
if (fixed) draw(fixed); else {
  const poll = () => fetch("data.json").then((r) => r.json()).then(draw).catch(() => { byId("failures").textContent = "the training has ended, or its process is gone"; });
  poll(); setInterval(poll, 2000);
}
</script></body></html>
"""


def _in_script(value: Any) -> str:
    """JSON that can stand in a <script> element."""
    text = json.dumps(_without_nan(value))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _without_nan(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _without_nan(one) for key, one in value.items()}
    return [_without_nan(one) for one in value] if isinstance(value, (list, tuple)) else value


def page(title: str, data: Optional[Dict[str, Any]], detail: Optional[str]) -> str:
    """The page with `data` in it, or one that asks its server for them; `detail` is the report of a step."""
    frame = ""
    if detail is not None:
        frame = (
            '<h2>The last measured step in detail</h2><iframe sandbox="allow-scripts allow-downloads" '
            f'title="The last measured step" srcdoc="{html.escape(detail)}"></iframe>'
        )
    # One after the other in this order: what is put in may hold the marks of what comes before it.
    text = _PAGE.replace("__TITLE__", _in_script(title)).replace("__DATA__", _in_script(data))
    return text.replace("__DETAIL__", frame, 1)


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
            raise ProfilerError(f"cannot serve on 127.0.0.1:{port} ({error}); give another port, or 0 for any") from None
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/"
        self._thread = threading.Thread(target=self._server.serve_forever, name="lacuna.Profiler page", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
