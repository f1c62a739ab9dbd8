/* What all charts share: frame, groups by colour and shape, and the same as a table. */
const Chart = (() => {
  const SERIES = [1, 2, 3, 4, 5, 6].map((at) => `var(--series-${at})`);
  const SHAPES = ["circle", "square", "triangle", "diamond", "cross", "star"];

  const HEADING = Data.kind === "run" ? "h2" : "h3"; // those of a study stand under one of its charts
  const width = (place) => Math.max(300, Math.min(1100, place));
  const style = {
    background: "none",
    color: "inherit",
    fontFamily: "inherit",
    fontSize: "13px",
    overflow: "visible",
  };

  /* Marks over the axes of two columns with their scales. */
  function plot(title, width, height, x, y, marks) {
    const below = x[1].turned || 44;
    const margins = { marginLeft: 88, marginBottom: below };
    const all = [...Scale.axes(x, y), ...marks];
    return Plot.plot({ ...margins, width, height: height + below - 44, style, ariaLabel: title, x: x[1], y: y[1], marks: all });
  }

  /* Runs by the value of a column, each group with a colour and a shape; of many the last go together. */
  function groups(name, runs) {
    if (!name) return [{ name: "all runs", runs, colour: SERIES[0], shape: SHAPES[0] }];
    const { label, unit, type } = Data.column(name);
    const words = (value) =>
      type === "number" ? `${label} ${Format.value(value, unit) || "none"}` : Data.short(Data.column(name), value);
    const found = d3.groups(runs, (run) => run[name]).sort((a, b) => d3.ascending(a[0], b[0]));
    const all = found.map(([value, members]) => ({ name: words(value), runs: members }));
    const own = all.length > SERIES.length ? SERIES.length - 1 : all.length;
    const others = { name: "others", runs: all.slice(own).flatMap((group) => group.runs) };
    const kept = [...all.slice(0, own), ...(others.runs.length ? [others] : [])];
    return kept.map((group, at) => ({ ...group, colour: SERIES[at], shape: SHAPES[at] }));
  }

  function sign({ shape, colour }) {
    const size = { width: 14, height: 14, viewBox: "-8 -8 16 16", "aria-hidden": "true" };
    const svg = d3.create("svg");
    for (const [name, value] of Object.entries(size)) svg.attr(name, value);
    const symbol = d3[`symbol${shape[0].toUpperCase()}${shape.slice(1)}`];
    svg.append("path").attr("d", d3.symbol(symbol, 90)()).attr("fill", colour);
    return svg.node();
  }

  function legend(shown) {
    const items = shown.map((group) => element("li", {}, sign(group), group.name));
    return shown.length < 2 ? null : element("ul", { class: "legend", "aria-label": "Legend" }, items);
  }

  /* The same as a table, made when it is opened. */
  function asTable(title, make, summary = "The same as a table") {
    const place = wide(`${title}, as a table`);
    const toggle = ({ target }) => target.open && place.replaceChildren(plainTable(make()));
    return element("details", { toggle }, element("summary", {}, summary), place);
  }

  const head = (title, make, pictured) =>
    element("div", { class: "head" }, element(HEADING, {}, title), Export.buttons(title, make, pictured));

  /* A chart with its title, what stands between both, a caption, and what makes the table beside it. */
  function frame(title, drawn, caption, make, ...between) {
    const below = caption ? element("figcaption", {}, caption) : null;
    return element("figure", {}, head(title, make, true), between, drawn, below, asTable(title, make));
  }

  /* A table that stands for itself, with its title. */
  function tableFrame(title, make, caption) {
    const table = wide(title, plainTable(make()));
    return element("figure", {}, head(title, make, false), table, element("figcaption", {}, caption));
  }

  const nothing = (title, reason) =>
    element("figure", {}, element(HEADING, {}, title), element("p", { class: "soft" }, reason));

  const columnsOf = (columns) => columns.map((column) => [column.name, column.label]);

  return { SERIES, width, style, plot, groups, legend, asTable, frame, tableFrame, nothing, columnsOf };
})();
