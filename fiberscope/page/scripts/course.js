/* What was done in each interval of a run: the memory's bytes and the machine's work, one above the other. */
const Course = (() => {
  const TITLE = "Over time";

  /* What is counted: its name, its counts, their unit. */
  const counted = ({ read_bytes, write_bytes, ...told }) => [
    ["read", read_bytes, "bytes"],
    ["written", write_bytes, "bytes"],
    [Data.work, told[Data.work], ""],
  ];

  function plot([name, counts, unit], at, interval, width) {
    const look = { fill: Chart.SERIES[at], stroke: Chart.SERIES[at], fillOpacity: 0.35, line: true };
    return Plot.plot({
      width,
      height: 130,
      marginLeft: 90,
      marginBottom: 42,
      style: Chart.style,
      ariaLabel: `${name} in each ${interval} cycles`,
      x: { label: "cycle", grid: true, ticks: width / 90, ariaHidden: "true" },
      y: { label: `${name} ${unit ? "(bytes a cycle)" : "a cycle"}`, grid: true, ticks: 3, zero: true },
      marks: [
        Plot.areaY(counts, {
          x: (_, place) => (place + 0.5) * interval,
          y: (count) => count / interval,
          ariaHidden: "true",
          ...look,
        }),
      ],
    });
  }

  function table(lines, interval) {
    const heads = lines.map(([text, , unit]) => ({ text, number: true, unit }));
    const row = (_, at) => [at * interval, ...lines.map(([, counts]) => counts[at])];
    return tabular("", [{ text: "from cycle" }, ...heads], lines[0][1].map(row));
  }

  function show(width) {
    if (!Data.course) return null;
    const { interval, ...told } = Data.course;
    const lines = counted(told);
    const drawn = lines
      .filter(([, counts]) => d3.max(counts) > 0)
      .map((line, at) => plot(line, at, interval, width));
    const caption = `Means of every ${Format.value(interval)} cycles; the last interval may be shorter.`;
    return Chart.frame(TITLE, drawn, caption, () => table(lines, interval));
  }

  return { show };
})();
