// Draws the figures in the page's colours, sorts tables, copies SQL. Nothing is loaded.
(() => {
  "use strict";
  const root = document.documentElement;
  const PRINTED_WIDTH_PX = 640;
  const PRINTED_HEIGHT = 0.8;
  let printing = false;
  const darkScheme = matchMedia("(prefers-color-scheme: dark)");
  const plots = [...document.querySelectorAll("script[data-plot]")].map((source) => ({
    element: document.getElementById(source.dataset.plot),
    text: source.textContent,
  }));
  // Figures name colours as CSS does; here each name becomes the colour of the current theme.
  function resolved(value, style) {
    if (typeof value === "string") {
      const found = /^var\((--[\w-]+)\)$/.exec(value);
      return found ? style.getPropertyValue(found[1]).trim() : value;
    }
    if (Array.isArray(value)) {
      return typeof value[0] === "object" ? value.map((item) => resolved(item, style)) : value;
    }
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, resolved(v, style)]));
    }
    return value;
  }

  function draw(plot, widthPx = plot.element.clientWidth) {
    const figure = resolved(JSON.parse(plot.text), getComputedStyle(root));
    figure.layout.font.family = getComputedStyle(document.body).fontFamily;
    figure.layout.width = widthPx;
    if (widthPx < 480) {
      figure.layout.font.size = 11;
      Object.assign(figure.layout.margin, { l: 46, r: 8 });
    }
    // a finger on a figure scrolls the page
    if (matchMedia("(pointer: coarse)").matches) figure.layout.dragmode = false;
    figure.layout.height *= printing ? PRINTED_HEIGHT : 1;
    plot.element.style.height = `${figure.layout.height}px`;
    plot.widthPx = widthPx;
    Plotly.react(plot.element, figure.data, figure.layout, { displayModeBar: false });
  }
  // Pages that draw by themselves are told when colours or widths change.
  const others = [];
  function drawAll(widthPx) {
    for (const plot of plots) draw(plot, widthPx);
    for (const redraw of others) redraw(widthPx);
  }
  window.tracekit = {
    others,
    draw(element, figure, widthPx = element.clientWidth) {
      draw({ element, text: JSON.stringify(figure) }, widthPx);
    },
  };

  const toggle = document.getElementById("theme");
  function isDark() {
    return root.dataset.theme ? root.dataset.theme === "dark" : darkScheme.matches;
  }
  function labelToggle() {
    toggle.textContent = isDark() ? "Light" : "Dark";
    toggle.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`);
  }
  toggle.hidden = false;
  toggle.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try {
      localStorage.setItem("tracekit-theme", root.dataset.theme);
    } catch {
      // a file opened from disk may have no storage
    }
    labelToggle();
    drawAll();
  });
  darkScheme.addEventListener("change", () => {
    labelToggle();
    drawAll();
  });

  // Paper is white and as wide as an A4 page between its margins.
  let themeBefore;
  addEventListener("beforeprint", () => {
    themeBefore = root.dataset.theme;
    root.dataset.theme = "light";
    printing = true;
    resized.disconnect();
    drawAll(PRINTED_WIDTH_PX);
  });
  addEventListener("afterprint", () => {
    if (themeBefore) root.dataset.theme = themeBefore;
    else delete root.dataset.theme;
    printing = false;
    drawAll();
    watch();
  });
  const resized = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const plot = plots.find(({ element }) => element === target);
      if (target.clientWidth && target.clientWidth !== plot.widthPx) draw(plot);
    }
  });

  function watch() {
    for (const plot of plots) resized.observe(plot.element);
  }

  function sortBy(table, at, header) {
    const up = header.getAttribute("aria-sort") !== "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = (row) => {
      const cell = row.cells[at];
      if (!("sort" in cell.dataset)) return cell.textContent;
      return cell.dataset.sort === "" ? null : Number(cell.dataset.sort);
    };
    const compare = (a, b) => {
      const [x, y] = [key(a), key(b)];
      if (x === null || y === null) return (x === null) - (y === null);
      const order = typeof x === "number" ? x - y : x.localeCompare(y);
      return up ? order : -order;
    };
    table.tBodies[0].append(...[...table.tBodies[0].rows].sort(compare));
  }

  for (const table of document.querySelectorAll("table.data")) {
    if (table.tBodies[0].rows.length < 2) continue;
    [...table.tHead.rows[0].cells].forEach((header, at) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...header.childNodes);
      header.append(button);
      button.addEventListener("click", () => sortBy(table, at, header));
    });
  }

  for (const button of document.querySelectorAll("button.copy")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const text = button.closest(".sql").querySelector("pre");
      getSelection().selectAllChildren(text);
      const done = document.execCommand("copy");
      button.textContent = done ? "Copied" : "Press Ctrl+C";
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
  }

  for (const button of document.querySelectorAll("button.picture")) {
    button.hidden = false;
    const filename = button.dataset.figure;
    button.addEventListener("click", () =>
      Plotly.downloadImage(filename, { format: "svg", filename, width: 960, height: 480 }),
    );
  }

  const links = new Map(
    [...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]),
  );
  const seen = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        for (const link of links.values()) link.removeAttribute("aria-current");
        links.get(entry.target.id).setAttribute("aria-current", "true");
      }
    },
    { rootMargin: "-10% 0px -80% 0px" },
  );
  for (const id of links.keys()) seen.observe(document.getElementById(id));

  labelToggle();
  drawAll();
  watch();
})();
