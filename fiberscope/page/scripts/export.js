/* What is drawn, as a file: SVG and PNG of a figure as it is shown, CSV of its table with numbers as they are. */
const Export = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const SHARP = 2; // pixels of a PNG by pixel of the page
  const MARGIN = 12; // pixels around what is drawn
  const LOOK = [
    ...["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray"],
    ...["font-family", "font-size", "font-weight", "font-variant-numeric", "text-anchor"],
  ];

  /* The styles that the page's sheets give an element, as attributes; what it inherits is left out. */
  function settle(shown, made) {
    const [own, inherited] = [shown, shown.parentNode].map((node) => getComputedStyle(node));
    const root = shown instanceof SVGSVGElement;
    for (const name of LOOK) {
      const value = own.getPropertyValue(name);
      if (root || value !== inherited.getPropertyValue(name)) made.setAttribute(name, value);
    }
    [...shown.children].forEach((child, at) => settle(child, made.children[at]));
  }

  /* A drawing without the page's style sheets, at its place within the figure. */
  function drawing(shown, { x, y, width, height }) {
    const made = shown.cloneNode(true);
    settle(shown, made);
    made.querySelectorAll("style").forEach((style) => style.remove());
    for (const [name, value] of Object.entries({ x, y, width, height })) made.setAttribute(name, value);
    made.style.overflow = "visible";
    return made;
  }

  function raster(canvas, place) {
    const made = document.createElementNS(SVG, "image");
    for (const [name, value] of Object.entries({ ...place, href: canvas.toDataURL() }))
      made.setAttribute(name, value);
    return made;
  }

  function words(shown, { x, y, height }) {
    const made = document.createElementNS(SVG, "text");
    const { color, fontFamily, fontSize, fontWeight } = getComputedStyle(shown);
    const sign = shown.querySelector("svg");
    const from = sign ? sign.getBoundingClientRect().width + 6 : 0;
    const look = { fill: color, "font-family": fontFamily, "font-size": fontSize, "font-weight": fontWeight };
    const told = { x: x + from, y: y + height / 2, "dominant-baseline": "central", ...look };
    for (const [name, value] of Object.entries(told)) made.setAttribute(name, value);
    made.textContent = shown.textContent;
    return made;
  }

  /* Every drawing, canvas, title and legend of a figure where it is on the page, on the page's ground. */
  function picture(figure) {
    const parts = [...figure.querySelectorAll("svg, canvas, .head > :first-child, .legend li")].filter(
      (part) => !part.closest("details") && part.getClientRects().length,
    );
    const from = figure.getBoundingClientRect();
    const place = (part) => {
      const { x, y, width, height } = part.getBoundingClientRect();
      return { x: x - from.x + MARGIN, y: y - from.y + MARGIN, width, height };
    };
    const places = parts.map(place);
    const width = Math.ceil(d3.max(places, (one) => one.x + one.width) + MARGIN);
    const height = Math.ceil(d3.max(places, (one) => one.y + one.height) + MARGIN);
    const ground = getComputedStyle(document.body).backgroundColor;
    const sheet = d3.create("svg:svg").attr("width", width).attr("height", height);
    sheet.attr("viewBox", `0 0 ${width} ${height}`);
    sheet.append("rect").attr("width", width).attr("height", height).attr("fill", ground);
    const kinds = { svg: drawing, canvas: raster };
    sheet.node().append(...parts.map((part, at) => (kinds[part.localName] ?? words)(part, places[at])));
    return { width, height, text: new XMLSerializer().serializeToString(sheet.node()) };
  }

  const asSvg = (figure) => new Blob([picture(figure).text], { type: "image/svg+xml" });

  async function asPng(figure) {
    const { width, height, text } = picture(figure);
    const image = new Image();
    image.src = `data:image/svg+xml,${encodeURIComponent(text)}`;
    await image.decode();
    const canvas = element("canvas", { width: width * SHARP, height: height * SHARP });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((resolve) => canvas.toBlob(resolve));
  }

  /* A row a line below the heads, which name the unit; numbers have all their digits. */
  function asCsv({ heads, rows }) {
    const named = heads.map(({ text = "", unit }) => (unit ? `${text} (${unit})` : text));
    return new Blob([d3.csvFormatRows([named, ...rows]), "\n"], { type: "text/csv" });
  }

  const nameOf = (title) =>
    `${Data.title} ${title}`
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/^-|-$/g, "");

  function save(blob, name) {
    const href = URL.createObjectURL(blob);
    element("a", { href, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(href), 60000); // when the browser has taken it
  }

  /* Buttons that save what is around them: the figure, if it is a picture, and what `make` makes of its table. */
  function buttons(title, make, pictured) {
    const kinds = { SVG: asSvg, PNG: asPng, CSV: () => asCsv(make()) };
    const offered = [...(pictured ? ["SVG", "PNG"] : []), "CSV"];
    const one = (kind) => {
      const click = async ({ target }) =>
        save(await kinds[kind](target.closest("figure")), `${nameOf(title)}.${kind.toLowerCase()}`);
      return element("button", { type: "button", click, "aria-label": `Save as ${kind}: ${title}` }, kind);
    };
    return element("div", { class: "export" }, offered.map(one));
  }

  return { buttons };
})();
