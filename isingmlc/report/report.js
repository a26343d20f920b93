"use strict";

// What the page does: it shows the chosen feature, filters the table, moves the threshold and
// writes tables. Names of features and labels reach the page as text nodes, as text on a canvas or
// through Bokeh's escaping, never as HTML.

(async () => {
  const facts = JSON.parse(document.getElementById("facts").textContent);
  await Bokeh.embed.embed_items({ report: facts.document }, [facts.render]);
  const drawing = Bokeh.documents[0];
  const model = (name) => drawing.get_model_by_name(name);
  const element = (id) => document.getElementById(id);
  const count = (number) => number.toLocaleString("en");

  // Columns that do not change

  const columnsOf = (name) => {
    const source = model(name);
    return source && ((column) => source.get_column(column));
  };
  const label = columnsOf("labels");
  const feature = columnsOf("features");
  const edge = columnsOf("edges");
  const pair = columnsOf("all-pairs");
  const interaction = columnsOf("interactions");
  const nLabels = label("name").length;
  const nFeatures = feature ? feature("feature").length : 0;
  const { alpha, reasons, colors, rowsTotal, undirected } = facts;
  const meanings = new Map(reasons);

  // Numbers as text

  function power(log10) {
    // Also where the number itself is too small for the computer.
    const exponent = Math.floor(log10);
    return `${(10 ** (log10 - exponent)).toFixed(1)}e${exponent}`;
  }

  function probability(value) {
    if (Number.isNaN(value)) return "–";
    if (value === 0) return "0";
    return value < 0.001 ? value.toExponential(1) : value.toFixed(3);
  }

  const statistic = (value) =>
    Number.isNaN(value) ? "–" : value.toFixed(value >= 99.95 ? 0 : value >= 10 ? 1 : 2);

  // Edges of a feature

  function describeEdge(row, column) {
    const at = row * nLabels + column;
    const tested = !Number.isNaN(edge("statistic")[at]);
    const sign = edge("sign")[at];
    const [code, words] = reasons[edge("reason")[at]];
    const significant = edge("pvalue_adj")[at] <= alpha;
    const verb = sign > 0 ? "▲ goes with" : sign < 0 ? "▼ goes against" : undirected;
    const log10p = edge("log10p")[at];
    return {
      tested,
      significant,
      sign,
      log10p,
      value: edge("statistic")[at],
      code,
      mark: sign > 0 ? "▲" : sign < 0 ? "▼" : "",
      effect: tested
        ? `${verb} the label${significant ? "" : ", not significant"}${words ? ` (${words})` : ""}`
        : `not tested: ${words} (${code})`,
      statistic: statistic(edge("statistic")[at]),
      pvalue: tested && log10p < -3 ? power(log10p) : probability(10 ** log10p),
      pvalue_adj: probability(edge("pvalue_adj")[at]),
      color: !tested
        ? colors.untested
        : sign > 0 ? colors.raises : sign < 0 ? colors.lowers : colors.open,
    };
  }

  const edgesOf = (row) => Array.from({ length: nLabels }, (_, at) => describeEdge(row, at));
  const each = (items, get) => Array.from(items, get);

  // Room for names around a circle

  const pen = document.createElement("canvas").getContext("2d");
  // Names may become bold.
  pen.font = `bold 12px ${facts.font}`;
  const widthOf = (text) => pen.measureText(text).width;

  function clip(text, room) {
    if (widthOf(text) <= room) return text;
    const letters = Array.from(text);
    let keep = letters.length;
    const cut = () => {
      const head = Math.ceil(keep / 2);
      return `${letters.slice(0, head).join("")}…${letters.slice(letters.length - keep + head).join("")}`;
    };
    while (keep > 1 && widthOf(cut()) > room) keep -= 1;
    return cut();
  }

  // Many names are turned outwards; few stand upright and leave room on the sides alone.
  const turned = nLabels > facts.many;

  const tallest = new Map();

  function fitCircle(plot, suffixes) {
    // Where the page is narrow a picture need not be high.
    if (!tallest.has(plot)) tallest.set(plot, plot.height);
    plot.height = Math.round(Math.min(tallest.get(plot), Math.max(300, plot.outer_width * 0.85)));
    const width = plot.inner_width;
    const height = plot.inner_height;
    const gap = 12;
    const most = Math.max(40, (turned ? Math.min(width, height) : width) * 0.27 - gap);
    const ends = each(suffixes, (suffix) => (suffix ? `  ${suffix}` : ""));
    const texts = each(label("short"), (name, at) => clip(name, most - widthOf(ends[at])) + ends[at]);
    const longest = Math.max(...texts.map(widthOf)) + gap + 4;
    const radius = Math.max(
      40,
      Math.min(width / 2 - longest, height / 2 - (turned ? longest : 24)),
    );
    for (const [range, size] of [[plot.x_range, width], [plot.y_range, height]]) {
      const end = size / 2 / radius;
      range.setv({ start: -end, end, reset_start: -end, reset_end: end });
    }
    const [x, y] = [label("x"), label("y")];
    const out = 1 + gap / radius;
    const right = each(x, (value) => value >= 0);
    return {
      x: each(x, (value) => value * out),
      y: each(y, (value) => value * out),
      text: texts,
      angle: each(x, (value, at) =>
        turned ? Math.atan2(y[at], value) + (right[at] ? 0 : Math.PI) : 0),
      align: right.map((is) => (is ? "left" : "right")),
      radius,
    };
  }

  // The network of the chosen feature

  let chosen = -1;

  function drawNetwork() {
    if (chosen < 0) return;
    const plot = model("network");
    const edges = edgesOf(chosen);
    const numbers = edges.map((one) => (one.tested ? `${one.mark} ${one.statistic}`.trim() : ""));
    const beside = numbers.map((text, at) => (turned && edges[at].significant ? text : ""));
    const ink = edges.map((one) => (one.significant ? colors.ink : colors.faint));
    const style = edges.map((one) => (one.significant ? "bold" : "normal"));
    const { radius, ...names } = fitCircle(plot, beside);
    model("names").data = { ...names, color: ink, style };
    const [x, y] = [each(label("x"), Number), each(label("y"), Number)];
    const share = edges.map((one) => (one.tested ? Math.sqrt(one.value / facts.largest) : 0));
    const words = {
      feature: edges.map(() => feature("feature")[chosen]),
      label: Array.from(label("name")),
      effect: edges.map((one) => one.effect),
      statistic: edges.map((one) => one.statistic),
      pvalue: edges.map((one) => one.pvalue),
      pvalue_adj: edges.map((one) => one.pvalue_adj),
      color: edges.map((one) => one.color),
    };
    model("spokes").data = {
      ...words,
      x0: x.map(() => 0),
      y0: x.map(() => 0),
      x1: x,
      y1: y,
      from_x: x.map((value) => 0.25 * value),
      from_y: y.map((value) => 0.25 * value),
      to_x: x.map((value) => 0.9 * value),
      to_y: y.map((value) => 0.9 * value),
      width: share.map((part) => 1.2 + 9 * part),
      dash: edges.map((one) => (!one.tested ? "dotted" : one.significant ? "solid" : "9 5")),
      alpha: edges.map((one) => (one.significant ? 0.95 : 0.6)),
    };
    model("nodes").data = {
      ...words,
      x,
      y,
      size: edges.map(() => (turned ? 9 : 12)),
      marker: edges.map((one) => (one.tested ? "circle" : "x")),
      fill: edges.map((one) => (one.significant ? one.color : "white")),
      line: words.color,
    };
    // Alternate distances keep numbers of neighbours apart; a small circle has no room for them.
    const distance = (at) => (nLabels > 9 && at % 2 ? 0.72 : 0.55);
    const written = numbers.map((text) => (turned || radius < 110 ? "" : text));
    const along = (value, at) => (written[at] ? value * distance(at) : NaN);
    model("numbers").data = {
      x: x.map(along),
      y: y.map(along),
      text: written,
      angle: x.map(() => 0),
      align: x.map(() => "center"),
      color: ink,
      style,
    };
    model("centre").data = { x: [0], y: [0], text: [clip(feature("feature")[chosen], 150)] };
  }

  function drawPairs() {
    if (!pair) return;
    const wide = pair("first").length / facts.withPairs;
    const rows = each({ length: wide }, (_, at) => chosen * wide + at).filter(
      (at) => pair("statistic")[at] > 0,
    );
    const room = Math.max(70, model("pair-chart").outer_width * 0.2);
    const names = rows.map((at) =>
      [pair("first")[at], pair("second")[at]].map((one) => clip(label("short")[one], room)));
    // A number keeps names apart that became the same by cutting.
    const texts = names.map((two, at) => `${at + 1}. ${two.join(" × ")}`);
    const values = rows.map((at) => pair("statistic")[at]);
    model("pair-names").factors = texts.slice().reverse();
    model("pair-range").end = Math.max(1, ...values) * 1.14;
    model("pairs").data = {
      pair: texts,
      statistic: values,
      text: values.map(statistic),
      first: rows.map((at) => label("name")[pair("first")[at]]),
      second: rows.map((at) => label("name")[pair("second")[at]]),
    };
    element("no-pairs").hidden = rows.length > 0;
    element("no-pairs").textContent = chosen < facts.withPairs
      ? "No pair of labels could be tested."
      : `Pairs were tested for the ${count(facts.withPairs)} most important features.`;
  }

  // The chosen feature in words

  function join(names) {
    const listed = names.slice(0, 4);
    if (names.length > 4) listed.push(`${names.length - 4} more`);
    return listed.length > 1
      ? `${listed.slice(0, -1).join(", ")} and ${listed[listed.length - 1]}`
      : listed.join("");
  }

  function sentences(edges, reason) {
    const named = (keep) => {
      const found = edges.map((one, at) => ({ ...one, at })).filter(keep);
      found.sort((one, other) => one.log10p - other.log10p);
      return found.map(({ at }) => label("name")[at]);
    };
    const parts = [
      ["goes with", named((one) => one.significant && one.sign > 0)],
      ["goes against", named((one) => one.significant && one.sign < 0)],
      [undirected, named((one) => one.significant && one.sign === 0)],
    ].filter(([, names]) => names.length);
    const untested = edges.filter((one) => !one.tested).length;
    const said = [
      parts.length
        ? `It ${parts.map(([verb, names]) => `${verb} ${join(names)}`).join("; it ")}.`
        : "None of its edges is significant.",
    ];
    if (untested) said.push(`${untested} of ${nLabels} edges could not be tested.`);
    const words = meanings.get(reason);
    if (words) said.push(`${words[0].toUpperCase()}${words.slice(1)} (${reason}).`);
    return said.join(" ");
  }

  function fillRows(body, rows) {
    body.replaceChildren(
      ...rows.map(({ cells, quiet }) => {
        const row = document.createElement("tr");
        row.classList.toggle("quiet", quiet);
        for (const cell of cells) row.insertCell().textContent = cell;
        return row;
      }),
    );
  }

  function describe() {
    const edges = edgesOf(chosen);
    element("chosen-name").textContent = feature("feature")[chosen];
    const pvalue = feature("pvalue")[chosen];
    const numbers = [
      `rank ${count(chosen + 1)} of ${count(rowsTotal)}`,
      `importance ${statistic(feature("importance")[chosen])}`,
    ];
    if (!Number.isNaN(pvalue)) {
      numbers.push(`p ${probability(pvalue)}`);
      numbers.push(`adjusted p ${probability(feature("pvalue_adj")[chosen])}`);
    }
    element("chosen-facts").textContent = numbers.join(" · ");
    element("chosen-words").textContent = sentences(edges, feature("reason")[chosen]);
    const order = edges.map((_, at) => at).sort((one, other) => {
      const [a, b] = [edges[one], edges[other]];
      return b.tested - a.tested || (a.log10p - b.log10p) || one - other;
    });
    fillRows(
      element("chosen-edges"),
      order.map((at) => ({
        cells: [
          label("name")[at],
          edges[at].tested ? edges[at].mark : "",
          edges[at].statistic,
          edges[at].tested ? edges[at].pvalue : edges[at].code,
          edges[at].pvalue_adj,
        ],
        quiet: !edges[at].significant,
      })),
    );
  }

  // The heat map, a page of features at a time

  let firstRow = -1;
  const page = Math.min(facts.page, nFeatures);

  function drawHeat() {
    const last = firstRow + page;
    const rows = each({ length: page }, (_, at) => firstRow + at);
    const cells = rows.flatMap((row) => edgesOf(row).map((one, at) => ({ ...one, row, at })));
    const names = facts.shortFeatures;
    const shade = cells.map((one) => Math.sqrt(-one.log10p / facts.deepest));
    model("heat-features").factors = rows.map((row) => names[row]).reverse();
    model("cells").data = {
      x: cells.map((one) => label("short")[one.at]),
      y: cells.map((one) => names[one.row]),
      shade,
      mark: cells.map((one) => (one.significant ? one.mark || "■" : "")),
      mark_color: shade.map((value) => (value > 0.55 ? "white" : colors.ink)),
      feature: cells.map((one) => feature("feature")[one.row]),
      label: cells.map((one) => label("name")[one.at]),
      effect: cells.map((one) => one.effect),
      statistic: cells.map((one) => one.statistic),
      pvalue: cells.map((one) => one.pvalue),
      pvalue_adj: cells.map((one) => one.pvalue_adj),
    };
    const untested = cells.filter((one) => !one.tested);
    model("untested").data = {
      x: untested.map((one) => label("short")[one.at]),
      y: untested.map((one) => names[one.row]),
    };
    element("heat-rows").textContent =
      `Features ${count(firstRow + 1)}–${count(last)} of ${count(nFeatures)}, by rank`;
    element("heat-back").disabled = firstRow === 0;
    element("heat-on").disabled = last === nFeatures;
  }

  function turnTo(row) {
    // The last page is a full one too.
    const wanted = Math.min(Math.max(0, row - (row % page)), nFeatures - page);
    if (wanted === firstRow) return;
    firstRow = wanted;
    drawHeat();
  }

  function choose(row) {
    if (row === undefined || row === chosen) return;
    chosen = row;
    drawNetwork();
    describe();
    drawPairs();
    turnTo(row);
    model("chosen-row").data = { y: [facts.shortFeatures[row]] };
    document.body.dataset.chosen = String(row);
  }

  // The label network

  function drawLabels() {
    const plot = model("label-network");
    const ok = each(label("reason"), (reason) => reason === "ok");
    const { radius: _, ...names } = fitCircle(plot, ok.map(() => ""));
    const color = ok.map((is) => (is ? colors.ink : colors.untested));
    model("label-names").data = { ...names, color, style: ok.map(() => "normal") };
    const percent = (value) => `${(100 * value).toFixed(1)}%`;
    model("label-nodes").data = {
      x: Array.from(label("x")),
      y: Array.from(label("y")),
      size: each(label("prevalence"), (share) => Math.sqrt(40 + 460 * share)),
      marker: ok.map((is) => (is ? "circle" : "x")),
      fill: color,
      line: ok.map((is) => (is ? "white" : colors.untested)),
      label: Array.from(label("name")),
      prevalence: each(label("prevalence"), percent),
      threshold: each(label("threshold"), (value) =>
        Number.isNaN(value) ? "–" : Number.isFinite(value) ? value.toFixed(3) : `${value > 0 ? "+" : "−"}∞`),
      rows: each(label("rows"), count),
      effect: each(label("reason"), (reason) => (reason === "ok" ? "possible" : reason)),
    };
  }

  function drawInteractions() {
    const threshold = Number(element("threshold").value);
    const infinite = element("infinite");
    const drawn = [];
    interaction("weight").forEach((weight, at) => {
      const size = Math.abs(weight);
      if (Number.isFinite(size) ? size > threshold : infinite && infinite.checked) drawn.push(at);
    });
    model("drawn").indices = drawn;
    const all = (nLabels * (nLabels - 1)) / 2;
    element("threshold-value").textContent = threshold.toFixed(2);
    element("drawn-count").textContent = `${count(drawn.length)} of ${count(all)} pairs drawn`;
  }

  // Columns of the table of features give way where there is no room to read them all

  function makeRoom() {
    const room = element("feature-table").clientWidth;
    let width = model("feature-table").columns.reduce((sum, column) => sum + column.width, 0);
    for (const name of ["p-column", "strongest-column", "importance-column"]) {
      const column = model(name);
      if (!column) continue;
      // A column may be a little narrower than it would like to be.
      column.visible = 0.92 * width <= room;
      if (!column.visible) width -= column.width;
    }
  }

  // Search

  function search() {
    const wanted = element("search").value.trim().toLowerCase();
    const only = element("only-significant");
    const found = [];
    for (let row = 0; row < nFeatures; row += 1) {
      const text = `${feature("feature")[row]}\n${feature("strongest")[row]}`.toLowerCase();
      const keep = !(only && only.checked) || feature("pvalue_adj")[row] <= alpha;
      if (keep && text.includes(wanted)) found.push(row);
    }
    model("searched").indices = found;
    element("found").textContent = `${count(found.length)} of ${count(nFeatures)} features`;
  }

  // Tables as CSV

  function write(rows) {
    const cell = (value) => {
      if (typeof value === "number") return Number.isNaN(value) ? "" : String(value);
      return /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
    };
    return rows.map((row) => `${row.map(cell).join(",")}\n`).join("");
  }

  const tables = {
    features: () => [
      ["rank", "feature", "importance", "pvalue", "pvalue_adj", "strongest", "reason"],
      ...each(feature("feature"), (name, row) => [
        row + 1,
        name,
        ...["importance", "pvalue", "pvalue_adj", "strongest", "reason"].map(
          (column) => feature(column)[row]),
      ]),
    ],
    edges: () => {
      const columns = ["statistic", "df", "pvalue", "log10p", "pvalue_adj", "sign"];
      return [
        ["feature", "label", ...columns, "reason"],
        ...each(edge("statistic"), (value, at) => [
          feature("feature")[Math.floor(at / nLabels)],
          label("name")[at % nLabels],
          ...columns.map((column) => {
            if (Number.isNaN(value)) return NaN;
            return column === "pvalue" ? 10 ** edge("log10p")[at] : edge(column)[at];
          }),
          reasons[edge("reason")[at]][0],
        ]),
      ];
    },
    pairs: () => {
      const wide = pair("first").length / facts.withPairs;
      return [
        ["feature", "label", "with", "statistic"],
        ...each(pair("statistic"), (value, at) => [
          feature("feature")[Math.floor(at / wide)],
          label("name")[pair("first")[at]],
          label("name")[pair("second")[at]],
          value,
        ]),
      ];
    },
    interactions: () => [
      ["first", "second", "interaction"],
      ...each(interaction("weight"), (value, at) => [
        interaction("first")[at],
        interaction("second")[at],
        Number.isFinite(value) ? value : value > 0 ? "inf" : "-inf",
      ]),
    ],
    diagnostics: () => facts.diagnostics,
  };

  // Every table says what it is adjusted for, wherever it goes.
  const adjusted = ([head, ...rows]) => facts.adjustedFor
    ? [[...head, "adjusted_for"], ...rows.map((row) => [...row, facts.adjustedFor])]
    : [head, ...rows];

  function download(name) {
    const link = document.createElement("a");
    const text = write(adjusted(tables[name]()));
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = `${name}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  // Connections

  const whenResized = (name, draw) => {
    const { inner_width: width, inner_height: height } = model(name).properties;
    for (const size of [width, height]) size.change.connect(draw);
  };

  for (const button of document.querySelectorAll("[data-table]")) {
    button.addEventListener("click", () => download(button.dataset.table));
  }
  whenResized("label-network", drawLabels);
  drawLabels();
  element("threshold").addEventListener("input", drawInteractions);
  element("infinite")?.addEventListener("change", drawInteractions);
  drawInteractions();
  if (nFeatures) {
    const selected = model("features").selected;
    selected.properties.indices.change.connect(() => {
      const rows = selected.indices;
      // One feature at a time, also where a click was meant to add a row.
      if (rows.length > 1) selected.indices = [rows.find((row) => row !== chosen)];
      else choose(rows[0]);
    });
    const cells = model("cells").selected;
    cells.properties.indices.change.connect(() => {
      if (!cells.indices.length) return;
      selected.indices = [firstRow + Math.floor(cells.indices[0] / nLabels)];
      cells.indices = [];
    });
    element("search").addEventListener("input", search);
    element("only-significant")?.addEventListener("change", search);
    element("heat-back").addEventListener("click", () => turnTo(firstRow - 1));
    element("heat-on").addEventListener("click", () => turnTo(firstRow + page));
    whenResized("network", drawNetwork);
    new ResizeObserver(makeRoom).observe(element("feature-table"));
    if (pair) model("pair-chart").properties.outer_width.change.connect(drawPairs);
    search();
    selected.indices = [0];
  }
  document.body.dataset.ready = "yes";
})();
