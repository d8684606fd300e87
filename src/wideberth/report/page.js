"use strict";
// Sort a table by the heading selected; once more turns the order round.
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const heading = button.parentElement;
    const body = heading.closest("table").tBodies[0];
    const column = heading.cellIndex;
    const up = heading.getAttribute("aria-sort") !== "ascending";
    for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = (row) => row.cells[column].dataset.value;
    const missing = (value) => value === "";
    const order = (a, b) => {
      const [x, y] = [key(a), key(b)];
      if (missing(x) || missing(y)) return missing(x) - missing(y);
      const difference = heading.classList.contains("text")
        ? x.localeCompare(y) : Number(x) - Number(y);
      return up ? difference : -difference;
    };
    body.append(...[...body.rows].sort(order));
  });
}
// Paper cannot be unfolded: print what is folded on the screen.
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});
