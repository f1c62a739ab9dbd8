/* The data that the page carries. Of a study: `columns`, and `runs` with a value a column, by its name. */
const Data = (() => {
  const carried = JSON.parse(document.getElementById("data").textContent);
  if (carried.kind !== "study") return carried;

  for (const column of carried.columns)
    column.values = column.words
      ? column.codes.map((code) => (code < 0 ? null : column.words[code]))
      : column.values;
  const runs = carried.numbers.map((number, at) => {
    const run = { number, at, id: carried.ids[at], spread: carried.spreads?.[at] ?? null };
    for (const column of carried.columns) run[column.name] = column.values[at];
    return run;
  });
  const column = (name) => carried.columns.find((each) => each.name === name);
  const byId = new Map(runs.map((run) => [run.id, run]));

  /* How a run's components spent their cycles, by family: shares of `states`, from 0 to 1. */
  function families(run) {
    return carried.families[run.at].map(([name, count, ...shares]) => ({
      name: carried.family_names[name],
      count,
      shares: shares.map((share) => share / 10000),
    }));
  }

  /* Every setting of a run: what most runs of its accelerator have, and where it differs. */
  function settings(run) {
    const common = carried.settings.common[run.accelerator ?? ""] ?? {};
    return { ...common, ...carried.settings.own[run.at] };
  }

  /* What tells a run from the others, in words: its parameters first. */
  const telling = d3.sort(carried.telling.map(column), (each) => Number(each.role !== "parameter"));

  function name(run) {
    const told = telling.filter((each) => ![null, ""].includes(run[each.name]));
    const words = told.map((each) => {
      const value = Format.value(run[each.name], each.unit);
      return each.role === "parameter" ? `${each.label} ${value}` : value;
    });
    return words.join(", ") || `run ${run.number}`;
  }

  const ESTIMATED = ["cycles", "seconds", "operations_per_second", "memory_utilization"];

  /* Half the width of the 95 % interval of an estimate, as a share of it; null of a count. */
  const spread = (run, { name }) => (ESTIMATED.includes(name) ? run.spread : null);

  /* A value of a run, with the error of an estimate. */
  function text(run, column) {
    const share = spread(run, column);
    return Format.value(run[column.name], column.unit) + (share === null ? "" : ` ± ${Format.value(share, "share")}`);
  }

  /* The values of a column, and the ends of the intervals of estimates. */
  const ends = (runs, column) =>
    runs.flatMap((run) => {
      const share = spread(run, column);
      const value = run[column.name];
      return share === null ? [value] : [value * (1 - share), value, value * (1 + share)];
    });

  /* A value where room is short: of a workload its short name. */
  const short = (column, value) =>
    (column.name === "workload" && carried.short_names[value]) || String(value ?? "none");

  const values = (runs, { name }) => runs.map((run) => run[name]);
  const numeric = (which) => which.type === "number";
  const measures = carried.columns.filter((each) => each.role === "measure");
  const parameters = carried.columns.filter((each) => each.role === "parameter");
  const identities = carried.columns.filter((each) => each.role === "identity");
  const done = (run) => run.status === "done";
  const unitOf = (key) =>
    carried.columns.find((each) => each.role === "parameter" && each.label === key)?.unit ?? "";
  const own = (run) => carried.settings.own[run.at];
  return {
    ...carried,
    own,
    unitOf,
    runs,
    column,
    byId,
    families,
    settings,
    name,
    short,
    numeric,
    values,
    spread,
    text,
    ends,
    measures,
    parameters,
    identities,
    done,
  };
})();
