/* Numbers as people read them, by the unit of their column. */
const Format = (() => {
  const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
  const few = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 4 });

  function scaled(number, names, step) {
    let at = 0;
    while (Math.abs(number) >= step && at < names.length - 1) {
      number /= step;
      at += 1;
    }
    return `${few.format(number)} ${names[at]}`.trim();
  }

  const bytes = (number) => scaled(number, ["B", "KiB", "MiB", "GiB", "TiB"], 1024);

  function time(seconds) {
    for (const [unit, size] of [
      ["s", 1],
      ["ms", 1e-3],
      ["us", 1e-6],
    ])
      if (seconds >= size) return `${few.format(seconds / size)} ${unit}`;
    return `${few.format(seconds * 1e9)} ns`;
  }

  const BY_UNIT = {
    bytes: bytes,
    "bytes/s": (number) => `${bytes(number)}/s`,
    s: time,
    share: (number) => `${few.format(100 * number)}%`,
    pJ: (number) => scaled(number, ["pJ", "nJ", "uJ", "mJ", "J"], 1000),
    um2: (number) => scaled(number, ["um2", "mm2"], 1e6),
    Hz: (number) => scaled(number, ["Hz", "kHz", "MHz", "GHz"], 1000),
    "ops/s": (number) => scaled(number, ["ops/s", "K ops/s", "M ops/s", "G ops/s", "T ops/s"], 1000),
  };

  function value(given, unit = "") {
    if (given === null || given === undefined || given === "") return "";
    if (typeof given !== "number") return String(given);
    if (BY_UNIT[unit]) return BY_UNIT[unit](given);
    if (given && Math.abs(given) < 1e-4) return given.toExponential(3);
    return Number.isInteger(given) ? whole.format(given) : few.format(given);
  }

  /* For an axis, where room is short. */
  const tick = (unit) => (number) =>
    BY_UNIT[unit]
      ? BY_UNIT[unit](number)
      : typeof number === "number" && Math.abs(number) >= 1e4
        ? d3.format("~s")(number)
        : value(number);

  return { value, tick };
})();
