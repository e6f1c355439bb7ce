document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll(".bd-article table.table")) {
    nameColumns(table);
    table.querySelectorAll("td code .pre").forEach(letNamesBreak);
  }
});

// On a phone the cells of a row stand below each other: each is told the name of its column.
function nameColumns(table) {
  const columns = [...table.querySelectorAll("thead th")].map((head) => head.textContent.trim());
  for (const row of table.querySelectorAll("tbody tr")) {
    [...row.children].forEach((cell, index) => {
      if (columns[index]) cell.dataset.column = columns[index];
    });
  }
  table.classList.add("stacked");
}

// Long names break behind a dot and before a capital, as in pulsar.client.|connection|TimeoutMs.
function letNamesBreak(name) {
  const parts = name.textContent.split(/(?<=[./,:_-])|(?<=[a-z])(?=[A-Z])/);
  name.replaceChildren(...parts.flatMap((part) => [part, document.createElement("wbr")]));
}
