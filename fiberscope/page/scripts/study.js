/* A study of many runs: a filter, a chart at a time, the table, and the run that is looked at. */
const Study = (() => {
  const CHARTS = [["parameter", "By parameter", ByParameter], ["front", "Trade-off", Front], ["cycles", "Where cycles went", Cycles], ["roofline", "Roofline", Roofline], ["sides", "Two runs", Sides]];
  const MOST_CHOICES = 30;

  const few = (column) => { const count = new Set(column.values.filter((value) => value !== null)).size; return count > 1 && count <= MOST_CHOICES; };
  const groupable = () => [...["workload", "accelerator", "fidelity", "command", "version"].map(Data.column), ...Data.parameters].filter((column) => column && few(column));

  /* The column that colours stand for; empty for none. */
  function groupBy() {
    const asked = View.get("group");
    if (asked === "none") return "";
    return Data.column(asked)?.name ?? groupable()[0]?.name ?? "";
  }

  const groupChooser = () => chooser("Colour and shape", "group", [["none", "none"], ...Chart.columnsOf(groupable())], groupBy() || "none");

  function filtered(wrong) {
    wrong.textContent = "";
    let test = () => true;
    try {
      test = Filter.parse(View.get("filter"));
    } catch (error) {
      wrong.textContent = error.message;
    }
    const facets = Data.identities.filter((column) => View.get(`is.${column.name}`));
    return Table.sorted(Data.runs.filter((run) => test(run) && facets.every((column) => String(run[column.name]) === View.get(`is.${column.name}`))));
  }

  const facets = () => Data.identities.filter(few).map((column) => chooser(column.label, `is.${column.name}`,
    [["", "all"], ...[...new Set(column.values)].filter((value) => value !== null).sort(d3.ascending).map((value) => [value, value])], View.get(`is.${column.name}`)));

  function tabs(chosen) {
    const keys = (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const to = CHARTS[(CHARTS.findIndex(([key]) => key === chosen) + step + CHARTS.length) % CHARTS.length][0];
      View.set({ show: to });
      document.getElementById(`tab-${to}`).focus();
    };
    return element("div", { role: "tablist", "aria-label": "Charts", keydown: keys }, CHARTS.map(([key, label]) => element("button", {
      type: "button", role: "tab", id: `tab-${key}`, "aria-selected": String(key === chosen), "aria-controls": "chart", tabindex: key === chosen ? 0 : -1, click: () => View.set({ show: key }),
    }, label)));
  }

  function header() {
    const failed = Data.runs.filter((run) => !Data.done(run)).length;
    return element("header", { class: "column" }, element("h1", {}, Data.title),
      element("p", {}, `${Format.value(Data.total)} runs${failed ? `, ${Format.value(Data.failed)} of them failed (they are in the table, with the reason)` : ""}. Version ${Data.versions.join(", ")}.`),
      Data.notices.map((notice) => element("p", { class: "notice" }, notice)));
  }

  function show(body) {
    const field = element("input", { id: "filter", type: "search", value: View.get("filter"), placeholder: "pe.count > 16 wiki-Vote", "aria-describedby": "wrong filter-help", autocomplete: "off", spellcheck: "false" });
    field.addEventListener("input", () => View.set({ filter: field.value, page: "" }));
    const wrong = element("p", { id: "wrong", class: "wrong", role: "alert" }), count = element("output", { id: "count" });
    const choices = element("div", { class: "inline" }), bar = element("nav", { "aria-label": "Charts" }), chart = element("section", { id: "chart", role: "tabpanel" });
    const table = element("section", { class: "table", "aria-label": "Runs" }), aside = element("aside", { class: "panel", "aria-label": "The run looked at", tabindex: 0 });
    const main = element("main", { id: "main", class: "column" },
      element("search", {}, element("div", { class: "controls" }, element("label", { class: "grow" }, "Filter", field), choices), wrong,
        element("p", { class: "soft", id: "filter-help" }, "Words that a run must have, and comparisons of a column: pe.count > 16, fibercache.size <= 192KiB, status != done. ", count)),
      element("div", { class: "columns" }, element("div", { class: "charts" }, element("h2", { class: "unseen" }, "Charts"), bar, chart), aside, table));
    body.append(element("a", { class: "skip", href: "#main", click: (event) => { event.preventDefault(); main.querySelector("input").focus(); } }, "Skip to the filter"), header(), main,
      element("footer", { class: "column" }, `Made by Fiberscope ${Data.made_by}. The link in the address bar keeps what is shown here. Drawn with D3 and Observable Plot.`));

    function draw() {
      if (document.activeElement !== field) field.value = View.get("filter");
      const runs = filtered(wrong), chosen = CHARTS.find(([key]) => key === View.get("show")) ?? CHARTS[0];
      count.textContent = `${Format.value(runs.length)} of ${Format.value(Data.runs.length)} runs are shown.`;
      redraw(choices, facets());
      redraw(bar, tabs(chosen[0]));
      chart.setAttribute("aria-labelledby", `tab-${chosen[0]}`);
      redraw(chart, chosen[2].show(chosen[0] === "sides" ? runs : runs.filter(Data.done), chart.clientWidth));
      redraw(table, element("h2", {}, "Runs"), Table.show(runs));
      redraw(aside, Detail.show(Data.byId.get(View.get("run"))));
    }

    View.follow(draw);
    let seen = chart.clientWidth;
    new ResizeObserver(() => { if (chart.clientWidth !== seen) { seen = chart.clientWidth; draw(); } }).observe(chart);
    draw();
  }

  return { show, groupBy, groupChooser };
})();
