// A drawing that the server made, as elements of the page. Only what drawings are made of is taken: no script, no link.
const SVG = "http://www.w3.org/2000/svg";
const ELEMENTS = new Set(["svg", "g", "path", "circle", "rect", "line", "text", "title"]);
const ATTRIBUTES = new Set(["role", "aria-label", "class", "width", "height", "viewBox", "d", "cx", "cy", "r", "x", "y", "rx", "fill-opacity", "transform"]);
const STYLES = new Set(["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity", "font", "text-anchor"]);

/** The <svg> of a text; null where it is none. `data-style` becomes the style, which markup may not bear here. */
export function graft(text) {
  const root = new DOMParser().parseFromString(text.replace("<svg ", `<svg xmlns="${SVG}" `), "image/svg+xml").documentElement;
  return root.nodeName === "svg" ? copied(root) : null;
}

function copied(element) {
  const found = document.createElementNS(SVG, element.localName);
  for (const { name, value } of element.attributes) if (ATTRIBUTES.has(name)) found.setAttribute(name, value);
  for (const rule of (element.getAttribute("data-style") ?? "").split(";")) {
    const [name, value] = rule.split(":").map((part) => part.trim());
    if (STYLES.has(name)) found.style.setProperty(name, value);
  }
  for (const inside of element.childNodes) {
    if (inside.nodeType === Node.TEXT_NODE) found.append(inside.data);
    else if (ELEMENTS.has(inside.localName)) found.append(copied(inside));
  }
  return found;
}
