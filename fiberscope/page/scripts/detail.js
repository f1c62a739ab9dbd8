/* The run that is looked at: how it ended, what held it back, its measures and every setting. */
const Detail = (() => {
  function measures(run) {
    const known = Data.measures.filter((column) => run[column.name] !== null && run[column.name] !== "" && Data.numeric(column));
    return element("dl", {}, known.flatMap((column) => [element("dt", {}, column.label), element("dd", {}, Format.value(run[column.name], column.unit))]));
  }

  function settings(run) {
    const all = Object.entries(Data.settings(run)), own = new Set(Object.keys(Data.own(run)));
    if (!all.length) return null;
    return element("details", { open: View.get("settings") === "open", toggle: (event) => { if (event.target.open !== (View.get("settings") === "open")) View.set({ settings: event.target.open ? "open" : "" }); } },
      element("summary", { id: "settings" }, `All ${all.length} settings`),
      plainTable("", ["setting", "value"], all.map(([key, value]) => [own.has(key) ? `${key} *` : key, Format.value(value, Data.unitOf(key))])));
  }

  function bars(run) {
    const families = Data.families(run).map((family) => ({ key: family.name, label: family.count > 1 ? `${family.name} x${family.count}` : family.name, shares: family.shares }));
    return families.length ? Chart.frame("Where its cycles went", Bars.draw(families, 350, 190), "", () => Bars.table(families, "components"), Bars.legend()) : null;
  }

  function show(run) {
    if (!run) return [element("h2", {}, "A run"), element("p", { class: "soft" }, "Choose a run in a chart or in the table to see its settings and what held it back.")];
    return [
      element("h2", {}, `Run ${run.number}`),
      element("p", {}, Data.name(run)),
      Data.done(run) ? element("p", {}, run.bottleneck || "") : element("p", { class: "failed" }, `${run.status}: ${run.reason}`),
      element("div", { class: "controls" },
        element("button", { type: "button", id: "as-second", "aria-pressed": String(View.get("other") === run.id), click: () => View.set({ other: View.get("other") === run.id ? "" : run.id }) }, "Take as the second run"),
        element("button", { type: "button", id: "close-run", click: () => View.set({ run: "" }) }, "Close")),
      bars(run), measures(run), settings(run),
    ];
  }

  return { show };
})();
