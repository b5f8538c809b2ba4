// Sets any two policies side by side, from the data in the page.
(() => {
  "use strict";
  const source = document.getElementById("two-policies-data");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const at = (id) => document.getElementById(id);
  const chosen = { a: at("policy-a"), b: at("policy-b"), course: at("two-course") };
  chosen.x = at("two-x");
  chosen.y = at("two-y");
  at("two-policies").hidden = false;

  function fill(select, options, value) {
    for (const [name, label] of options) select.add(new Option(label, name));
    select.value = value;
  }
  const policies = data.policies.map(({ name, label }) => [name, label]);
  const labels = new Map(policies);
  const measures = data.measures.map(({ label, unit }, index) => [
    String(index),
    unit ? `${label} [${unit}]` : label,
  ]);
  fill(chosen.a, policies, data.first[0]);
  fill(chosen.b, policies, data.first[1]);
  // What opens differs somewhere: a line of zeros tells nothing.
  const varies = (values) => new Set(values.filter((value) => value !== null)).size > 1;
  const moves = (name) => Object.values(data.course).some((one) => varies(one[name] ?? []));
  const courses = Object.keys(data.courses);
  fill(chosen.course, Object.entries(data.courses), courses.find(moves) ?? courses[0]);
  const apart = (index) => varies(Object.values(data.values).map((one) => one[index]));
  const telling = [...data.measures.keys()].filter(apart);
  fill(chosen.x, measures, String(telling[0] ?? 0));
  fill(chosen.y, measures, String(telling[1] ?? Math.min(1, measures.length - 1)));

  function text(value, scale, places) {
    if (value === null || value === undefined) return "\u2013";
    const shown = value * scale || 0;
    const few = Number.isInteger(shown) ? 0 : scale === 100 ? 1 : Math.abs(shown) >= 10 ? 1 : 4;
    const digits = places ?? few;
    const text_ = shown.toLocaleString("en", {
      minimumFractionDigits: places ? digits : 0,
      maximumFractionDigits: digits,
    });
    return text_.replace(/^-(0(\.0+)?)$/, "$1").replace("-", "\u2212");
  }

  // A difference in points that rounds to nothing at the digits of all pages is called so.
  function under(measure, span, value) {
    const most = Math.max(...[value, span?.low, span?.high].map((one) => Math.abs(one || 0)));
    return measure.unit && span && most * measure.scale < data.least_pp;
  }

  function interval(measure, a, b) {
    for (const [one, other, column, low, high, which, places, texts] of data.differences) {
      if (column !== measure.column) continue;
      // kept as the first less the second
      if (one === b && other === a) return { low, high, which: -which, places, texts: texts?.toReversed() };
      if (one === a && other === b) return { low: -high, high: -low, which, places, texts };
    }
    return null;
  }

  function cell(row, content, kind, label) {
    const made = document.createElement(kind === "scope" ? "th" : "td");
    if (label) made.dataset.label = label;
    if (kind === "scope") made.scope = "row";
    else made.className = kind;
    made.textContent = content;
    row.append(made);
  }

  function table(a, b) {
    const [body, rest] = [at("two-measures"), at("two-measures-rest")];
    for (const part of [body, rest]) part.replaceChildren();
    const won = { a: 0, b: 0, even: 0, neither: 0 };
    data.measures.forEach((measure, index) => {
      const [one, other] = [data.values[a][index], data.values[b][index]];
      const span = interval(measure, a, b);
      // -1 the first, 1 the second, 0 neither or not known
      const which = span ? span.which : 0;
      won[!measure.best ? "neither" : which < 0 ? "a" : which > 0 ? "b" : "even"] += 1;
      const row = document.createElement("tr");
      const unit = measure.unit ? "\u00a0pp" : "";
      const texts = span?.texts ?? [data.texts[a][index], data.texts[b][index]];
      const places = span ? span.places : undefined;
      const [first, second] = [labels.get(a), labels.get(b)];
      const known = one !== null && other !== null;
      cell(row, measure.label, "scope");
      row.cells[0].title = measure.meaning;
      cell(row, texts[0] + (which < 0 ? " better" : ""), which < 0 ? "num best" : "num", first);
      cell(row, texts[1] + (which > 0 ? " better" : ""), which > 0 ? "num best" : "num", second);
      const none = span && !span.low && !span.high && one === other;
      const tiny = !none && known && under(measure, span, other - one);
      const change = tiny ? `under ${data.least_pp}${unit}` : text(other - one, measure.scale, places) + unit;
      cell(row, none ? "none" : known ? change : "\u2013", "num", "difference");
      cell(row, none || tiny || !span ? "\u2013" : `${text(span.low, measure.scale, places)} to ${text(span.high, measure.scale, places)}${unit}`, "num", "95 % interval");
      (which ? body : rest).append(row);
    });
    shown();
    at("two-rest-many").textContent = `${body.rows.length ? "The other" : "All"} ${rest.rows.length} measures`;
    at("head-a").textContent = labels.get(a);
    at("head-b").textContent = labels.get(b);
    say(a, b, won);
  }

  // without a row there is no table, but its head
  function shown() {
    const none = !at("two-measures").rows.length && at("two-measures-rest").hidden;
    at("two-measures").closest(".table-wrap").hidden = none;
  }

  function say(a, b, won) {
    const of = won.a + won.b + won.even + won.neither;
    const neither = won.neither ? `, and of ${won.neither} neither end is better` : "";
    const met = (one, other) => (row) => row[0] === one && row[1] === other;
    const known = data.differences.some(met(a, b)) || data.differences.some(met(b, a));
    const barred = [...new Set([a, b])]
      .filter((name) => data.barred[name])
      .map((name) => ` ${labels.get(name)} is not to be chosen: ${data.barred[name]}.`);
    at("two-said").textContent =
      (a === b
        ? "Both are the same policy: choose another one."
        : known
          ? `Of ${of} measures ${labels.get(a)} is better in ${won.a} and ${labels.get(b)} in ${won.b}, beyond chance; in ${won.even} they do not differ beyond chance, or by too little to count${neither}.`
          : `Not both of these policies met several orders of arrival, so their differences may be chance: replay them with --repeat ${data.fewest} or more.`) + barred.join("");
  }

  function layout(x, y, more) {
    const axis = (title) => ({
      title: { text: title, standoff: 8, font: { size: 13 } },
      gridcolor: data.colors.grid,
      linecolor: data.colors.line,
      zerolinecolor: data.colors.line,
      automargin: true,
    });
    return {
      template: "none",
      height: 360,
      margin: { l: 62, r: 16, t: 16, b: 56 },
      paper_bgcolor: data.colors.card,
      plot_bgcolor: data.colors.card,
      font: { color: data.colors.ink, size: 13 },
      showlegend: false,
      xaxis: axis(x),
      yaxis: axis(y),
      ...more,
    };
  }

  // A policy has the colour that it has on every page; those that have none are told apart.
  const pair = (a, b) => {
    const { observed, of, plain } = data.colors;
    const colored = (name, index) => (name === data.production ? observed : (of[name] ?? plain[index]));
    return [a, b].map((name, index) => [name, colored(name, index)]);
  };

  function course(a, b, widthPx) {
    const column = chosen.course.value;
    const lines = pair(a, b).map(([name, color], index) => ({
      type: "scatter",
      mode: "lines",
      x: data.times_h,
      y: data.course[name][column] || [],
      name: labels.get(name),
      line: { color, width: 2, dash: index ? "dash" : "solid" },
    }));
    const filling = {
      type: "rect", x0: data.times_h[0], x1: data.filling_h, yref: "paper", y0: 0, y1: 1,
      line: { width: 0 }, fillcolor: data.colors.filling, label: { text: "filling", textposition: "bottom left" },
    };
    const shapes = data.filling_h ? [filling] : [];
    const shown = layout("Time since the start [h]", data.courses[column], { shapes });
    at("two-course-said").textContent = data.stretch
      ? `Of each stretch of ${data.stretch} the lowest and the highest value are drawn.`
      : "";
    tracekit.draw(at("two-course-plot"), { data: lines, layout: shown }, widthPx);
  }

  function scatter(a, b, widthPx) {
    const [x, y] = [Number(chosen.x.value), Number(chosen.y.value)];
    const scaled = (value, index) => (value === null ? null : value * data.measures[index].scale);
    const marks = (names, color, size, name) => ({
      type: "scatter",
      mode: "markers",
      name,
      x: names.map((one) => scaled(data.values[one][x], x)),
      y: names.map((one) => scaled(data.values[one][y], y)),
      text: names.map((one) => labels.get(one)),
      hovertemplate: "%{text}<br>%{x:.4g}, %{y:.4g}<extra></extra>",
      marker: { color, size },
    });
    const rest = data.policies.map(({ name }) => name).filter((name) => name !== a && name !== b);
    const shown = [marks(rest, data.colors.other, 8, "other policies")];
    for (const [name, color] of pair(a, b)) shown.push(marks([name], color, 13, labels.get(name)));
    const line = { color: data.colors.bound, width: 2, dash: "dash" };
    const bounds = [];
    if (data.bound && data.bound[x] !== null) {
      const value = scaled(data.bound[x], x);
      bounds.push({ type: "line", x0: value, x1: value, yref: "paper", y0: 0, y1: 1, line });
    }
    if (data.bound && data.bound[y] !== null) {
      const value = scaled(data.bound[y], y);
      bounds.push({ type: "line", y0: value, y1: value, xref: "paper", x0: 0, x1: 1, line });
    }
    const named = layout(measures[x][1], measures[y][1], { shapes: bounds });
    tracekit.draw(at("two-scatter-plot"), { data: shown, layout: named }, widthPx);
  }

  // Among which nodes those of a pair are found: all, or those that the page carries.
  function those(part, a, b, words) {
    const many = (count) => `${count.toLocaleString("en")} ${words.many}`;
    const whole = part.names.length === part.all || data.first.includes(a) || data.first.includes(b);
    const [one, other] = data.first.map((name) => labels.get(name));
    return whole ? many(part.all) : `the ${many(part.names.length)} of ${many(part.all)} on which any policy differs most from ${one} or ${other}`;
  }

  function bars(a, b, part, ids, words, widthPx) {
    const known = part.counts[a] && part.counts[b] ? part : { names: [], counts: {} };
    const order = known.names
      .map((name, index) => [name, (known.counts[a] || [])[index], (known.counts[b] || [])[index]])
      .sort((one, other) => Math.abs(other[2] - other[1]) - Math.abs(one[2] - one[1]))
      .slice(0, data.drawn);
    const apart = order.filter(([, one, other]) => one !== other).length;
    at(`${ids}-said`).textContent = order.length
      ? `Of ${those(part, a, b, words)} those ${order.length} are drawn on which the two policies differ most${apart < order.length ? `; on ${order.length - apart} of these they agree` : ""}.`
      : `No placements by ${words.one} are known for both.`;
    const shown = pair(a, b).map(([name, color], index) => ({
      type: "bar",
      orientation: "h",
      name: labels.get(name),
      y: order.map(([one]) => one),
      x: order.map((row) => row[index + 1]),
      marker: { color },
    }));
    // a row for each, the greatest difference on top, so that no name lies over another
    const named = layout(words.counted, "", { barmode: "group", height: 80 + 26 * order.length });
    Object.assign(named.yaxis, { autorange: "reversed", type: "category", dtick: 1 });
    named.yaxis.tickfont = { family: "monospace", size: 12 };
    tracekit.draw(at(`${ids}-plot`), { data: shown, layout: named }, widthPx);
  }

  // Above each figure the names of the two, and what else is drawn in it.
  function legends(a, b) {
    for (const list of document.querySelectorAll("[data-legend]")) {
      const { other, bound } = data.colors;
      const more = list.dataset.legend === "all" ? [["other policies", other], ...(data.bound ? [["lower bound", bound]] : [])] : [];
      list.replaceChildren(...[...pair(a, b).map(([name, color]) => [labels.get(name), color]), ...more].map(([name, color]) => {
        const [item, dot] = [document.createElement("li"), document.createElement("span")];
        dot.className = "dot";
        dot.style.background = color;
        dot.setAttribute("aria-hidden", "true");
        item.append(dot, name);
        return item;
      }));
    }
  }

  const dots = document.querySelectorAll(".dot.policy-a, .dot.policy-b");

  function redraw(widthPx) {
    const [a, b] = [chosen.a.value, chosen.b.value];
    for (const [index, [, color]] of pair(a, b).entries()) dots[index].style.background = color;
    legends(a, b);
    table(a, b);
    course(a, b, widthPx);
    scatter(a, b, widthPx);
    const nodes = { one: "node", many: "nodes", counted: "Containers [count]" };
    bars(a, b, data.nodes, "two-nodes", nodes, widthPx);
    const services = { one: "service", many: "services", counted: "Nodes [count]" };
    bars(a, b, data.services, "two-services", services, widthPx);
  }

  const more = at("two-rest");
  more.addEventListener("click", () => {
    const open = more.getAttribute("aria-expanded") === "true";
    more.setAttribute("aria-expanded", String(!open));
    at("two-measures-rest").hidden = open;
    shown();
  });
  for (const select of Object.values(chosen)) select.addEventListener("change", () => redraw());
  const page = at("two-policies").closest("section.page");
  tracekit.others.push({ page, redraw });
  let widthPx = at("two-policies").clientWidth;
  new ResizeObserver(([entry]) => {
    if (!entry.target.clientWidth || entry.target.clientWidth === widthPx) return;
    widthPx = entry.target.clientWidth;
    redraw();
  }).observe(at("two-policies"));
})();
