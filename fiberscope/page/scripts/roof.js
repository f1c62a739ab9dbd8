/* Roofs over points of a roofline: { bandwidth, peak }, the memory's slope and the workers' flat part, null if not known. */
const Roof = (() => {
  const height = (intensity, { bandwidth, peak }) =>
    Math.min(bandwidth ? intensity * bandwidth : Infinity, peak ?? Infinity);

  function outline(roof, [least, most]) {
    const ridge = roof.peak && roof.bandwidth ? roof.peak / roof.bandwidth : most;
    return [least, ...(ridge > least && ridge < most ? [ridge] : []), most].map((intensity) => ({
      intensity,
      height: height(intensity, roof),
    }));
  }

  function line(points) {
    const look = { stroke: "var(--soft)", strokeWidth: 2, ariaHidden: "true" };
    return Plot.line(points, { x: "intensity", y: "height", ...look });
  }

  return { height, outline, line };
})();
