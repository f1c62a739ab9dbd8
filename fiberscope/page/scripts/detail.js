/* The run that is looked at: how it ended, what held it back, its measures and every setting. */
const Detail = (() => {
  function measures(run) {
    const known = Data.measures.filter(
      (column) => run[column.name] !== null && run[column.name] !== "" && Data.numeric(column),
    );
    return element(
      "dl",
      {},
      known.flatMap((column) => [
        element("dt", {}, column.label),
        element("dd", {}, Data.text(run, column)),
      ]),
    );
  }

  function settings(run) {
    const all = Object.entries(Data.settings(run));
    const own = Data.own(run);
    const rows = all.map(([key, value]) => [
      key in own ? `${key} *` : key,
      Format.value(value, Data.unitOf(key)),
    ]);
    const caption = `* is not what most runs of ${run.accelerator} have`;
    return all.length
      ? openable("settings", `All ${all.length} settings`, plainTable(tabular(caption, ["setting", "value"], rows)))
      : null;
  }

  function actions(run) {
    const second = View.get("other") === run.id;
    const take = () => View.set({ other: second ? "" : run.id });
    return element(
      "div",
      { class: "controls" },
      button("as-second", "Take as the second run", take, { "aria-pressed": String(second) }),
      button("close-run", "Close", () => View.set({ run: "" })),
    );
  }

  const ending = (run) =>
    Data.done(run)
      ? element("p", {}, run.bottleneck || "")
      : element("p", { class: "failed" }, `${run.status}: ${run.reason}`);

  const NOBODY = "Choose a run in a chart or in the table to see its settings and its bottleneck.";

  function show(run) {
    if (!run) return [element("h2", {}, "A run"), element("p", { class: "soft" }, NOBODY)];
    return [
      element("h2", {}, `Run ${run.number}`),
      element("p", {}, Data.name(run)),
      ending(run),
      actions(run),
      Data.done(run) ? Bars.ofRun(run, "Where its cycles went", 350, Bars.legend()) : null,
      measures(run),
      settings(run),
    ];
  }

  return { show };
})();
