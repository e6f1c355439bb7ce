document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll(".bd-article table.table")) {
    nameColumns(table);
    letNamesBreak(table);
  }
  keepFlagsWhole();
});

// On a phone the cells of a row stand below each other: each is told the name of its column.
function nameColumns(table) {
  const columns = [...table.querySelectorAll("thead th")].map((head) => head.textContent.trim());
  for (const row of table.querySelectorAll("tbody tr")) {
    [...row.children].forEach((cell, index) => {
      const text = cell.textContent.trim();
      if (columns[index] && text) cell.dataset.column = columns[index];
      cell.classList.toggle("short", text.length <= 10);
    });
  }
  if (columns[0]) table.dataset.about = columns[0];
  table.classList.add("stacked");
  table.classList.toggle("no-head", columns.every((name) => !name));
}

// Long names break behind a dot and before a capital, as in pulsar.client.|connection|TimeoutMs.
function letNamesBreak(table) {
  const texts = document.createTreeWalker(table, NodeFilter.SHOW_TEXT);
  const long = [];
  while (texts.nextNode()) {
    if (/\S{16,}/.test(texts.currentNode.data)) long.push(texts.currentNode);
  }
  for (const text of long) {
    const parts = text.data.split(/(?<=[./,:=_-])|(?<=[a-z])(?=[A-Z])/);
    text.replaceWith(...parts.flatMap((part) => [part, document.createElement("wbr")]));
  }
}

// A short word of code moves to the next line as a whole: a browser would break --admin-url behind its first dash.
function keepFlagsWhole() {
  for (const word of document.querySelectorAll(".bd-article :not(pre) > code .pre")) {
    if (/^(--[\w-]{1,24}|\S{1,16})$/.test(word.textContent)) word.classList.add("whole");
  }
}
