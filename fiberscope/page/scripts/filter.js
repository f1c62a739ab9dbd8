/* Which runs are shown: words that must be found, and comparisons such as `pe.count > 16` or `cycles <= 2e5`. */
const Filter = (() => {
  const SIZES = {
    b: 1,
    kib: 2 ** 10,
    mib: 2 ** 20,
    gib: 2 ** 30,
    kb: 1e3,
    mb: 1e6,
    gb: 1e9,
    k: 1e3,
    m: 1e6,
    g: 1e9,
    ns: 1e-9,
    us: 1e-6,
    ms: 1e-3,
    s: 1,
    "%": 0.01,
  };
  const COMPARE = {
    "=": (a, b) => a === b,
    "!=": (a, b) => a !== b,
    "<": (a, b) => a < b,
    "<=": (a, b) => a <= b,
    ">": (a, b) => a > b,
    ">=": (a, b) => a >= b,
  };

  function number(text) {
    const [, digits, unit] = /^(-?[\d.,]+(?:e[-+]?\d+)?)\s*([a-z%]*)$/i.exec(text) ?? [];
    if (digits === undefined || (unit && !(unit.toLowerCase() in SIZES))) return NaN;
    return Number(digits.replaceAll(",", "")) * (unit ? SIZES[unit.toLowerCase()] : 1);
  }

  const named = (text) => Data.columns.find((column) => [column.name, column.label].includes(text));

  function comparison(key, sign, value) {
    const column = named(key);
    if (!column)
      throw new Error(
        `There is no column ${key}; the columns are ${Data.columns.map((each) => each.label).join(", ")}.`,
      );
    const compare = COMPARE[sign];
    if (!Data.numeric(column)) {
      if (!["=", "!="].includes(sign)) throw new Error(`${key} holds words; compare it with = or !=.`);
      return (run) => compare(String(run[column.name] ?? ""), value);
    }
    const limit = number(value);
    if (Number.isNaN(limit)) throw new Error(`${key} holds numbers, and ${value} is none.`);
    return (run) => run[column.name] !== null && compare(run[column.name], limit);
  }

  const searched = (run) =>
    Data.columns
      .filter((column) => !Data.numeric(column))
      .map((column) => run[column.name] ?? "")
      .join(" ")
      .toLowerCase();
  const containing = (word) => (run) => searched(run).includes(word.toLowerCase());

  /* The test that a text stands for; throws an Error that says what is wrong with the text. */
  function parse(text) {
    const parts = text.replace(/\s*(<=|>=|!=|=|<|>)\s*/g, "$1").match(/[^\s"]*"[^"]*"|\S+/g) ?? [];
    const tests = parts.map((part) => {
      const [, key, sign, value] = /^([^<>=!"]+)(<=|>=|!=|=|<|>)(.+)$/.exec(part) ?? [];
      const bare = (value ?? part).replaceAll('"', "");
      return key ? comparison(key, sign, bare) : containing(bare);
    });
    return (run) => tests.every((test) => test(run));
  }

  return { parse };
})();
