/* A choice of one of several views; arrows go from one to the next, as in any list of tabs. */
const Tabs = (() => {
  /* `views` are [key, label, ...]; the key is kept in the link as `show`. */
  function show(views, chosen) {
    const at = views.findIndex(([key]) => key === chosen);
    const keys = (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const [to] = views[(at + step + views.length) % views.length];
      View.set({ show: to });
      document.getElementById(`tab-${to}`).focus();
    };
    const list = { role: "tablist", "aria-label": "Charts", keydown: keys };
    return element(
      "div",
      list,
      views.map(([key, label]) => tab(key, label, key === chosen)),
    );
  }

  function tab(key, label, chosen) {
    const attributes = {
      type: "button",
      role: "tab",
      id: `tab-${key}`,
      "aria-selected": String(chosen),
      "aria-controls": "chart",
      tabindex: chosen ? 0 : -1,
      click: () => View.set({ show: key }),
    };
    return element("button", attributes, label);
  }

  return { show };
})();
