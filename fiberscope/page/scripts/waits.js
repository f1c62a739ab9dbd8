/* Who waited for whom: a row a component, its states over time on a canvas, which zooms and has a cursor.

   The wheel zooms, dragging moves, the keys do both; Enter leads from a component that waits to the one that it waits for. */
const Waits = (() => {
  const ROW = 18,
    LABEL = 210,
    AXIS = 24,
    MOST_ROWS = 30,
    SMALLEST = 4; // pixels; cycles that a view is wide at the least

  function show(states) {
    const all = Spans.components(states);
    const canvas = element("canvas", {
      id: "waits",
      tabindex: 0,
      role: "img",
      "aria-describedby": "waits-help waits-told",
    });
    const told = element("output", { id: "waits-told", class: "readout", "aria-live": "polite" });
    const only = element("input", {
      id: "only",
      type: "search",
      value: View.get("only"),
      placeholder: "pe00 or merger",
      autocomplete: "off",
      spellcheck: "false",
    });
    const range = element("p", { class: "soft", id: "waits-range" });
    const place = element("div", { class: "waits" }, canvas);
    const causes = element("ol", { class: "soft", id: "waits-chain" });
    let trail = []; // the chain that led to the component under the cursor
    const cursor = { row: 0, cycle: (states.start + states.end) / 2 };
    let first = 0; // of the rows shown

    const number = (key, otherwise) => {
      const given = Number.parseFloat(View.get(key));
      return Number.isFinite(given) ? given : otherwise;
    };
    const rows = () =>
      all.filter((one) =>
        View.get("only")
          .trim()
          .split(/\s+/)
          .some((word) => one.name.includes(word)),
      );
    function view() {
      const from = Math.max(states.start, Math.min(number("from", states.start), states.end));
      return [from, Math.max(from, Math.min(number("to", states.end), states.end))];
    }

    /* Looks at so many cycles from one on, within the run. */
    function look(from, wide) {
      const held = Math.min(Math.max(wide, SMALLEST), states.end - states.start);
      const begin = Math.max(states.start, Math.min(from, states.end - held));
      View.set(
        held >= states.end - states.start
          ? { from: "", to: "" }
          : { from: String(Math.round(begin)), to: String(Math.round(begin + held)) },
      );
    }

    function zoom(factor, at) {
      const [from, to] = view();
      look(at - (at - from) * factor, (to - from) * factor);
    }

    function scale() {
      return d3.scaleLinear(view(), [LABEL, Math.max(LABEL + 100, canvas.clientWidth - 8)]);
    }

    const colours = () => {
      const style = getComputedStyle(document.documentElement);
      return Object.fromEntries(
        ["busy", "input-stall", "output-stall", "idle", "text", "soft", "line", "accent", "ground"].map(
          (name) => [name, style.getPropertyValue(`--${name}`).trim()],
        ),
      );
    };

    function drawRow(pen, component, top, across, colour) {
      const [left, right] = across.range(),
        fills = [colour.busy, colour["input-stall"], colour["output-stall"], colour.idle];
      for (let x = left; x < right; x += 1) {
        let from = top + 2;
        Spans.kinds(states, component, across.invert(x), across.invert(x + 1)).forEach((share, kind) => {
          const high = share * (ROW - 4);
          if (high > 0) {
            pen.fillStyle = fills[kind];
            pen.fillRect(x, from, 1.02, high);
          }
          from += high;
        });
      }
      pen.fillStyle = colour.text;
      const scope = component.name.split(".").slice(1).join(".") || component.name;
      pen.fillText(scope.length > 30 ? `...${scope.slice(-28)}` : scope, 4, top + ROW - 5);
    }

    function drawAxis(pen, across, high, colour) {
      pen.strokeStyle = colour.line;
      pen.fillStyle = colour.soft;
      pen.textAlign = "center";
      for (const tick of across.ticks(Math.max(2, (across.range()[1] - LABEL) / 110))) {
        pen.fillRect(across(tick), high, 1, 5);
        pen.fillText(Format.value(tick), across(tick), high + 18);
      }
      pen.textAlign = "left";
    }

    function draw() {
      const shown = rows();
      cursor.row = Math.max(0, Math.min(cursor.row, shown.length - 1));
      first = Math.max(0, Math.min(first, cursor.row, shown.length - 1));
      first = Math.max(first, cursor.row - MOST_ROWS + 1);
      const listed = shown.slice(first, first + MOST_ROWS),
        high = listed.length * ROW;
      const sharp = devicePixelRatio || 1,
        wide = place.clientWidth;
      canvas.style.height = `${high + AXIS}px`;
      canvas.width = wide * sharp;
      canvas.height = (high + AXIS) * sharp;
      const pen = canvas.getContext("2d"),
        colour = colours(),
        across = scale();
      pen.scale(sharp, sharp);
      pen.font = "12px system-ui, 'DejaVu Sans', sans-serif";
      listed.forEach((component, at) => drawRow(pen, component, at * ROW, across, colour));
      drawAxis(pen, across, high, colour);
      if (listed.length) {
        pen.strokeStyle = colour.accent;
        pen.lineWidth = 2;
        pen.strokeRect(1, (cursor.row - first) * ROW + 1, wide - 2, ROW - 2);
        pen.fillStyle = colour.accent;
        pen.fillRect(across(cursor.cycle) - 1, 0, 2, high);
      }
      tell(shown);
    }

    function tell(shown) {
      const [from, to] = view(),
        component = shown[cursor.row];
      range.textContent = `Cycles ${Format.value(Math.round(from))} to ${Format.value(Math.round(to))} of ${Format.value(states.end)}; rows ${shown.length ? first + 1 : 0} to ${Math.min(first + MOST_ROWS, shown.length)} of ${shown.length}.`;
      canvas.setAttribute(
        "aria-label",
        `States of ${shown.length} components over cycles ${Math.round(from)} to ${Math.round(to)}`,
      );
      told.textContent = component
        ? `${component.name}, ${under(component).text}`
        : "No component has such a name.";
      const links = component ? chain(component.name) : [];
      causes.replaceChildren(...links.map(([name, text]) => element("li", {}, `${name} ${text}`)));
    }

    /* The chain that leads on from a component: its own, or the rest of that which led to it. */
    function chain(name) {
      const own = Spans.chain(states, name, cursor.cycle);
      if (own.length) return own;
      const at = trail.findIndex(([link]) => link === name);
      return at < 0 ? [] : trail.slice(at);
    }

    /* What a component did in the interval under the cursor. */
    function under(component) {
      const at = Math.min(
        component.intervals - 1,
        Math.floor((cursor.cycle - states.start) / states.interval),
      );
      const [from, to] = [Spans.edge(states, at), Spans.edge(states, at + 1)];
      const spent = Spans.shares(states, component, from, to);
      const when =
        to - from === 1
          ? `cycle ${Format.value(from)}`
          : `cycles ${Format.value(from)} to ${Format.value(to - 1)}`;
      return { spent, text: `${when}: ${spent.map(Spans.words).join(", ")}` };
    }

    /* From a component that waits to the next one of its chain, else to the first of those that it waits for. */
    function follow() {
      const shown = rows(),
        here = shown[cursor.row];
      if (!here) return;
      const links = chain(here.name);
      const next = links.find(([name]) => name !== here.name);
      if (links.length) trail = links;
      const goal = links.length
        ? next?.[0]
        : under(here).spent.find((one) => one.peers.length)?.peers[0];
      if (!goal) return;
      if (!shown.some((one) => one.name === goal)) {
        only.value = "";
        View.set({ only: "" });
      }
      cursor.row = rows().findIndex((one) => one.name === goal);
      draw();
    }

    function move(rowsDown, part) {
      const [from, to] = view(),
        wide = to - from;
      cursor.row += rowsDown;
      cursor.cycle = Math.max(states.start, Math.min(states.end - 0.5, cursor.cycle + part * wide));
      if (part && (cursor.cycle < from || cursor.cycle >= to)) look(cursor.cycle - wide / 2, wide);
      draw();
    }

    const KEYS = {
      ArrowUp: () => move(-1, 0),
      ArrowDown: () => move(1, 0),
      ArrowLeft: () => move(0, -0.02),
      ArrowRight: () => move(0, 0.02),
      PageUp: () => move(-MOST_ROWS, 0),
      PageDown: () => move(MOST_ROWS, 0),
      "+": () => zoom(0.5, cursor.cycle),
      "=": () => zoom(0.5, cursor.cycle),
      "-": () => zoom(2, cursor.cycle),
      Home: () => look(states.start, states.end - states.start),
      Enter: follow,
    };
    canvas.addEventListener("keydown", (event) => {
      const act = KEYS[event.key];
      if (act && !event.ctrlKey && !event.metaKey) {
        event.preventDefault();
        act();
      }
    });

    function point(event) {
      const box = canvas.getBoundingClientRect();
      cursor.row = first + Math.floor((event.clientY - box.top) / ROW);
      const cycle = scale().invert(event.clientX - box.left),
        [from, to] = view();
      cursor.cycle = Math.max(from, Math.min(cycle, to - 0.5, states.end - 0.5));
    }
    let dragged = null;
    canvas.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        point(event);
        zoom(event.deltaY > 0 ? 1.25 : 0.8, cursor.cycle);
      },
      { passive: false },
    );
    canvas.addEventListener("pointerdown", (event) => {
      dragged = { x: event.clientX, view: view() };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointerup", () => {
      dragged = null;
    });
    canvas.addEventListener("dblclick", follow);
    canvas.addEventListener("pointermove", (event) => {
      if (!dragged) {
        point(event);
        draw();
        return;
      }
      const [from, to] = dragged.view,
        pixels = scale().range()[1] - LABEL;
      look(from - ((event.clientX - dragged.x) / pixels) * (to - from), to - from);
    });
    only.addEventListener("input", () => {
      first = cursor.row = 0;
      View.set({ only: only.value });
    });

    const button = (id, text, act) => element("button", { type: "button", id, click: act }, text);
    const table = () =>
      tabular(
        "",
        ["component", ...Bars.SHARES],
        rows().map((one) => [one.name, ...Spans.kinds(states, one, ...view())]),
      );
    const exact =
      states.interval === 1
        ? "Every cycle is shown as it was."
        : `Each interval has ${Format.value(states.interval)} cycles. The cycles of each state within an interval are exact, their order is not known.`;

    View.follow(draw);
    new ResizeObserver(draw).observe(place);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    const help = `${exact} The wheel zooms, dragging moves; keys: arrows and Page keys move the cursor, + and - zoom, Home shows the whole run, Enter (or a double click) leads to whom the component under the cursor waits for; a chain through networks into memory is listed, and Enter follows it.`;
    return Chart.frame(
      "Who waited for whom",
      place,
      [told, causes, range, element("p", { id: "waits-help" }, help)],
      table,
      element(
        "div",
        { class: "controls" },
        element("label", {}, "Components named", only),
        button("zoom-in", "Zoom in", () => zoom(0.5, cursor.cycle)),
        button("zoom-out", "Zoom out", () => zoom(2, cursor.cycle)),
        button("whole", "Whole run", KEYS.Home),
        button("follow", "Go to whom it waits for", follow),
      ),
      Bars.legend(),
    );
  }

  return { show };
})();
