/* Scales and axes: from the values of a column to where they are drawn and what is written beside them. */
const Scale = (() => {
  const WIDE = 20; // values that span more than this factor are shown on a logarithmic scale
  const SWEPT = 10; // the same of a parameter, whose values mostly double
  const LETTER = 7.3; // pixels, about
  const TURN = 40; // degrees, of words that have no room side by side
  const FEW = 10; // values of a parameter, of which each has a tick

  /* The powers of a base that span these values, and not too many of them. */
  function powers([least, most], base) {
    const exponent = (value, nudge) => Math.log(value) / Math.log(base) + nudge;
    const [first, last] = [Math.floor(exponent(least, 1e-9)), Math.ceil(exponent(most, -1e-9))];
    const step = Math.ceil((last - first) / 7) || 1;
    return d3.range(first, last + 1, step).map((power) => base ** power);
  }

  /* Where an axis of numbers has its ticks: at round numbers of the unit, for bytes at powers of two. */
  function ticks([least, most], unit, logarithmic) {
    const binary = unit.startsWith("bytes");
    if (logarithmic && binary) return powers([least, most], 2);
    if (logarithmic && Math.log10(most / least) > 2.2) return powers([least, most], 10);
    if (logarithmic) return powers([least, most], 10).flatMap((power) => [power, 2 * power, 5 * power]);
    const size = binary ? 1024 ** Math.floor(Math.log2(Math.max(1, most)) / 10) : 1;
    return d3.ticks(least / size, most / size, 6).map((number) => number * size);
  }

  const label = ({ label, unit }) => (unit && !unit.startsWith("bytes") ? `${label} (${unit})` : label);

  /* A scale for the values of a column, with its ticks; `log` asks for a logarithmic one whatever they span. */
  function of(column, values, log = false, width = Infinity) {
    if (column.type !== "number")
      return { label: label(column), type: "point", padding: 0.5, turned: turned(column, values, width) };
    const [least, most] = d3.extent(values);
    const parameter = column.role === "parameter";
    const logarithmic = log || (least > 0 && most / least > (parameter ? SWEPT : WIDE));
    const from = logarithmic || parameter ? least : Math.min(0, least);
    const distinct = [...new Set(values)];
    const exact = parameter && distinct.length <= FEW;
    const at = exact ? distinct : ticks([from, most], column.unit, logarithmic);
    const [low, high] = exact || logarithmic ? [from, most] : d3.extent([...at, from, most]);
    return {
      label: label(column),
      type: logarithmic ? "log" : "linear",
      domain: low === high && !logarithmic ? [low - 1, high + 1] : [low, high],
      grid: true,
      inset: 8,
      ticks: at.filter((tick) => tick >= low && tick <= high),
    };
  }

  /* The axes of a chart, written by the units of their columns. */
  function axes([x, across], [y, up]) {
    const write =
      (column) =>
      (value) =>
        typeof value === "number" ? Format.tick(column.unit)(value) : Data.short(column, value);
    const options = (column, { label }) => ({ text: write(column), label, ariaHidden: "true" });
    const at = ({ ticks }) => (ticks ? [ticks] : []);
    const turned = across.turned ? { tickRotate: -TURN, labelOffset: across.turned - 8 } : {};
    return [
      Plot.axisX(...at(across), { ...options(x, across), ...turned }),
      Plot.axisY(...at(up), options(y, up)),
    ];
  }

  /* The height of words below a chart that have to be turned to stand side by side; 0 where they need not be. */
  function turned(column, values, width) {
    const words = [...new Set(values)].map((value) => Data.short(column, value));
    const longest = LETTER * d3.max(words, (word) => word.length);
    return longest * (words.length + 1) < width ? 0 : 36 + longest * Math.sin((TURN * Math.PI) / 180);
  }

  return { of, axes };
})();
