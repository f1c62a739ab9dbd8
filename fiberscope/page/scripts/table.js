/* All runs that the filter leaves, a page at a time; a column's head sorts by it. */
const Table = (() => {
  const PAGE = 50;
  const ALWAYS = ["status", "cycles", "bottleneck"];

  const sorting = () => { const [, sign, name] = /^(-?)(.*)$/.exec(View.get("sort", "")); return { column: Data.column(name), down: sign === "-" }; };

  /* The runs in the order that the table has them; runs without a value come last. */
  function sorted(runs) {
    const { column, down } = sorting();
    if (!column) return runs;
    const value = (run) => run[column.name];
    const missing = (run) => Number(value(run) === null || value(run) === undefined || value(run) === "");
    return [...runs].sort((a, b) => missing(a) - missing(b) || (down ? -1 : 1) * d3.ascending(value(a), value(b)));
  }

  function columns() {
    const asked = View.get("columns").split(","), found = Data.columns.filter((column) => asked.includes(column.name));
    if (found.length) return found;
    return Data.columns.filter((column) => column.shown || ALWAYS.includes(column.name));
  }

  function head(column) {
    const now = sorting(), here = now.column === column;
    const next = here && !now.down ? `-${column.name}` : column.name;
    return element("th", { scope: "col", class: Data.numeric(column) ? "number" : null, "aria-sort": here ? (now.down ? "descending" : "ascending") : "none" },
      element("button", { type: "button", id: `sort-${column.name}`, click: () => View.set({ sort: here && now.down ? "" : next, page: "" }) }, `${column.label}${here ? (now.down ? " ▼" : " ▲") : ""}`));
  }

  function cell(run, column) {
    if (column.name === "status" && !Data.done(run)) return element("td", { class: "failed" }, run.status);
    if (column.name === "bottleneck") return element("td", { class: Data.done(run) ? "sentence" : "sentence failed" }, Data.done(run) ? run.bottleneck : run.reason);
    return element("td", { class: Data.numeric(column) ? "number" : null }, Format.value(run[column.name], column.unit));
  }

  function row(run, shown) {
    const chosen = View.get("run") === run.id, second = View.get("other") === run.id;
    const pick = (key, on, id, label, text) => element("button", { type: "button", id, "aria-pressed": String(on), "aria-label": label, click: (event) => { event.stopPropagation(); View.set({ [key]: on ? "" : run.id }); } }, text);
    return element("tr", { class: [chosen && "selected", second && "other"].filter(Boolean).join(" ") || null, click: () => View.set({ run: run.id }) },
      element("td", {}, pick("run", chosen, `look-${run.id}`, `Look at run ${run.number}`, String(run.number))),
      element("td", {}, pick("other", second, `second-${run.id}`, `2nd: take run ${run.number} as the second run`, "2nd")),
      shown.map((column) => cell(run, column)));
  }

  function pager(page, pages, count) {
    const turn = (id, text, to) => element("button", { type: "button", id, disabled: to < 0 || to >= pages, click: () => View.set({ page: to ? String(to + 1) : "" }) }, text);
    return element("div", { class: "controls" }, turn("page-before", "Previous", page - 1),
      element("span", {}, count ? `${page * PAGE + 1} to ${Math.min(count, (page + 1) * PAGE)} of ${count}` : "none"), turn("page-after", "Next", page + 1));
  }

  function choice() {
    const shown = new Set(columns().map((column) => column.name));
    const toggle = (column) => (event) => {
      if (event.target.checked) shown.add(column.name); else shown.delete(column.name);
      View.set({ columns: Data.columns.map((each) => each.name).filter((name) => shown.has(name)).join(",") });
    };
    const details = element("details", { id: "columns", open: View.get("choosing") === "1", toggle: () => { if (details.open !== (View.get("choosing") === "1")) View.set({ choosing: details.open ? "1" : "" }); } },
      element("summary", { id: "columns-summary" }, "Columns"),
      element("div", { class: "controls" }, Data.columns.map((column) => element("label", { class: "line" },
        element("input", { type: "checkbox", id: `column-${column.name}`, checked: shown.has(column.name), change: toggle(column) }), column.label))));
    return details;
  }

  function show(runs) {
    const pages = Math.max(1, Math.ceil(runs.length / PAGE)), page = Math.min(pages, Math.max(1, Math.floor(Number(View.get("page", "1"))) || 1)) - 1;
    const shown = columns();
    return [
      choice(),
      element("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Table of runs" }, element("table", { class: "runs" },
        element("caption", {}, "Runs; a column's head sorts by it"),
        element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "run"), element("th", { scope: "col" }, "compare"), shown.map(head))),
        element("tbody", {}, runs.slice(page * PAGE, (page + 1) * PAGE).map((run) => row(run, shown))))),
      pager(page, pages, runs.length),
    ];
  }

  return { sorted, show };
})();
