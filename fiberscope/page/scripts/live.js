/* A run that goes on: what the server pushes, and the commands that go back. A debugger in a terminal moves
   its machine itself: its page can only stop it. */
const Live = (() => {
  const IS_DEBUGGER = Data.kind === "debugging";
  const DRAW_MILLISECONDS = 1000; // between two drawings of the chart
  const OVER = ["done", "cycle limit", "interrupted", "deadlock"];
  const shown = { families: [], components: [], points: [], state: null, drawn: null, boxes: {}, ended: false };
  let drawnAt = 0;

  /* A command to the run; what is refused is shown. */
  async function command(told) {
    const body = JSON.stringify(told);
    const headers = { "Content-Type": "application/json" };
    try {
      const answer = await fetch("command", { method: "POST", headers, body });
      say("refusal", answer.ok ? "" : ((await answer.json()).error ?? answer.statusText));
    } catch {
      say("refusal", "The run cannot be reached.");
    }
  }

  const at = (id) => document.getElementById(id);
  const say = (id, text) => at(id).textContent !== text && (at(id).textContent = text);

  function controls() {
    const cycles = element("input", { id: "cycles", type: "number", min: 1, value: 1 });
    const step = () => command({ do: "step", cycles: Math.max(1, Math.round(Number(cycles.value))) });
    const hold = () => command({ do: shown.state?.status === "paused" ? "continue" : "pause" });
    const record = (kind) => () => command({ do: "record", kind });
    const pause = button("hold", "Pause", hold);
    if (IS_DEBUGGER) return element("div", { class: "controls" }, pause, "The debugger in the terminal moves the machine.");
    return element(
      "div",
      { class: "controls" },
      pause,
      element("label", {}, "Cycles of a step", cycles),
      button("step", "Step", step),
      button("waveform", "Record a waveform", record("waveform")),
      button("timeline", "Record a timeline", record("timeline")),
      button("stop", "Stop recording", () => command({ do: "stop" }), { disabled: true }),
    );
  }

  function select(name) {
    at("component").value = name;
    command({ do: "select", component: name });
  }

  /* The name without the machine's own scope. */
  const short = (name) => name.slice(name.indexOf(".") + 1);
  const linked = (name) => button(null, short(name), () => select(name));

  /* Draws a table anew, unless the same rows stand there: a button keeps the focus. */
  function fill(id, heads, rows, cells = rows) {
    const text = JSON.stringify(rows);
    const place = at(id);
    if (place.dataset.rows === text) return;
    place.dataset.rows = text;
    const focused = [...place.querySelectorAll("button")].indexOf(document.activeElement);
    const table = plainTable(tabular("", heads, rows));
    cells.forEach((row, line) =>
      row.forEach((cell, column) => {
        if (cell instanceof Node) table.tBodies[0].rows[line].cells[column].replaceChildren(cell);
      }),
    );
    place.replaceChildren(rows.length ? table : element("p", { class: "soft" }, "none now"));
    place.querySelectorAll("button")[focused]?.focus({ preventScroll: true });
  }

  const number = (text) => ({ text, number: true });

  function channels(rows) {
    const heads = ["channels", number("fill"), number("tokens"), number("full channels")];
    const share = (held, capacity) => Format.value(Math.round((1000 * held) / capacity) / 1000, "share");
    const line = ([family, count, full, held, capacity]) =>
      [family, share(held, capacity), `${held} of ${capacity}`, `${full} of ${count}`];
    fill("channels", heads, rows.map(line));
  }

  const few = (names) => (names.length > 2 ? `any of ${names.length}` : names.map(short).join(" or "));
  const words = (state, peers) =>
    state.startsWith("wait")
      ? `a token at ${state.split(":")[1]} from ${few(peers)}`
      : `space at ${state.split(":")[1]}, in ${few(peers)}`;

  function waits(rows) {
    const texts = rows.map(([name, state, cycles, peers]) => [name, cycles, words(state, peers)]);
    const cells = rows.map(([name]) => [linked(name)]);
    fill("waits", ["component", number("cycles"), "waits for"], texts, cells);
  }

  function component(view) {
    if (!view) return;
    if (document.activeElement !== at("component")) at("component").value = view.name;
    const since = view.since === null ? "" : ` since cycle ${Format.value(view.since)}`;
    say("component-state", `${short(view.name)} (${view.kind}): ${view.state}${since}`);
    const link = ([name, text, from]) =>
      element("li", {}, `${short(name)} ${text}${from === null ? "" : `, since cycle ${Format.value(from)}`}`);
    at("chain").replaceChildren(...view.chain.map(link));
    const rows = (kind, numbers) => Object.entries(numbers).map(([name, value]) => [name, kind, value]);
    const all = [...rows("cycles", view.accounts), ...rows("counter", view.counters), ...rows("signal", view.signals)];
    fill("details", ["name", "kind", number("value")], all);
  }

  function recordings(rows) {
    if (IS_DEBUGGER) return;
    const span = ([, , start, end]) =>
      `from cycle ${Format.value(start)}${end === null ? "" : ` to ${Format.value(end)}`}`;
    const line = (row) => element("li", {}, `${row[0]} ${row[1]}, ${span(row)}: ${row[4]}`);
    at("recordings").replaceChildren(...rows.map(line));
    const active = rows.some((row) => row[4] === "recording");
    const over = isOver();
    at("stop").disabled = !active || over;
    for (const id of ["waveform", "timeline"]) at(id).disabled = active || over;
  }

  const isOver = () => shown.ended || OVER.includes(shown.state?.status);

  /* The bars in the boxes of the drawing: the states since the point before. */
  function colour() {
    const [before, last] = shown.points.slice(-2).length > 1 ? shown.points.slice(-2) : [null, shown.points.at(-1)];
    if (!last) return;
    const sums = new Map();
    shown.families.forEach((family, place) => {
      const box = shown.boxes[family];
      const spent = d3.range(4).map((kind) => last.counts[4 * place + kind] - (before?.counts[4 * place + kind] ?? 0));
      sums.set(box, (sums.get(box) ?? [0, 0, 0, 0]).map((sum, kind) => sum + spent[kind]));
    });
    for (const bar of document.querySelectorAll(".machine g[data-box]")) bars(bar, sums.get(bar.dataset.box));
  }

  function bars(bar, spent) {
    const all = d3.sum(spent ?? []);
    if (!all) return;
    const rects = [...bar.querySelectorAll("rect")];
    const wide = Number((bar.dataset.wide ??= d3.sum(rects, (rect) => Number(rect.getAttribute("width")))));
    let left = Number(rects[0].getAttribute("x"));
    rects.forEach((rect, kind) => {
      const width = (spent[kind] / all) * wide;
      rect.setAttribute("x", left);
      rect.setAttribute("width", width);
      left += width;
    });
    const parts = Bars.STATES.map(([state], kind) => `${state} ${Math.round((100 * spent[kind]) / all)}%`);
    bar.querySelector("title").textContent = `${bar.dataset.box}: ${parts.join(", ")}`;
  }

  function drawing({ svg, boxes }) {
    const read = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
    const drawn = document.importNode(read, true);
    drawn.querySelectorAll("style").forEach((style) => style.remove());
    drawn.style.minWidth = `${0.75 * drawn.viewBox.baseVal.width}px`;
    shown.boxes = boxes;
    at("drawing").replaceChildren(wide("The machine", drawn));
    colour();
  }

  function chart() {
    const now = performance.now();
    if (now - drawnAt < DRAW_MILLISECONDS && shown.state.status === "running") return;
    drawnAt = now;
    const width = Chart.width(at("over-time").clientWidth);
    at("over-time").replaceChildren(States.draw(shown.families, shown.points, width));
    const { heads, rows } = States.table(shown.families, shown.points);
    fill("shares", heads, rows);
  }

  /* Keeps a state, and shows it with the next picture of the browser: of several the last. */
  function state(told) {
    const waiting = shown.state !== shown.drawn;
    shown.state = told;
    shown.points = States.add(shown.points, told.cycle, told.states);
    if (!waiting) requestAnimationFrame(draw);
  }

  function draw() {
    const told = (shown.drawn = shown.state);
    const share = told.share === null ? "" : ` ${Format.value(Math.floor(1000 * told.share) / 1000, "share")}`;
    say("status", `${told.status}${share}`);
    say("rate", told.text);
    at("progress").value = told.share ?? 0;
    if (IS_DEBUGGER) at("hold").disabled = isOver() || told.status !== "running";
    else {
      say("hold", told.status === "paused" ? "Continue" : "Pause");
      for (const id of ["hold", "step"]) at(id).disabled = isOver();
    }
    channels(told.channels);
    waits(told.waits);
    component(told.selected);
    recordings(told.recordings);
    colour();
    chart();
  }

  function machine({ families, components }) {
    Object.assign(shown, { families, components, points: [], boxes: {} });
    at("drawing").replaceChildren(element("p", { class: "soft" }, "being drawn"));
    at("names").replaceChildren(...components.map((value) => element("option", { value })));
  }

  function points(told) {
    shown.points = told.points.map(([cycle, counts]) => ({ cycle, counts }));
  }

  function stage({ name }) {
    if (!shown.ended) say("status", name);
  }

  function ending(lines, failed) {
    at("ended").className = failed ? "ended failed" : "ended";
    at("ended").replaceChildren(...lines.map((line) => element("p", {}, line)));
  }

  function end(told) {
    shown.ended = true;
    if (!at("ended").childElementCount) ending(told.lines, false);
    for (const control of document.querySelectorAll(".controls > button")) control.disabled = true;
  }

  const section = (title, ...children) => element("section", {}, element("h2", {}, title), children);

  function layout() {
    const chosen = element("input", { id: "component", list: "names", change: ({ target }) => select(target.value) });
    return [
      element("p", {}, element("strong", { id: "status", role: "status" }, "connecting"), " ", element("span", { id: "rate" })),
      element("progress", { id: "progress", max: 1, value: 0, "aria-label": "Share of the run that is done" }),
      controls(),
      element("p", { id: "refusal", class: "wrong", role: "alert" }),
      element("div", { id: "ended", class: "ended" }),
      element("ul", { id: "recordings", class: "files" }),
      element(
        "div",
        { class: "pair" },
        section("The machine now", Bars.legend(), element("div", { id: "drawing", class: "machine" })),
        element(
          "div",
          {},
          section("Waiting longest", element("div", { id: "waits", class: "wide" })),
          section("Fullest channels", element("div", { id: "channels", class: "wide" })),
          section(
            "A component",
            element("div", { class: "controls" }, element("label", { class: "grow" }, "Name", chosen)),
            element("datalist", { id: "names" }),
            element("p", { id: "component-state" }, "Choose a component, or click one that waits."),
            element("ol", { id: "chain", "aria-label": "Chain of waits" }),
            element("details", {}, element("summary", {}, "Cycles, counters and signals"), element("div", { id: "details", class: "wide" })),
          ),
        ),
      ),
      section(
        "States over time",
        Bars.legend(),
        element("div", { id: "over-time" }),
        element("details", {}, element("summary", {}, "The cycles so far as a table"), element("div", { id: "shares", class: "wide" })),
      ),
    ];
  }

  /* What is pushed, by its name; behind the end there is nothing to connect to. */
  function follow() {
    const source = new EventSource("events");
    const handlers = { machine, points, state, drawing, stage, end };
    handlers.deadlock = ({ lines }) => {
      shown.ended = true;
      ending(lines, true);
    };
    handlers.recordings = ({ rows }) => recordings(rows);
    for (const [name, handle] of Object.entries(handlers))
      source.addEventListener(name, (event) => handle(JSON.parse(event.data)));
    source.addEventListener("error", () => (shown.ended ? source.close() : say("status", "no connection to the run")));
  }

  function show(body) {
    const main = element("main", { id: "main", class: "column live run", tabindex: -1 }, layout());
    const title = element("header", { class: "column" }, element("h1", {}, Data.title));
    body.append(element("a", { class: "skip", href: "#main" }, "Skip to the run"), title, main);
    follow();
  }

  return { show };
})();
