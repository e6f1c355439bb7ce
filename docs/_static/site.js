// On a phone the cells of a row stand below each other: each is told the name of its column.
document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll(".bd-article table.table")) {
    const columns = [...table.querySelectorAll("thead th")].map((head) => head.textContent.trim());
    for (const row of table.querySelectorAll("tbody tr")) {
      [...row.children].forEach((cell, index) => {
        if (columns[index]) cell.dataset.column = columns[index];
      });
    }
    table.classList.add("stacked");
  }
});
