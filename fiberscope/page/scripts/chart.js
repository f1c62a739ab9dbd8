/* What all charts share: frame, scales, groups by colour and shape, and the same as a table. */
const Chart = (() => {
  const SERIES = [1, 2, 3, 4, 5, 6].map((at) => `var(--series-${at})`);
  const SHAPES = ["circle", "square", "triangle", "diamond", "cross", "star"];
  const WIDE = 20;  // values that span more than this factor are shown on a logarithmic scale

  const width = (place) => Math.max(300, Math.min(1100, place));
  const style = { background: "none", color: "inherit", fontFamily: "inherit", fontSize: "13px", overflow: "visible" };

  /* Where an axis of numbers has its ticks: at round numbers of the unit, for bytes at powers of two. */
  function ticks([least, most], unit, logarithmic) {
    const binary = unit.startsWith("bytes"), base = binary ? 2 : 10;
    if (!logarithmic) {
      const size = binary ? 1024 ** Math.floor(Math.log2(Math.max(1, most)) / 10) : 1;
      return d3.ticks(least / size, most / size, 6).map((number) => number * size);
    }
    const [first, last] = [Math.floor(Math.log(least) / Math.log(base) + 1e-9), Math.ceil(Math.log(most) / Math.log(base) - 1e-9)];
    const step = Math.ceil((last - first) / 7) || 1, powers = d3.range(first, last + 1, step).map((power) => base ** power);
    return binary || Math.log10(most / least) > 2.2 ? powers : powers.flatMap((power) => [power, 2 * power, 5 * power]);
  }

  /* A scale for the values of a column, and the ticks of its axis; a parameter of few values has one at each. */
  function scale(column, values, { logarithm = "by span" } = {}) {
    const label = `${column.label}${column.unit.startsWith("bytes") || !column.unit ? "" : ` (${column.unit})`}`;
    if (!Data.numeric(column)) return { label, type: "point", padding: 0.5 };
    const [least, most] = d3.extent(values), distinct = [...new Set(values)];
    const logarithmic = logarithm === "always" || (least > 0 && most / least > WIDE);
    const exact = column.role === "parameter" && distinct.length <= 10;
    const from = logarithmic || column.role === "parameter" ? least : Math.min(0, least);
    const at = exact ? distinct : ticks([from, most], column.unit, logarithmic);
    const domain = exact ? [least, most] : d3.extent([...values, from, ...(logarithmic ? [] : at)]);
    return { label, type: logarithmic ? "log" : "linear", domain: domain[0] === domain[1] && !logarithmic ? [domain[0] - 1, domain[0] + 1] : domain, grid: true, inset: 8, ticks: at.filter((tick) => tick >= domain[0] && tick <= domain[1]) };
  }

  /* The axes of a chart, written by the units of their columns. */
  function axes([x, across], [y, up]) {
    const write = (column) => (value) => (typeof value === "number" ? Format.tick(column.unit)(value) : String(value ?? "none"));
    const of = (column, { ticks, label }) => [...(ticks ? [ticks] : []), { text: write(column), label, ariaHidden: "true" }];
    return [Plot.axisX(...of(x, across)), Plot.axisY(...of(y, up))];
  }

  /* Runs by the value of a column; those beyond the fifth value that is seen go together. */
  function groups(name, runs) {
    if (!name) return [{ name: "all runs", runs, colour: SERIES[0], shape: SHAPES[0] }];
    const column = Data.column(name);
    const found = d3.groups(runs, (run) => run[name]).sort((a, b) => d3.ascending(a[0], b[0]));
    const kept = found.length <= SERIES.length ? found : [...found.slice(0, SERIES.length - 1), ["others", found.slice(SERIES.length - 1).flatMap(([, members]) => members)]];
    return kept.map(([value, members], at) => ({
      name: value === "others" ? value : `${Data.numeric(column) ? `${column.label} ` : ""}${Format.value(value, column.unit) || "none"}`,
      runs: members, colour: SERIES[at], shape: SHAPES[at],
    }));
  }

  function sign(group) {
    const symbol = d3[`symbol${group.shape[0].toUpperCase()}${group.shape.slice(1)}`];
    const svg = d3.create("svg").attr("width", 14).attr("height", 14).attr("viewBox", "-8 -8 16 16").attr("aria-hidden", "true");
    svg.append("path").attr("d", d3.symbol(symbol, 90)()).attr("fill", group.colour);
    return svg.node();
  }

  const legend = (shown) => shown.length < 2 ? null : element("ul", { class: "legend", "aria-label": "Legend" }, shown.map((group) => element("li", {}, sign(group), group.name)));

  /* The same as a table, made when it is opened. */
  function asTable(make) {
    const details = element("details", { toggle: () => { if (details.open && details.children.length === 1) details.append(element("div", { class: "wide" }, make())); } }, element("summary", {}, "The same as a table"));
    return details;
  }

  const frame = (title, svg, caption, make, ...more) => element("figure", {}, element("h3", {}, title), more, svg, caption ? element("figcaption", {}, caption) : null, make ? asTable(make) : null);
  const nothing = (title, reason) => element("figure", {}, element("h3", {}, title), element("p", { class: "soft" }, reason));
  const columnsOf = (columns) => columns.map((column) => [column.name, column.label]);
  return { width, style, scale, axes, groups, legend, frame, nothing, columnsOf };
})();
