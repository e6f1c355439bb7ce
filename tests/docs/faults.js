// What on a page is wider than the place it has, a line each, once it is shown in this mode, light or dark. Only code
// blocks and signatures may scroll.
async (mode) => {
  const faults = [];
  const isShown = () => {
    const [red, green, blue] = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number);
    const brightness = (red + green + blue) / 3;
    return document.documentElement.dataset.theme === mode && (mode === "light" ? brightness > 200 : brightness < 80);
  };
  // A page follows the system at once, its colours within a few frames.
  for (let frame = 0; frame < 300 && !isShown(); frame++) await new Promise(requestAnimationFrame);
  if (!isShown()) faults.push(`expected it ${mode}, got ${getComputedStyle(document.body).backgroundColor}`);

  const page = document.scrollingElement;
  if (page.scrollWidth > page.clientWidth) {
    faults.push(`the page: ${page.scrollWidth} in ${page.clientWidth} pixels`);
  }

  for (const element of document.querySelectorAll(".bd-main, .bd-main *, #pst-header *")) {
    if (element.closest("svg, .visually-hidden") || element.clientWidth === 0) continue;
    if (element.scrollWidth <= element.clientWidth + 1) continue;
    const style = getComputedStyle(element);
    const scrolls = ["auto", "scroll"].includes(style.overflowX) && element.matches("pre, dt");
    if (scrolls || style.display === "inline") continue;
    const text = element.textContent.trim().replace(/\s+/g, " ").slice(0, 60);
    const name = `${element.tagName.toLowerCase()}.${element.className}`;
    faults.push(`${name}: ${element.scrollWidth} in ${element.clientWidth} pixels: ${text}`);
  }

  for (const picture of document.querySelectorAll("svg.picture")) {
    const frame = picture.getBoundingClientRect();
    if (!picture.getAttribute("aria-label")) faults.push("a picture without a text");
    for (const text of picture.querySelectorAll("text")) {
      const box = text.getBoundingClientRect();
      if (box.left < frame.left - 1 || box.right > frame.right + 1) {
        faults.push(`outside its picture: ${text.textContent}`);
      }
      if (box.height < 10) faults.push(`too small in its picture: ${text.textContent}`);
    }
  }
  return faults;
}
