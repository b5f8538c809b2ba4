// Draws the figures of the page that is shown, makes its tables ones to sort and filter, copies
// SQL. The two libraries for it lie in the page compressed and start when it has been painted.
(() => {
  "use strict";
  const root = document.documentElement;
  const { tracekit } = window;
  const PRINTED_WIDTH_PX = 640;
  const PRINTED_HEIGHT = 0.8;
  const NARROW_PX = 480;
  const FEW_ROWS = 8;
  const LONG_ROWS = 24;
  const HELD_MOST_MS = 10000;
  let printing = false;
  const darkScheme = matchMedia("(prefers-color-scheme: dark)");
  const plots = [...document.querySelectorAll("script[data-plot]")].map((source) => ({
    element: document.getElementById(source.dataset.plot),
    page: source.closest("section.page"),
    text: source.textContent,
    drawn: "",
  }));

  // A library that lies compressed in the page; the page's policy knows it by its hash.
  async function unpacked(name) {
    const packed = document.getElementById(`packed-${name}`);
    if (!packed) return false;
    const bytes = Uint8Array.from(atob(packed.textContent), (one) => one.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    packed.remove();
    document.head.append(script);
    return true;
  }

  // Figures name colours as CSS does; here each name becomes the colour of the current theme.
  function resolved(value, style) {
    if (typeof value === "string") {
      const found = /^var\((--[\w-]+)\)$/.exec(value);
      return found ? style.getPropertyValue(found[1]).trim() : value;
    }
    if (Array.isArray(value)) {
      const inner = typeof value[0] === "object" || String(value[0]).startsWith("var(");
      return inner ? value.map((item) => resolved(item, style)) : value;
    }
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, resolved(v, style)]));
    }
    return value;
  }

  function draw(plot, widthPx = plot.element.clientWidth) {
    if (!window.Plotly || !widthPx) return;
    const both = JSON.parse(plot.text);
    const narrow = widthPx < NARROW_PX;
    const layout = narrow ? both.narrow : both.layout;
    const figure = resolved({ data: both.data, layout }, getComputedStyle(root));
    figure.layout.font.family = getComputedStyle(document.body).fontFamily;
    figure.layout.width = widthPx;
    // a finger on a figure scrolls the page
    if (matchMedia("(pointer: coarse)").matches) figure.layout.dragmode = false;
    figure.layout.height *= printing ? PRINTED_HEIGHT : 1;
    plot.element.style.height = `${figure.layout.height}px`;
    plot.drawn = look(widthPx);
    Plotly.react(plot.element, figure.data, figure.layout, { displayModeBar: false });
  }
  const look = (widthPx) => `${widthPx} ${isDark()} ${printing}`;

  function drawPage(page, widthPx) {
    for (const plot of plots) {
      if (page && plot.page !== page) continue;
      const width = widthPx || plot.element.clientWidth;
      if (plot.drawn !== look(width)) draw(plot, width);
    }
  }

  const toggle = document.getElementById("theme");
  function isDark() {
    return root.dataset.theme ? root.dataset.theme === "dark" : darkScheme.matches;
  }
  function labelToggle() {
    toggle.textContent = isDark() ? "Light" : "Dark";
    toggle.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`);
    // what the tables go by
    root.classList.toggle("dark", isDark());
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
    drawPage(tracekit.shown());
  });
  darkScheme.addEventListener("change", () => {
    labelToggle();
    drawPage(tracekit.shown());
  });

  // Paper is white, as wide as an A4 page between its margins, and has all pages.
  let themeBefore;
  addEventListener("beforeprint", () => {
    themeBefore = root.dataset.theme;
    root.dataset.theme = "light";
    root.classList.remove("paged");
    printing = true;
    resized.disconnect();
    drawPage(null, PRINTED_WIDTH_PX);
  });
  addEventListener("afterprint", () => {
    if (themeBefore) root.dataset.theme = themeBefore;
    else delete root.dataset.theme;
    root.classList.add("paged");
    printing = false;
    drawPage(tracekit.shown());
    watch();
  });
  const resized = new ResizeObserver((entries) => {
    if (entries.some(({ target }) => target.clientWidth)) drawPage(tracekit.shown());
  });
  function watch() {
    for (const plot of plots) resized.observe(plot.element);
  }

  // A table becomes one to sort, filter, choose columns of and take away; without this it is a
  // plain one with all rows and columns.
  const words = { search: "Filter", zeroRecords: "No row has this.", info: "", infoEmpty: "" };
  // A value that is not there is -Infinity to the library: it comes last, whichever way is sorted.
  const absent = (value) => value === -Infinity;
  const numbersInOrder = (way) => (one, other) =>
    absent(one) || absent(other) ? absent(one) - absent(other) : way * (Math.sign(one - other) || 0);
  const order = { "num-asc": numbersInOrder(1), "num-desc": numbersInOrder(-1) };
  function columnsOf(heads) {
    return heads.map((head) => ({
      type: head.classList.contains("num") ? "num" : "string",
    }));
  }
  // In the file a column of numbers has them in the unit of its name, and what is cut on the page
  // is whole.
  function takenAway(heads) {
    return {
      header: (text, at) => heads[at].dataset.column || heads[at].textContent.trim(),
      body: (text, row, at, cell) => {
        if (cell && heads[at].dataset.column) return cell.dataset.sort;
        return cell?.title || cell?.textContent.trim() || text;
      },
    };
  }
  function makeTable(table) {
    const heads = [...table.tHead.rows[0].cells];
    const many = table.tBodies[0].rows.length > FEW_ROWS;
    const wrap = table.closest(".table-wrap");
    const caption = wrap.getAttribute("aria-label");
    const buttons = [
      {
        extend: "csv", text: "CSV", className: "button", filename: table.dataset.name || "table",
        title: null, bom: false,
        exportOptions: { orthogonal: "export", format: takenAway(heads) },
      },
    ];
    // the library makes a place to scroll in of its own
    for (const name of ["tabindex", "role", "aria-label"]) wrap.removeAttribute(name);
    const made = new tracekit.DataTable(table, {
      paging: false, info: false, searching: many, order: [], autoWidth: false,
      scrollX: true, scrollCollapse: true, ...(table.tBodies[0].rows.length > LONG_ROWS ? { scrollY: "70vh" } : {}),
      fixedColumns: heads.length > 2 ? { start: 1 } : false,
      layout: {
        topStart: { buttons: { buttons, dom: { button: { className: "button" } } } },
        topEnd: many ? "search" : null, bottomStart: null, bottomEnd: null,
      },
      columns: columnsOf(heads),
      language: { ...words, searchPlaceholder: "" },
    });
    for (const region of made.table().container().querySelectorAll(".dt-scroll-body")) {
      region.tabIndex = 0;
      region.setAttribute("role", "region");
      region.setAttribute("aria-label", caption);
    }
  }
  function makeTables(page) {
    if (!tracekit.DataTable) return;
    Object.assign(tracekit.DataTable.ext.type.order, order);
    for (const table of page.querySelectorAll("table.data:not(.made)")) {
      if (table.closest("details:not([open])")) continue;
      table.classList.add("made");
      makeTable(table);
    }
  }
  document.addEventListener(
    "toggle",
    ({ target }) => target.open && makeTables(target),
    { capture: true },
  );

  for (const button of document.querySelectorAll("button.copy")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const text = button.closest(".sql, .command").querySelector("pre");
      getSelection().selectAllChildren(text);
      const done = document.execCommand("copy");
      button.textContent = done ? "Copied" : "Press Ctrl+C";
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
  }

  for (const button of document.querySelectorAll("button.picture")) {
    button.hidden = false;
    const filename = button.dataset.figure;
    button.addEventListener("click", async () => {
      const { data, layout } = document.getElementById(filename);
      const whole = { data, layout: { ...layout, showlegend: true, width: 960, height: 540 } };
      const svg = await Plotly.toImage(whole, { format: "svg", width: 960, height: 540 });
      const link = document.createElement("a");
      link.download = `${filename}.svg`;
      link.href = svg;
      link.click();
    });
  }

  labelToggle();
  tracekit.listeners.push((page) => {
    drawPage(page);
    makeTables(page);
  });
  // The page counts as loaded when it has its figures, for a program that prints it or takes its
  // picture does so then: a frame that is still written to holds the event back.
  function heldLoad() {
    const frame = document.createElement("iframe");
    frame.hidden = true;
    document.body.append(frame);
    frame.contentDocument.open();
    const release = () => {
      frame.contentDocument?.close();
      setTimeout(() => frame.remove());
    };
    // a tab behind others paints nothing, and may not look busy until it comes to the front
    setTimeout(release, HELD_MOST_MS);
    return release;
  }
  const release = heldLoad();
  // two frames on, the first page has been painted
  requestAnimationFrame(() =>
    setTimeout(async () => {
      if (await unpacked("tables")) makeTables(tracekit.shown());
      await unpacked("plotly");
      drawPage(tracekit.shown());
      watch();
      root.dataset.ready = "yes";
      release();
    }, 0),
  );
})();
