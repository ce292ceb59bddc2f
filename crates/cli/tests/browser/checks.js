// What the tests ask of a page. Each check gives back what is wrong, in words.
(() => {
  const seen = (element) => element.checkVisibility() && element.getClientRects().length > 0;
  const name = (element) => {
    const text = (element.textContent || "").trim().slice(0, 40);
    const figure = element.closest("figure");
    const title = figure ? figure.querySelector("h3").textContent : "";
    const section = element.closest("section[id]");
    return `${section ? section.id : ""} ${title}: <${element.tagName}> ${text}`;
  };
  const drawn = () => [...document.querySelectorAll("figure svg")].filter(seen);

  // Nothing is wider than the page, and no text leaves its picture.
  const overflow = () => {
    const faults = [];
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth > width) {
      faults.push(`the page is ${document.documentElement.scrollWidth} wide on ${width}`);
    }
    for (const element of document.querySelectorAll("body *")) {
      if (!seen(element) || element.closest("pre, svg *")) continue;
      const box = element.getBoundingClientRect();
      if (box.left < -1 || box.right > width + 1) faults.push(`${name(element)} leaves the page`);
    }
    for (const svg of drawn()) {
      const { width, height } = svg.viewBox.baseVal;
      for (const text of svg.querySelectorAll("text")) {
        const inverse = svg.getScreenCTM().inverse();
        const box = text.getBoundingClientRect();
        const from = new DOMPoint(box.left, box.top).matrixTransform(inverse);
        const to = new DOMPoint(box.right, box.bottom).matrixTransform(inverse);
        if (from.x < -1 || from.y < -3 || to.x > width + 1 || to.y > height + 3) {
          faults.push(`${name(text)} leaves its picture`);
        }
      }
    }
    return faults;
  };

  // Each figure shows one picture, which has words instead of it, and says them below as well.
  const figures = () => {
    const faults = [];
    const all = [...document.querySelectorAll("figure")];
    if (all.length === 0) faults.push("there is no figure");
    for (const figure of all) {
      const pictures = [...figure.querySelectorAll("svg")].filter(seen);
      const title = name(figure.querySelector("h3"));
      if (pictures.length !== 1) faults.push(`${title} shows ${pictures.length} pictures`);
      for (const svg of pictures) {
        const box = svg.getBoundingClientRect();
        if (box.width < 200 || box.height < 60) faults.push(`${title} is too small to see`);
        const label = svg.getAttribute("aria-label") || "";
        if (svg.getAttribute("role") !== "img" || label.length < 20) faults.push(`${title} has no words`);
      }
      const below = figure.querySelector("details p");
      if (!below || below.textContent.trim().length < 20) faults.push(`${title} says nothing below`);
    }
    return faults;
  };

  const parse = (color) => {
    const parts = color.match(/[\d.]+/g).map(Number);
    return { rgb: parts.slice(0, 3), alpha: parts.length > 3 ? parts[3] : 1 };
  };
  const over = (color, opacity, behind) => {
    const alpha = color.alpha * opacity;
    return color.rgb.map((part, index) => part * alpha + behind[index] * (1 - alpha));
  };
  // WCAG 2.2, relative luminance and contrast ratio.
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((part) => {
      const value = part / 255;
      return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const background = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      layers.push(parse(getComputedStyle(at).backgroundColor));
    }
    return layers.reverse().reduce((behind, layer) => over(layer, 1, behind), [255, 255, 255]);
  };
  // Boxes, dots, surfaces and texts of a picture, in the order they are painted.
  const shapes = (svg) => [...svg.querySelectorAll("rect, circle, path, text")].flatMap((shape) => {
    if (shape.tagName === "text") return [{ shape }];
    const style = getComputedStyle(shape);
    if (style.fill === "none" || style.display === "none") return [];
    const inverse = shape.getScreenCTM().inverse();
    return [{ shape, inverse, box: shape.getBoundingClientRect(), fill: parse(style.fill), opacity: Number(style.opacity) }];
  });
  // What was painted before a text under one of its places.
  const painted = (list, surface, text, { x, y }) => {
    let color = surface;
    for (const { shape, inverse, box, fill, opacity } of list) {
      if (shape === text) break;
      if (!box || x < box.left || x > box.right || y < box.top || y > box.bottom) continue;
      if (shape.isPointInFill(new DOMPoint(x, y).matrixTransform(inverse))) color = over(fill, opacity, color);
    }
    return color;
  };
  const words = (element) =>
    [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());

  // All text stands out from what is behind it by 4.5 to 1 (WCAG 2.2, 1.4.3).
  const contrasts = () => {
    const faults = new Set();
    const judge = (element, color, behind) => {
      const ratio = contrast(over(color, 1, behind), behind);
      if (ratio < 4.5) faults.add(`${name(element)} stands out by ${ratio.toFixed(2)} only`);
    };
    for (const element of document.querySelectorAll("body *")) {
      if (!seen(element) || !words(element) || element.closest("svg, script, style")) continue;
      judge(element, parse(getComputedStyle(element).color), background(element));
    }
    for (const svg of drawn()) {
      const [list, surface] = [shapes(svg), background(svg)];
      for (const text of svg.querySelectorAll("text")) {
        const box = text.getBoundingClientRect();
        for (const share of [0.1, 0.5, 0.9]) {
          const point = { x: box.left + box.width * share, y: box.top + box.height / 2 };
          judge(text, parse(getComputedStyle(text).fill), painted(list, surface, text, point));
        }
      }
    }
    return [...faults];
  };

  // Two texts of a picture are not in each other's place.
  const collisions = () => {
    const faults = [];
    for (const svg of drawn()) {
      const boxes = [...svg.querySelectorAll("text")].map((text) => [text, text.getBoundingClientRect()]);
      boxes.forEach(([text, a], index) => {
        for (const [other, b] of boxes.slice(index + 1)) {
          const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
          const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
          if (wide > 2 && high > Math.min(a.height, b.height) * 0.4) {
            faults.push(`${name(text)} and “${other.textContent}” are in each other's place`);
          }
        }
      });
    }
    return faults;
  };

  // What fits on a sheet of so many pixels is neither cut nor wider than it.
  const sheets = (height) => {
    const faults = [];
    for (const svg of drawn()) {
      const box = svg.getBoundingClientRect();
      if (box.height > height + 0.5) faults.push(`${name(svg)} is ${box.height} high, a sheet ${height}`);
    }
    for (const figure of document.querySelectorAll("figure")) {
      if (getComputedStyle(figure).overflow !== "visible") faults.push(`${name(figure)} is cut`);
    }
    return faults;
  };

  // Areas under the pointer, the first and the last of each panel's first figures: where a point of each is in the
  // page, and what it should tell.
  const some = () => [...document.querySelectorAll("section[id]")].flatMap((section) =>
    [...section.querySelectorAll("figure")].slice(0, 4));
  const areas = () => some().flatMap((figure) => {
    // What all points say stands once, as what comes before and what after.
    const words = [...figure.querySelectorAll("[data-told]")].map((area) => {
      const [before, after] = area.dataset.same.split("\n").map((line) => line.split("\t"));
      return area.dataset.told.split("\n").map((point) =>
        point.split("\t").map((own, at) => before[at] + own + after[at]).join("\t"));
    });
    return [...figure.querySelectorAll("svg")].filter(seen).flatMap((svg) =>
      [...svg.querySelectorAll(".hover")].map((area, index, all) => {
        if (index > 0 && index < all.length - 1) return [];
        const xs = area.dataset.x.split(" ").filter(Boolean).map(Number);
        const point = Math.floor(xs.length / 2);
        const { x, y, height } = area;
        return {
          name: name(figure.querySelector("h3")), points: xs.length, told: (words[index] || [])[point],
          x: xs[point], y: y.baseVal.value + height.baseVal.value / 2,
          picture: [...document.querySelectorAll("svg")].indexOf(svg),
        };
      }).flat());
  });
  // Brings a place of a picture into view: where it is then.
  const reach = (picture, x, y) => {
    const svg = document.querySelectorAll("svg")[picture];
    const top = svg.getBoundingClientRect().top + scrollY;
    const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    scrollTo(0, top + y * scale - innerHeight / 2);
    const point = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM());
    return [point.x, point.y];
  };
  // What is told, with the room it takes beyond the page.
  const told = () => [...document.querySelectorAll(".told")].filter((box) => !box.hidden).map((box) => ({
    text: [...box.children].map((line) => line.textContent).join("\t"),
    beyond: Math.max(box.getBoundingClientRect().right - document.documentElement.clientWidth,
      -box.getBoundingClientRect().left, 0),
  }));

  // Each button hides the series of its name, and shows it again.
  const toggles = () => {
    const faults = [];
    for (const button of document.querySelectorAll(".toggles button")) {
      const groups = [...button.closest("figure").querySelectorAll("[data-series]")]
        .filter((group) => group.dataset.series === button.textContent);
      const hidden = () => groups.every((group) => getComputedStyle(group).display === "none");
      if (groups.length === 0 || hidden()) faults.push(`${name(button)} has nothing to hide`);
      button.click();
      if (!hidden() || button.getAttribute("aria-pressed") !== "false") faults.push(`${name(button)} hides nothing`);
      button.click();
      if (hidden() || button.getAttribute("aria-pressed") !== "true") faults.push(`${name(button)} stays hidden`);
    }
    return faults;
  };

  globalThis.checks = { overflow, figures, contrasts, collisions, sheets, areas, reach, told, toggles };
})()
