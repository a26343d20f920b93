"use strict";

// What every report does: it offers its tables as CSV.

const page = (() => {
  const facts = JSON.parse(document.getElementById("facts").textContent);

  function write(rows) {
    const cell = (value) => {
      if (typeof value === "number") return Number.isNaN(value) ? "" : String(value);
      return /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
    };
    return rows.map((row) => `${row.map(cell).join(",")}\n`).join("");
  }

  // Every table says what it is adjusted for, wherever it goes.
  const adjusted = ([head, ...rows]) => facts.adjustedFor
    ? [[...head, "adjusted_for"], ...rows.map((row) => [...row, facts.adjustedFor])]
    : [head, ...rows];

  // Tables that are made from others when they are asked for; all others are among the facts.
  const made = {};

  function download(name) {
    const link = document.createElement("a");
    const text = write(adjusted(name in made ? made[name]() : facts.tables[name]));
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = `${name}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  for (const button of document.querySelectorAll("[data-table]")) {
    button.addEventListener("click", () => download(button.dataset.table));
  }
  // A page with drawings says so itself, when they are drawn.
  if (!facts.document) document.body.dataset.ready = "yes";
  return { facts, made };
})();
