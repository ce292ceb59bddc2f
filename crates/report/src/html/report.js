"use strict";
// Values under the pointer, a line through them, and series that can be switched off. Without it the page lacks
// nothing but that.
for (const figure of document.querySelectorAll("figure")) {
  const told = document.createElement("div");
  told.className = "told";
  told.hidden = true;
  figure.append(told);
  // What is told stands in one of the pictures; the areas of all come in the same order. What all points say in the
  // same place stands once, as what comes before and what after.
  const words = [...figure.querySelectorAll("[data-told]")].map((area) => {
    const [before, after] = area.dataset.same.split("\n").map((line) => line.split("\t"));
    return area.dataset.told.split("\n").map((point) =>
      point.split("\t").map((own, index) => before[index] + own + after[index]));
  });
  for (const svg of figure.querySelectorAll("svg")) {
    svg.querySelectorAll(".hover").forEach((area, index) => watch(figure, area, words[index], told));
  }
  toggles(figure);
}

function watch(figure, area, words, told) {
  if (!area.dataset.x) return;
  const points = area.dataset.x.split(" ").map((x, index) => [Number(x), ...words[index]]);
  const svg = area.ownerSVGElement;
  const cross = document.createElementNS("http://www.w3.org/2000/svg", "line");
  cross.setAttribute("class", "cross");
  cross.setAttribute("y1", area.getAttribute("y"));
  cross.setAttribute("y2", Number(area.getAttribute("y")) + Number(area.getAttribute("height")));
  cross.style.display = "none";
  area.before(cross);
  const hide = () => {
    told.hidden = true;
    cross.style.display = "none";
  };
  const show = (event) => {
    const box = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width / box.width;
    const x = (event.clientX - box.left) * scale;
    const near = points.reduce((a, b) => (Math.abs(b[0] - x) < Math.abs(a[0] - x) ? b : a));
    cross.setAttribute("x1", near[0]);
    cross.setAttribute("x2", near[0]);
    cross.style.display = "";
    told.replaceChildren(...near.slice(1).map((line, index) => {
      const element = document.createElement(index ? "div" : "b");
      element.textContent = line;
      return element;
    }));
    told.hidden = false;
    const around = figure.getBoundingClientRect();
    const left = box.left - around.left + near[0] / scale;
    const right = left + 12 + told.offsetWidth < around.width;
    told.style.left = `${right ? left + 12 : Math.max(0, left - 12 - told.offsetWidth)}px`;
    told.style.top = `${Math.max(0, event.clientY - around.top - told.offsetHeight / 2)}px`;
  };
  area.addEventListener("pointermove", show);
  area.addEventListener("pointerdown", show);
  area.addEventListener("pointerleave", hide);
}

function toggles(figure) {
  const names = new Set([...figure.querySelectorAll("[data-series]")].map((g) => g.dataset.series));
  if (names.size < 2) return;
  const row = document.createElement("div");
  row.className = "toggles";
  for (const name of names) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = name;
    button.setAttribute("aria-pressed", "true");
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(on));
      for (const g of figure.querySelectorAll("[data-series]")) {
        if (g.dataset.series === name) g.style.display = on ? "" : "none";
      }
    });
    row.append(button);
  }
  figure.append(row);
}
