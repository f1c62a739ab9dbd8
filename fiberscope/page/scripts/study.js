/* A study of many runs: a filter, a chart at a time, the table, and the run that is looked at. */
const Study = (() => {
  const CHARTS = [
    ["parameter", "By parameter", ByParameter],
    ["front", "Trade-off", Front],
    ["cycles", "Where cycles went", Cycles],
    ["roofline", "Roofline", Roofline],
    ["sides", "Two runs", Sides],
  ];
  const MOST_CHOICES = 30;

  const few = (column) => {
    const count = new Set(column.values.filter((value) => value !== null)).size;
    return count > 1 && count <= MOST_CHOICES;
  };
  const groupable = () =>
    [
      Data.column("machine") ?? Data.column("accelerator"),
      Data.column("workload"),
      ...Data.parameters,
      ...["fidelity", "command", "version"].map(Data.column),
    ].filter((column) => column && few(column));

  /* The column across the charts by parameter: the first parameter that varies, else the workload. */
  const across = () =>
    Data.column(View.get("by")) ?? Data.parameters.find(few) ?? Data.column("workload");

  /* The column that colours stand for, empty for none: the machine, else what varies and is not across. */
  function groupBy() {
    const asked = View.get("group");
    if (asked === "none") return "";
    const others = groupable().filter((column) => column !== across());
    return Data.column(asked)?.name ?? others[0]?.name ?? "";
  }

  const groupChooser = () =>
    chooser(
      "Colour and shape",
      "group",
      [["none", "none"], ...Chart.columnsOf(groupable())],
      groupBy() || "none",
    );

  function filtered(wrong) {
    wrong.textContent = "";
    let test = () => true;
    try {
      test = Filter.parse(View.get("filter"));
    } catch (error) {
      wrong.textContent = error.message;
    }
    const facets = Data.identities.filter((column) => View.get(`is.${column.name}`));
    return Table.sorted(
      Data.runs.filter(
        (run) =>
          test(run) && facets.every((column) => String(run[column.name]) === View.get(`is.${column.name}`)),
      ),
    );
  }

  const facets = () =>
    Data.identities.filter(few).map((column) =>
      chooser(
        column.label,
        `is.${column.name}`,
        [
          ["", "all"],
          ...[...new Set(column.values)]
            .filter((value) => value !== null)
            .sort(d3.ascending)
            .map((value) => [value, value]),
        ],
        View.get(`is.${column.name}`),
      ),
    );

  function header() {
    const failed = Data.failed
      ? `, ${Format.value(Data.failed)} of them failed (they are in the table, with the reason)`
      : "";
    const runs = Data.total === 1 ? "1 run" : `${Format.value(Data.total)} runs`;
    const said = `${runs}${failed}. Version ${Data.versions.join(", ")}.`;
    const notices = Data.notices.map((notice) => element("p", { class: "notice" }, notice));
    return element(
      "header",
      { class: "column" },
      element("h1", {}, Data.title),
      element("p", {}, said),
      notices,
    );
  }

  function footer() {
    const said = `Made by Fiberscope ${Data.made_by}. The link in the address bar keeps what is shown here. `;
    return element("footer", { class: "column" }, said, "Drawn with D3 and Observable Plot.");
  }

  /* What is on the page for good; what is drawn anew at every change goes into these. */
  function parts() {
    const search = {
      id: "filter",
      type: "search",
      value: View.get("filter"),
      placeholder: "pe.count > 16 wiki-Vote",
      "aria-describedby": "wrong filter-help",
      autocomplete: "off",
      spellcheck: "false",
      input: (event) => View.set({ filter: event.target.value, page: "" }),
    };
    return {
      field: element("input", search),
      wrong: element("p", { id: "wrong", class: "wrong", role: "alert" }),
      count: element("output", { id: "count" }),
      choices: element("div", { class: "inline" }),
      bar: element("nav", { "aria-label": "Charts" }),
      chart: element("section", { id: "chart", role: "tabpanel" }),
      table: element("section", { class: "table", "aria-label": "Runs" }),
      aside: element("aside", { class: "panel", "aria-label": "The run looked at", tabindex: 0 }),
    };
  }

  function filterBar({ field, wrong, count, choices }) {
    const help =
      "Words that a run must have, and comparisons of a column: " +
      "pe.count > 16, fibercache.size <= 192KiB, status != done. ";
    return element(
      "search",
      {},
      element("div", { class: "controls" }, element("label", { class: "grow" }, "Filter", field), choices),
      wrong,
      element("p", { class: "soft", id: "filter-help" }, help, count),
    );
  }

  function skip(field) {
    const go = (event) => {
      event.preventDefault();
      field.focus();
    };
    return element("a", { class: "skip", href: "#filter", click: go }, "Skip to the filter");
  }

  function layOut(body, shown) {
    const heading = element("h2", { class: "unseen" }, "Charts");
    const charts = element("div", { class: "charts" }, heading, shown.bar, shown.chart);
    const columns = element("div", { class: "columns" }, charts, shown.aside, shown.table);
    const main = element("main", { class: "column" }, filterBar(shown), columns);
    body.append(skip(shown.field), header(), main, footer());
  }

  function draw({ field, wrong, count, choices, bar, chart, table, aside }) {
    if (document.activeElement !== field) field.value = View.get("filter");
    const runs = filtered(wrong);
    const [key, , view] = CHARTS.find(([key]) => key === View.get("show")) ?? CHARTS[0];
    count.textContent = `${Format.value(runs.length)} of ${Format.value(Data.runs.length)} runs are shown.`;
    redraw(choices, facets());
    redraw(bar, Tabs.show(CHARTS, key));
    chart.setAttribute("aria-labelledby", `tab-${key}`);
    redraw(chart, view.show(view === Sides ? runs : runs.filter(Data.done), chart.clientWidth));
    redraw(table, Table.show(runs));
    const run = Data.byId.get(View.get("run"));
    redraw(aside, Detail.show(run));
    aside.classList.toggle("empty", !run);
  }

  function show(body) {
    const shown = parts();
    if (Data.view && !location.hash) View.set(Data.view);
    layOut(body, shown);
    View.follow(() => draw(shown));
    let width = 0; // the first size that is seen is the one to draw for
    new ResizeObserver(() => {
      if (shown.chart.clientWidth === width) return;
      width = shown.chart.clientWidth;
      draw(shown);
    }).observe(shown.chart);
  }

  return { show, across, groupBy, groupChooser };
})();
