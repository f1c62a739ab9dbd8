/* The states of components over time, ready to be asked what a component did between any two cycles. */
const Spans = (() => {
  const KINDS = ["busy", "wait", "full", "idle"]; // in the order of Bars.STATES
  const WORDS = { busy: "busy", wait: "waiting for input", full: "waiting for output", idle: "idle" };

  /* Cycles of the first clock at which an interval begins and ends. */
  const edge = (states, at) => Math.min(states.start + at * states.interval, states.end);

  /* For each component its states with sums from the start, so that any stretch is one subtraction. */
  function components(states) {
    const intervals = Math.ceil((states.end - states.start) / states.interval);
    return Object.entries(states.components).map(([name, one]) => ({
      name,
      intervals,
      queues: one.queues,
      states: Object.entries(one.states).map(([state, cycles]) => {
        const sums = new Float64Array(intervals + 1);
        for (let at = 0; at < intervals; at += 1) sums[at + 1] = sums[at] + cycles[at];
        return {
          state,
          kind: state.split(":")[0],
          port: state.split(":")[1] ?? "",
          peers: one.waits_for[state] ?? [],
          sums,
        };
      }),
    }));
  }

  /* What has been spent up to a cycle; within an interval as if it were spent evenly. */
  function upTo(states, sums, cycle) {
    const place = Math.max(0, Math.min(sums.length - 1, (cycle - states.start) / states.interval));
    const at = Math.floor(place),
      next = Math.min(at + 1, sums.length - 1);
    const long = (edge(states, at + 1) - edge(states, at)) / states.interval || 1;
    return sums[at] + (sums[next] - sums[at]) * Math.min(1, (place - at) / long);
  }

  /* The share of each state of a component between two cycles, the largest first. */
  function shares(states, component, from, to) {
    const spent = component.states.map((one) => ({
      ...one,
      cycles: upTo(states, one.sums, to) - upTo(states, one.sums, from),
    }));
    const all = d3.sum(spent, (one) => one.cycles) || 1;
    return d3
      .sort(
        spent.filter((one) => one.cycles > 1e-9),
        (one) => -one.cycles,
      )
      .map((one) => ({ ...one, share: one.cycles / all }));
  }

  /* The shares of the four kinds of states, in their order. */
  function kinds(states, component, from, to) {
    const told = Object.fromEntries(KINDS.map((kind) => [kind, 0]));
    for (const one of component.states)
      told[one.kind] += upTo(states, one.sums, to) - upTo(states, one.sums, from);
    const all = d3.sum(KINDS, (kind) => told[kind]) || 1;
    return KINDS.map((kind) => told[kind] / all);
  }

  /* The recorded chain of waits of a component at a cycle, as [component, text] links; empty if there is none. */
  function chain(states, name, cycle) {
    const samples = states.chains?.components[name];
    if (!samples) return [];
    const at = Math.floor((cycle - states.start) / states.chains.interval);
    return (samples[at] ?? []).map((place) => states.chains.links[place]);
  }

  const words = (one) =>
    one.port
      ? `${WORDS[one.kind]} ${Format.value(one.share, "share")} (${one.port}; ${one.kind === "wait" ? "from" : "to"} ${few(one.peers)})`
      : `${one.state} ${Format.value(one.share, "share")}`;
  const few = (names) => (names.length > 2 ? `any of ${names.length}: ${names[0]} ...` : names.join(" or "));

  return { components, shares, kinds, chain, words, edge };
})();
