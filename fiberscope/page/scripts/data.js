/* The data that the page carries. Of a study: `columns`, and `runs` with a value a column, by its name. */
const Data = (() => {
  const carried = JSON.parse(document.getElementById("data").textContent);
  if (carried.kind !== "study") return carried;

  for (const column of carried.columns)
    column.values = column.words
      ? column.codes.map((code) => (code < 0 ? null : column.words[code]))
      : column.values;
  const runs = carried.numbers.map((number, at) => {
    const run = { number, at, id: carried.ids[at] };
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
    measures,
    parameters,
    identities,
    done,
  };
})();
