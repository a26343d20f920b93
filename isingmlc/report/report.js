"use strict";

// What the page of a fit does: it lists features and edges, shows the chosen feature, moves the
// threshold and makes tables. Names of features and labels reach the page as text nodes, as text on a
// canvas or through Bokeh's escaping, never as HTML.

(async () => {
  const { facts } = page;
  await Bokeh.embed.embed_items({ report: facts.document }, [facts.render]);
  const drawing = Bokeh.documents[0];
  const model = (name) => drawing.get_model_by_name(name);
  const element = (id) => document.getElementById(id);
  const count = (number) => number.toLocaleString("en");
  const each = (items, get) => Array.from(items, get);

  // Columns that do not change

  const columnsOf = (name) => {
    const source = model(name);
    return source && ((column) => source.get_column(column));
  };
  const label = columnsOf("labels");
  const feature = columnsOf("features");
  const edge = columnsOf("edges");
  const pair = columnsOf("all-pairs");
  const pairsEach = pair ? pair("first").length / facts.withPairs : 0;
  const interaction = columnsOf("interactions");
  const nLabels = label("name").length;
  const nFeatures = feature ? feature("feature").length : 0;
  const { alpha, reasons, rowsTotal, undirected, critical } = facts;
  const meanings = new Map(reasons);

  // Colours, which the style sheet has for light and for dark

  const isDark = matchMedia("(prefers-color-scheme: dark)");
  const NAMES = ["ink", "soft", "paper", "raises", "lowers", "open", "untested", "blank"];
  const FACES = [
    ["heat-cells", "line_color", "paper"],
    ["heat-untested", "line_color", "paper"],
    ["heat-untested", "hatch_color", "untested"],
    ["heat-chosen", "line_color", "ink"],
    ["pair-bars", "fill_color", "raises"],
    ["pair-bars", "line_color", "raises"],
    ["pair-texts", "text_color", "ink"],
    ["centre-text", "text_color", "paper"],
    ["centre-text", "background_fill_color", "ink"],
    ["numbers-text", "background_fill_color", "paper"],
  ];
  let colors;

  function paint() {
    const style = getComputedStyle(document.documentElement);
    colors = Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
    for (const [name, property, color] of FACES) {
      const drawn = model(name);
      if (drawn) drawn.glyph[property] = { value: colors[color] };
    }
    for (const name of ["heat-map", "pair-chart"]) {
      const plot = model(name);
      for (const axis of plot ? [...plot.above, ...plot.below, ...plot.left] : []) {
        axis.major_label_text_color = colors.ink;
        axis.axis_label_text_color = colors.soft;
      }
    }
    for (const source of [model("ties"), model("interactions")]) {
      if (!source) continue;
      const color = each(source.get_column("sign"), (sign) => (sign < 0 ? colors.lowers : colors.raises));
      const columns = source.columns().map((column) => [column, source.get_column(column)]);
      source.data = { ...Object.fromEntries(columns), color };
    }
    const shades = model("shades");
    if (shades) {
      shades.nan_color = colors.blank;
      shades.palette = facts.palettes[isDark.matches ? "dark" : "light"];
    }
  }

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

  const exactly = (log10) => (log10 < -3 ? power(log10) : probability(10 ** log10));

  function ratio(value, decimals) {
    if (Number.isNaN(value)) return "–";
    if (value === Infinity) return "∞";
    if (value >= 0.1 && value < 9.995) return value.toFixed(decimals);
    return value >= 0.01 && value < 999.5
      ? value.toPrecision(3)
      : value === 0 ? "0" : value.toExponential(1).replace("+", "");
  }

  // Effects: odds ratios with intervals, for one unit of the feature or one standard deviation

  const hasEffects = nFeatures > 0 && critical !== null;
  const perSd = () => hasEffects && element("per-sd").checked;
  const unitOf = (row) => (perSd() ? feature("spread")[row] : 1);

  // What a coefficient and its error, with so many errors to either side, say of odds; what is
  // infinite has one finite limit, if that is known.
  function oddsOf(coef, bse, errors, isFitted, limit = NaN) {
    const half = errors * bse;
    const isFinite = Number.isFinite(coef);
    return {
      coef,
      bse,
      odds: Math.exp(coef),
      lower: coef === -Infinity ? 0 : Math.exp(isFinite ? coef - half : limit),
      upper: coef === Infinity ? Infinity : Math.exp(isFinite ? coef + half : limit),
      half,
      isStep: !isFitted,
    };
  }

  function effectOf(at) {
    const unit = unitOf(Math.floor(at / nLabels));
    const [coef, bse] = ["coef", "bse"].map((name) => edge(name)[at] * unit);
    const limit = edge("limit")[at] * unit;
    return oddsOf(coef, bse, critical[at % nLabels], edge("fitted")[at], limit);
  }

  function changeOf(at) {
    const unit = unitOf(Math.floor(at / pairsEach));
    const [coef, bse] = ["coef", "bse"].map((name) => pair(name)[at] * unit);
    return oddsOf(coef, bse, facts.pairErrors[pair("first")[at]], pair("fitted")[at]);
  }

  function sayOdds({ coef, odds, lower, upper, half, isStep }) {
    if (Number.isNaN(coef)) return "";
    // Enough digits to tell the limits from the middle.
    const decimals = Math.min(5, Math.max(2, -Math.floor(Math.log10(half)))) || 2;
    const middle = ratio(odds, decimals) + (isStep ? "*" : "");
    return !Number.isNaN(lower) && !Number.isNaN(upper)
      ? `${middle} (${ratio(lower, decimals)} to ${ratio(upper, decimals)})`
      : middle;
  }

  // Edges of a feature

  function describeEdge(row, column) {
    const at = row * nLabels + column;
    const tested = !Number.isNaN(edge("statistic")[at]);
    const sign = edge("sign")[at];
    const [code, words] = reasons[edge("reason")[at]];
    const significant = edge("significant")[at] === 1;
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
      odds: tested && hasEffects ? sayOdds(effectOf(at)) : "",
      statistic: statistic(edge("statistic")[at]),
      pvalue: exactly(log10p),
      pvalue_adj: exactly(edge("log10p_adj")[at]),
      color: !tested
        ? colors.untested
        : sign > 0 ? colors.raises : sign < 0 ? colors.lowers : colors.open,
    };
  }

  const edgesOf = (row) => each({ length: nLabels }, (_, at) => describeEdge(row, at));
  const effectWords = (one) => [one.mark, one.odds].filter(Boolean).join(" ");

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

  function clipAll(names, room) {
    const texts = each(names, (name) => clip(name, room));
    // A number keeps names apart that became the same by cutting.
    return new Set(texts).size === texts.length ? texts : texts.map((text, at) => `${at + 1}. ${text}`);
  }

  // Many names are turned outwards; few stand upright and leave room on the sides alone.
  const turned = nLabels > facts.many;
  const LINE = 12.5;
  const GAP = 12;

  const tallest = new Map();

  // Names that matter have all the room there is; others give way first.
  function fitCircle(plot, matters, suffixes) {
    // Where the page is narrow a picture need not be high.
    if (!tallest.has(plot)) tallest.set(plot, plot.height);
    const high = plot.outer_width * (turned || plot.outer_width > 480 ? 0.85 : 0.7);
    plot.height = Math.round(Math.min(tallest.get(plot), Math.max(230, high)));
    const width = plot.inner_width;
    const height = plot.inner_height;
    const half = (turned ? Math.min(width, height) : width) / 2;
    // Names that are turned need a circle on which each has a line of its own.
    const least = turned ? Math.max(40, (nLabels * LINE) / (2 * Math.PI) - GAP) : Math.max(40, half * 0.26);
    const most = Math.max(30, half - least - GAP - 4);
    const texts = each(label("short"), (name, at) => {
      const room = matters[at] ? most : Math.min(most, half * 0.46);
      // No name is cut for a number beside it; the table has them all.
      const both = suffixes[at] ? `${name}  ${suffixes[at]}` : name;
      return widthOf(both) <= room ? both : clip(name, room);
    });
    const longest = Math.max(...texts.map(widthOf)) + GAP + 4;
    const radius = Math.max(
      40,
      Math.min(width / 2 - longest, height / 2 - (turned ? longest : 24)),
    );
    for (const [range, size] of [[plot.x_range, width], [plot.y_range, height]]) {
      const end = size / 2 / radius;
      range.setv({ start: -end, end, reset_start: -end, reset_end: end });
    }
    const [x, y] = [label("x"), label("y")];
    const out = 1 + GAP / radius;
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
    const ink = edges.map((one) => (one.significant ? colors.ink : colors.soft));
    const style = edges.map((one) => (one.significant ? "bold" : "normal"));
    const { radius, ...names } = fitCircle(plot, edges.map((one) => one.significant), beside);
    model("names").data = { ...names, color: ink, style };
    const [x, y] = [each(label("x"), Number), each(label("y"), Number)];
    const share = edges.map((one) => (one.tested ? Math.sqrt(one.value / facts.largest) : 0));
    const words = {
      feature: edges.map(() => feature("shown")[chosen]),
      label: Array.from(label("name")),
      effect: edges.map((one) => one.effect),
      odds: edges.map((one) => one.odds || "–"),
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
      fill: edges.map((one) => (one.significant ? one.color : colors.paper)),
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
    model("centre").data = { x: [0], y: [0], text: [clip(feature("shown")[chosen], Math.max(70, radius * 1.1))] };
  }

  function drawPairs() {
    if (!pair) return;
    const rows = each({ length: pairsEach }, (_, at) => chosen * pairsEach + at).filter(
      (at) => pair("statistic")[at] > 0,
    );
    const room = Math.max(70, model("pair-chart").outer_width * 0.2);
    const names = rows.map((at) =>
      [pair("first")[at], pair("second")[at]].map((one) => clip(label("short")[one], room)));
    // A number keeps names apart that became the same by cutting.
    const texts = names.map((two, at) => `${at + 1}. ${two.join(" × ")}`);
    const values = rows.map((at) => pair("statistic")[at]);
    model("pair-names").factors = texts.slice().reverse();
    // The number beside the longest bar has room too, whatever the width.
    const wanted = Math.max(0, ...values.map((value) => widthOf(statistic(value)))) + 12;
    const inside = Math.max(2 * wanted, model("pair-chart").inner_width);
    model("pair-range").end = Math.max(1, ...values) * (inside / (inside - wanted));
    model("pairs").data = {
      pair: texts,
      statistic: values,
      text: values.map(statistic),
      first: rows.map((at) => label("name")[pair("first")[at]]),
      second: rows.map((at) => label("name")[pair("second")[at]]),
      ratio: rows.map((at) => sayOdds(changeOf(at)) || "not tested"),
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

  function makeCell(row, head, text, className) {
    const cell = row.insertCell();
    cell.textContent = text;
    cell.dataset.head = head;
    if (className) cell.className = className;
    return cell;
  }

  function describe() {
    const edges = edgesOf(chosen);
    element("chosen-name").textContent = feature("shown")[chosen];
    const pvalue = feature("pvalue")[chosen];
    const numbers = [
      `rank ${count(chosen + 1)} of ${count(rowsTotal)}`,
      `importance ${statistic(feature("importance")[chosen])}`,
    ];
    if (!Number.isNaN(pvalue)) {
      numbers.push(`p ${probability(pvalue)}`);
      numbers.push(`adjusted p ${probability(feature("pvalue_adj")[chosen])}`);
    }
    // A line may end between facts, not inside a number.
    element("chosen-facts").replaceChildren(...numbers.flatMap((text, at) => {
      const fact = document.createElement("span");
      fact.className = "number";
      fact.textContent = text;
      return at ? [" · ", fact] : [fact];
    }));
    element("chosen-words").textContent = sentences(edges, reasons[feature("reason")[chosen]][0]);
    const order = edges.map((_, at) => at).sort((one, other) => {
      const [a, b] = [edges[one], edges[other]];
      return b.tested - a.tested || (a.log10p - b.log10p) || one - other;
    });
    element("chosen-edges").replaceChildren(...order.map((at) => {
      const one = edges[at];
      const row = document.createElement("tr");
      row.classList.toggle("quiet", !one.significant);
      const name = document.createElement("th");
      name.scope = "row";
      name.textContent = label("name")[at];
      row.append(name);
      makeCell(row, hasEffects ? "odds ratio" : "", effectWords(one));
      makeCell(row, "statistic", one.statistic);
      makeCell(row, "p", one.tested ? one.pvalue : one.code);
      makeCell(row, "adjusted p", one.pvalue_adj);
      return row;
    }));
  }

  // The table of features, or of edges: those of a label, or all that a search finds

  const PAGE = 50;
  const list = { items: [], first: 0, key: "", descending: false, ofEdges: false };
  const labelOf = () => Number(element("view").value);
  const featureOf = (item) => (list.ofEdges ? Math.floor(item / nLabels) : item);
  const hasPvalues = nFeatures > 0 && each(feature("pvalue"), Number).some((p) => !Number.isNaN(p));

  // A column: its head, what a cell says, what it is sorted by, and which end comes first.
  const NAME = {
    key: "feature",
    head: "Feature",
    order: (item) => feature("shown")[featureOf(item)].toLowerCase(),
  };
  const FEATURES = [
    NAME,
    { key: "rank", head: "Rank", text: (row) => count(row + 1), order: (row) => row },
    {
      key: "importance",
      head: "Importance",
      text: (row) => statistic(feature("importance")[row]),
      order: (row) => feature("importance")[row],
      falling: true,
    },
    ...(hasPvalues
      ? [
        {
          key: "p",
          head: "p",
          text: (row) => probability(feature("pvalue")[row]),
          order: (row) => feature("pvalue")[row],
          spare: true,
        },
        {
          key: "adjusted",
          head: "Adjusted p",
          text: (row) => probability(feature("pvalue_adj")[row]),
          order: (row) => feature("pvalue_adj")[row],
        },
      ]
      : []),
    {
      key: "strongest",
      head: "Strongest label",
      text: (row) => {
        const at = feature("strongest")[row];
        if (at < 0) return `– ${reasons[feature("reason")[row]][0]}`;
        return `${label("name")[at]} ${describeEdge(row, at).mark}`.trim();
      },
      small: (row) => (feature("strongest")[row] < 0 ? "" : describeEdge(row, feature("strongest")[row]).odds),
      order: (row) => (feature("strongest")[row] < 0 ? "" : label("name")[feature("strongest")[row]].toLowerCase()),
      isText: true,
    },
  ];
  const ofEdge = (get) => (at) => get(describeEdge(Math.floor(at / nLabels), at % nLabels));
  const EDGES = [
    NAME,
    {
      key: "label",
      head: "Label",
      text: (at) => label("name")[at % nLabels],
      order: (at) => label("name")[at % nLabels].toLowerCase(),
      isText: true,
    },
    {
      key: "effect",
      head: hasEffects ? "Odds ratio" : "Direction",
      text: ofEdge(effectWords),
      order: (at) => (hasEffects ? effectOf(at).coef : edge("sign")[at]),
      falling: true,
    },
    {
      key: "statistic",
      head: "Statistic",
      text: ofEdge((one) => (one.tested ? one.statistic : one.code)),
      order: (at) => edge("statistic")[at],
      falling: true,
    },
    {
      key: "p",
      head: "p",
      text: ofEdge((one) => one.pvalue),
      order: (at) => edge("log10p")[at],
      spare: true,
    },
    {
      key: "adjusted",
      head: "Adjusted p",
      text: ofEdge((one) => one.pvalue_adj),
      order: (at) => edge("log10p_adj")[at],
    },
  ];

  const shownColumns = () => (list.ofEdges
    ? EDGES.filter(({ key }) => key !== "label" || labelOf() < 0)
    : FEATURES);

  // Every word must be in the name of the feature or of the label.
  function matches(words) {
    const holds = (names) => words.map((word) => each(names, (name) => name.toLowerCase().includes(word)));
    const byFeature = holds(each(feature("feature"), (name, row) => `${name}\n${feature("shown")[row]}`));
    const byLabel = holds(label("name"));
    return (row, column) => words.every((_, at) => byFeature[at][row] || byLabel[at][column]);
  }

  function findItems() {
    const words = element("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const only = element("only-significant").checked;
    const chosenLabel = labelOf();
    list.ofEdges = chosenLabel >= 0 || words.length > 0;
    if (!list.ofEdges) {
      const isFound = (row) => (hasPvalues
        ? feature("pvalue_adj")[row] <= alpha
        : edge("significant").subarray(row * nLabels, (row + 1) * nLabels).includes(1));
      return each({ length: nFeatures }, (_, row) => row).filter((row) => !only || isFound(row));
    }
    const isWanted = matches(words);
    const found = [];
    for (let row = 0; row < nFeatures; row += 1) {
      for (let column = 0; column < nLabels; column += 1) {
        const at = row * nLabels + column;
        if (chosenLabel >= 0 && column !== chosenLabel) continue;
        if (only && !edge("significant")[at]) continue;
        if (isWanted(row, column)) found.push(at);
      }
    }
    return found;
  }

  function sortItems(items) {
    const columns = shownColumns();
    const column = columns.find(({ key }) => key === list.key)
      || columns.find(({ key }) => key === (list.ofEdges ? "p" : "rank"));
    list.key = column.key;
    const keys = new Map(items.map((item) => [item, column.order(item)]));
    const turn = list.descending ? -1 : 1;
    const isMissing = (key) => Number.isNaN(key) || key === "";
    items.sort((one, other) => {
      const [a, b] = [keys.get(one), keys.get(other)];
      if (isMissing(a) || isMissing(b)) return isMissing(a) - isMissing(b) || one - other;
      return (a < b ? -turn : a > b ? turn : 0) || one - other;
    });
    if (!element("together")?.checked) return items;
    const terms = new Map();
    for (const item of items) {
      const term = feature("term")[featureOf(item)];
      if (!terms.has(term)) terms.set(term, []);
      terms.get(term).push(item);
    }
    return [...terms.values()].flat();
  }

  function drawHeads() {
    element("heads").replaceChildren(...shownColumns().map((column) => {
      const head = document.createElement("th");
      head.scope = "col";
      head.classList.toggle("text", Boolean(column.isText));
      head.classList.toggle("spare", Boolean(column.spare));
      const isSorted = column.key === list.key;
      if (isSorted) head.ariaSort = list.descending ? "descending" : "ascending";
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = column.head + (isSorted ? (list.descending ? " ↓" : " ↑") : "");
      button.addEventListener("click", () => {
        list.descending = isSorted ? !list.descending : Boolean(column.falling);
        list.key = column.key;
        drawList();
        element("heads").querySelector("[aria-sort] button").focus({ preventScroll: true });
      });
      head.append(button);
      return head;
    }));
  }

  function drawRow(item) {
    const row = document.createElement("tr");
    row.dataset.item = item;
    const name = document.createElement("th");
    name.scope = "row";
    const button = document.createElement("button");
    button.type = "button";
    // Lines may end inside a name, where its parts end.
    const parts = feature("shown")[featureOf(item)].split(/(?<=[_./:-])/);
    button.append(...parts.flatMap((part) => [part, document.createElement("wbr")]));
    name.append(button);
    row.append(name);
    for (const { head, text, small, isText, spare } of shownColumns().slice(1)) {
      const classes = [isText && "text", spare && "spare"].filter(Boolean).join(" ");
      const cell = makeCell(row, head.toLowerCase(), text(item), classes);
      const below = small?.(item);
      if (!below) continue;
      cell.append(" ", document.createElement("small"));
      cell.lastChild.textContent = below;
    }
    if (list.ofEdges) row.classList.toggle("quiet", !edge("significant")[item]);
    row.addEventListener("click", () => {
      button.focus({ preventScroll: true });
      choose(featureOf(item));
    });
    return row;
  }

  function markRows() {
    for (const row of element("rows").children) {
      if (featureOf(Number(row.dataset.item)) === chosen) row.ariaCurrent = "true";
      else row.removeAttribute("aria-current");
    }
  }

  function drawRows() {
    const last = Math.min(list.first + PAGE, list.items.length);
    element("rows").replaceChildren(...list.items.slice(list.first, last).map(drawRow));
    element("feature-table").scrollTop = 0;
    markRows();
    const [what, all] = list.ofEdges
      ? ["edges", nFeatures * (labelOf() < 0 ? nLabels : 1)]
      : ["features", nFeatures];
    const range = list.items.length > PAGE ? `${count(list.first + 1)}–${count(last)}; ` : "";
    element("found").textContent = `${range}${count(list.items.length)} of ${count(all)} ${what}`;
    element("rows-back").disabled = list.first === 0;
    element("rows-on").disabled = last >= list.items.length;
  }

  function turnList(by) {
    list.first = Math.max(0, list.first + by);
    drawRows();
  }

  function drawList() {
    list.items = sortItems(findItems());
    list.first = 0;
    drawHeads();
    drawRows();
  }

  // Another view begins with its own order.
  function changeView() {
    const wasOfEdges = list.ofEdges;
    findItems();
    if (wasOfEdges !== list.ofEdges) Object.assign(list, { key: "", descending: false });
    drawList();
  }

  function goTo(place) {
    if (place < 0 || place >= list.items.length) return;
    const first = place - (place % PAGE);
    if (first !== list.first) turnList(first - list.first);
    const row = element("rows").children[place - first];
    row.querySelector("button").focus();
    choose(featureOf(list.items[place]));
  }

  function walk(event) {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const row = event.target.closest("tr");
    if (!by || !row) return;
    event.preventDefault();
    goTo(list.first + [...element("rows").children].indexOf(row) + by);
  }

  // The heat map, a page of features and as many labels as have room at a time

  let firstRow = -1;
  let firstLabel = 0;
  const pageRows = Math.min(facts.page, nFeatures);
  const COLUMN = 17;

  function drawHeat() {
    if (firstRow < 0) return;
    const plot = model("heat-map");
    const room = Math.max(60, Math.min(180, plot.outer_width * 0.3));
    const columns = Math.max(3, Math.min(nLabels, Math.floor((plot.outer_width - room - 70) / COLUMN)));
    firstLabel = Math.max(0, Math.min(firstLabel, nLabels - columns));
    const labels = each({ length: columns }, (_, at) => firstLabel + at);
    const last = firstRow + pageRows;
    const rows = each({ length: pageRows }, (_, at) => firstRow + at);
    // Cells of labels without room are there too, since the number of texts must not change.
    const cells = rows.flatMap((row) => edgesOf(row).map((one, at) => ({ ...one, row, at })));
    const names = clipAll(rows.map((row) => facts.shortFeatures[row]), room);
    const nameOf = (row) => names[row - firstRow];
    const shade = cells.map((one) => Math.sqrt(-one.log10p / facts.deepest));
    model("heat-features").factors = names.slice().reverse();
    model("heat-labels").factors = labels.map((at) => label("short")[at]);
    model("cells").data = {
      x: cells.map((one) => label("short")[one.at]),
      y: cells.map((one) => nameOf(one.row)),
      shade,
      mark: cells.map((one) => (one.significant ? one.mark || "■" : "")),
      mark_color: shade.map((value) => (value > 0.55 ? colors.paper : colors.ink)),
      row: cells.map((one) => one.row),
      feature: cells.map((one) => feature("shown")[one.row]),
      label: cells.map((one) => label("name")[one.at]),
      effect: cells.map((one) => one.effect),
      odds: cells.map((one) => one.odds || "–"),
      statistic: cells.map((one) => one.statistic),
      pvalue: cells.map((one) => one.pvalue),
      pvalue_adj: cells.map((one) => one.pvalue_adj),
    };
    const untested = cells.filter((one) => !one.tested);
    model("untested").data = {
      x: untested.map((one) => label("short")[one.at]),
      y: untested.map((one) => nameOf(one.row)),
    };
    const isHere = chosen >= firstRow && chosen < last;
    model("chosen-row").data = { y: isHere ? [nameOf(chosen)] : [], right: isHere ? [columns] : [] };
    element("heat-rows").textContent =
      `Features ${count(firstRow + 1)}–${count(last)} of ${count(nFeatures)}, by rank`;
    element("heat-back").disabled = firstRow === 0;
    element("heat-on").disabled = last === nFeatures;
    const isCut = columns < nLabels;
    for (const id of ["heat-left", "heat-right", "heat-labels-shown"]) element(id).hidden = !isCut;
    element("heat-left").disabled = firstLabel === 0;
    element("heat-right").disabled = firstLabel + columns === nLabels;
    element("heat-labels-shown").textContent =
      `Labels ${count(firstLabel + 1)}–${count(firstLabel + columns)} of ${count(nLabels)}`;
  }

  function turnTo(row, column = -1) {
    // The last page is a full one too.
    firstRow = Math.min(Math.max(0, row - (row % pageRows)), nFeatures - pageRows);
    const columns = model("heat-labels").factors.length;
    const isSeen = column < 0 || (column >= firstLabel && column < firstLabel + columns);
    if (!isSeen) firstLabel = column - Math.floor(columns / 2);
    drawHeat();
  }

  function turnLabels(pages) {
    firstLabel += pages * model("heat-labels").factors.length;
    drawHeat();
  }

  function drawChosen() {
    drawNetwork();
    describe();
    drawPairs();
  }

  function choose(row) {
    if (row === chosen) return;
    chosen = row;
    drawChosen();
    turnTo(row, feature("strongest")[row]);
    markRows();
    document.body.dataset.chosen = String(row);
  }

  // The label network

  function drawLabels() {
    const plot = model("label-network");
    const ok = each(label("reason"), (reason) => reason === "ok");
    const { radius, ...names } = fitCircle(plot, ok.map(() => !turned), ok.map(() => ""));
    const color = ok.map((is) => (is ? colors.ink : colors.untested));
    model("label-names").data = { ...names, color, style: ok.map(() => "normal") };
    const percent = (value) => `${(100 * value).toFixed(1)}%`;
    model("label-nodes").data = {
      x: Array.from(label("x")),
      y: Array.from(label("y")),
      // Neighbours on the circle do not touch.
      size: each(label("prevalence"), (share) =>
        Math.min(Math.sqrt(40 + 460 * share), (1.6 * Math.PI * radius) / nLabels)),
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

  // Tables as CSV

  // Short numbers have six digits, and p-values fewer.
  const six = (value) => (Number.isNaN(value) ? NaN : Number(value.toPrecision(6)));
  const four = (value) => (Number.isNaN(value) ? NaN : Number(value.toPrecision(4)));
  const EFFECT = ["odds_ratio", "lower", "upper", "per", "estimate"];

  const say = (value) => (Math.abs(value) === Infinity ? (value > 0 ? "inf" : "-inf") : six(value));
  function effectCells(effect) {
    if (effect === null || Number.isNaN(effect.coef)) return [NaN, NaN, NaN, "", ""];
    const found = Number.isFinite(effect.coef) ? (effect.isStep ? "one-step" : "fitted") : "infinite";
    return [...[effect.odds, effect.lower, effect.upper].map(say), perSd() ? "sd" : "unit", found];
  }

  const direction = (sign) => (sign > 0 ? "with" : sign < 0 ? "against" : "");

  const tables = {
    features: () => [
      ["rank", "feature", "importance", "pvalue", "pvalue_adj", "strongest", "direction",
        ...(hasEffects ? EFFECT : []), "reason"],
      ...each(feature("feature"), (name, row) => {
        const column = feature("strongest")[row];
        const at = column < 0 ? null : row * nLabels + column;
        return [
          row + 1,
          name,
          ...["importance", "pvalue", "pvalue_adj"].map((number) => feature(number)[row]),
          at === null ? "" : label("name")[column],
          at === null ? "" : direction(edge("sign")[at]),
          ...(hasEffects ? effectCells(at === null ? null : effectOf(at)) : []),
          reasons[feature("reason")[row]][0],
        ];
      }),
    ],
    edges: () => [
      ["feature", "label", "direction", ...(hasEffects ? ["coef", "bse", ...EFFECT] : []),
        "statistic", "df", "pvalue", "log10p", "pvalue_adj", "sign", "reason"],
      ...each(edge("statistic"), (value, at) => {
        const known = (number) => (Number.isNaN(value) ? NaN : number);
        const effect = hasEffects ? effectOf(at) : null;
        return [
          feature("feature")[Math.floor(at / nLabels)],
          label("name")[at % nLabels],
          direction(edge("sign")[at]),
          ...(effect ? [say(effect.coef), six(effect.bse), ...effectCells(effect)] : []),
          six(value),
          known(edge("df")[at]),
          four(known(10 ** edge("log10p")[at])),
          six(known(edge("log10p")[at])),
          four(known(10 ** edge("log10p_adj")[at])),
          known(edge("sign")[at]),
          reasons[edge("reason")[at]][0],
        ];
      }),
    ],
    pairs: () => [
      ["feature", "label", "with", "direction", "coef", "bse", ...EFFECT, "statistic", "sign"],
      ...each(pair("statistic"), (value, at) => {
        const effect = changeOf(at);
        const sign = Math.sign(effect.coef);
        return [
          feature("feature")[Math.floor(at / pairsEach)],
          label("name")[pair("first")[at]],
          label("name")[pair("second")[at]],
          direction(sign),
          say(effect.coef),
          six(effect.bse),
          ...effectCells(effect),
          six(value),
          sign,
        ];
      }),
    ],
  };
  if (nFeatures) Object.assign(page.made, tables);

  // Connections

  const whenResized = (name, draw) => {
    const { inner_width: width, inner_height: height } = model(name).properties;
    for (const size of [width, height]) size.change.connect(draw);
  };

  paint();
  whenResized("label-network", drawLabels);
  drawLabels();
  element("threshold").addEventListener("input", drawInteractions);
  element("infinite")?.addEventListener("change", drawInteractions);
  drawInteractions();
  isDark.addEventListener("change", () => {
    paint();
    drawLabels();
    if (!nFeatures) return;
    drawChosen();
    drawHeat();
  });
  if (nFeatures) {
    element("view").append(...each(label("name"), (name, at) => new Option(name, String(at))));
    const cells = model("cells").selected;
    cells.properties.indices.change.connect(() => {
      if (!cells.indices.length) return;
      const row = model("cells").get_column("row")[cells.indices[0]];
      cells.indices = [];
      choose(row);
    });
    element("view").addEventListener("change", changeView);
    element("search").addEventListener("input", changeView);
    element("only-significant").addEventListener("change", drawList);
    element("together")?.addEventListener("change", drawList);
    element("per-sd")?.addEventListener("change", () => {
      for (const word of document.querySelectorAll(".per")) {
        word.textContent = perSd() ? "standard deviation" : "unit";
      }
      drawList();
      describe();
      drawNetwork();
      drawPairs();
      drawHeat();
    });
    element("rows").addEventListener("keydown", walk);
    element("rows-back").addEventListener("click", () => turnList(-PAGE));
    element("rows-on").addEventListener("click", () => turnList(PAGE));
    element("heat-back").addEventListener("click", () => turnTo(firstRow - 1));
    element("heat-on").addEventListener("click", () => turnTo(firstRow + pageRows));
    element("heat-left").addEventListener("click", () => turnLabels(-1));
    element("heat-right").addEventListener("click", () => turnLabels(1));
    whenResized("network", drawNetwork);
    model("heat-map").properties.outer_width.change.connect(drawHeat);
    if (pair) {
      const { outer_width: outer, inner_width: inner } = model("pair-chart").properties;
      for (const size of [outer, inner]) size.change.connect(drawPairs);
    }
    drawList();
    choose(0);
  }
  document.body.dataset.ready = "yes";
})();
