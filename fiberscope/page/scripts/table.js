/* All runs that the filter leaves, a page at a time; a column's head sorts by it. */
const Table = (() => {
  const PAGE = 50;
  const ALWAYS = ["status", "cycles", "bottleneck"];

  const sorting = () => {
    const [, sign, name] = /^(-?)(.*)$/.exec(View.get("sort", ""));
    return { column: Data.column(name), down: sign === "-" };
  };

  /* The runs in the order that the table has them; runs without a value come last. */
  function sorted(runs) {
    const { column, down } = sorting();
    if (!column) return runs;
    const value = (run) => run[column.name];
    const missing = (run) => Number(value(run) === null || value(run) === undefined || value(run) === "");
    return [...runs].sort(
      (a, b) => missing(a) - missing(b) || (down ? -1 : 1) * d3.ascending(value(a), value(b)),
    );
  }

  function columns() {
    const asked = View.get("columns").split(",");
    const found = Data.columns.filter((column) => asked.includes(column.name));
    if (found.length) return found;
    return Data.columns.filter((column) => column.shown || ALWAYS.includes(column.name));
  }

  const side = (column) => (Data.numeric(column) ? "number" : null);

  function head(column) {
    const { column: sorter, down } = sorting();
    const order = sorter !== column ? "none" : down ? "descending" : "ascending";
    const next = { none: column.name, ascending: `-${column.name}`, descending: "" }[order];
    const arrow = { none: "", ascending: " ▲", descending: " ▼" }[order];
    const sort = () => View.set({ sort: next, page: "" });
    return element(
      "th",
      { scope: "col", class: side(column), "aria-sort": order },
      button(`sort-${column.name}`, column.label + arrow, sort),
    );
  }

  /* What held a run back, or why it failed, stands in one place. */
  const value = (run, { name }) => (name === "bottleneck" && !Data.done(run) ? run.reason : run[name]);

  function cell(run, column) {
    const failed = !Data.done(run) && ["status", "bottleneck"].includes(column.name);
    const kinds = [failed ? "failed" : side(column), column.name === "bottleneck" && "sentence"];
    const text = Data.numeric(column) ? Data.text(run, column) : Format.value(value(run, column));
    return element("td", { class: kinds.filter(Boolean).join(" "), title: side(column) ? null : text }, text);
  }

  /* A button of a row that takes its run as the first or as the second, or lets it go. */
  function pick(run, key, text, label) {
    const on = View.get(key) === run.id;
    const click = (event) => {
      event.stopPropagation();
      View.set({ [key]: on ? "" : run.id });
    };
    const told = { "aria-pressed": String(on), "aria-label": label };
    return element("td", {}, button(`${key}-${run.id}`, text, click, told));
  }

  function row(run, shown) {
    const chosen = [View.get("run") === run.id && "selected", View.get("other") === run.id && "other"];
    return element(
      "tr",
      { class: chosen.filter(Boolean).join(" "), click: () => View.set({ run: run.id }) },
      pick(run, "run", String(run.number), `Look at run ${run.number}`),
      pick(run, "other", "2nd", `2nd: take run ${run.number} as the second run`),
      shown.map((column) => cell(run, column)),
    );
  }

  function pager(page, pages, count) {
    const turn = (id, text, to) => {
      const disabled = to < 0 || to >= pages;
      return button(id, text, () => View.set({ page: to ? String(to + 1) : "" }), { disabled });
    };
    const here = count ? `${page * PAGE + 1} to ${Math.min(count, (page + 1) * PAGE)} of ${count}` : "none";
    const buttons = [turn("page-before", "Previous", page - 1), turn("page-after", "Next", page + 1)];
    return element("div", { class: "controls" }, buttons[0], element("span", {}, here), buttons[1]);
  }

  /* Which columns there are: a box to tick for each. */
  function choice(shown) {
    const toggle = (column) => () => {
      const kept = Data.columns.filter((each) => shown.includes(each) !== (each === column));
      View.set({ columns: kept.map((each) => each.name).join(",") });
    };
    const boxes = Data.columns.map((column) => {
      const told = { type: "checkbox", id: `column-${column.name}`, checked: shown.includes(column) };
      const box = element("input", { ...told, change: toggle(column) });
      return element("label", { class: "line" }, box, column.label);
    });
    return openable("choosing", "Columns", element("div", { class: "controls" }, boxes));
  }

  /* All of them with the columns that are shown, for a file. */
  function whole(runs) {
    const shown = columns();
    const heads = shown.map(({ label, unit }) => ({ text: label, unit }));
    const errors = Data.spreads ? [{ text: "half-width of the 95 % interval", unit: "share" }] : [];
    const row = (run) => [
      ...[run.number, ...shown.map((column) => value(run, column))],
      ...errors.map(() => run.spread ?? ""),
    ];
    return tabular("", ["run", ...heads, ...errors], runs.map(row));
  }

  function show(runs) {
    const pages = Math.max(1, Math.ceil(runs.length / PAGE));
    const asked = Math.floor(Number(View.get("page"))) || 1;
    const page = Math.min(pages, Math.max(1, asked)) - 1;
    const shown = columns();
    const heads = ["run", "compare"].map((text) => element("th", { scope: "col" }, text));
    const rows = runs.slice(page * PAGE, (page + 1) * PAGE).map((run) => row(run, shown));
    const table = element(
      "table",
      { class: "runs" },
      element("caption", {}, "Runs; a column's head sorts by it"),
      element("thead", {}, element("tr", {}, heads, shown.map(head))),
      element("tbody", {}, rows),
    );
    const title = element("h2", {}, "Runs");
    const save = Export.buttons("Runs", () => whole(runs), false);
    return [element("div", { class: "head" }, title, save), choice(shown), wide("Table of runs", table), pager(page, pages, runs.length)];
  }

  return { sorted, show };
})();
