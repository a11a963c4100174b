// Show the rungs that the reader chooses: columns of a table, blocks, coloured lines of a plot among grey ones.
// Without this script every column and block is there, and the lines have the colours that the page gave them.
for (const scope of document.querySelectorAll(".choice")) {
  const select = scope.querySelector("select");
  const chips = scope.querySelector(".chips");
  const titles = new Map([...select.options].filter((one) => one.value).map((one) => [one.value, one.text]));
  const shown = [...scope.querySelectorAll("[data-rung]")].filter((one) => !chips.contains(one));
  const most = +scope.dataset.most;
  const own = new Map([...select.options].map((one) => [one.value, one.dataset.hue])); // its approach's colour
  const places = [...chips.children].map((chip) => chip.dataset.rung); // null: free
  const hues = new Map(); // rung → its colour, of those shown
  const age = [...places]; // the one chosen longest ago first

  function add(rung) {
    if (places.includes(rung)) return;
    let place = places.indexOf(null);
    if (place < 0 && places.length < most) place = places.length;
    if (place < 0) place = places.indexOf(age.shift());
    places[place] = rung;
    age.push(rung);
    show();
  }

  function remove(rung) {
    places[places.indexOf(rung)] = null;
    age.splice(age.indexOf(rung), 1);
    show();
  }

  function share() { // the first of an approach has its approach's colour, the others what is free then; the floor's (1) is the last
    const free = () => ["0", "5", "4", "2", "3", "1"].filter((hue) => ![...hues.values()].includes(hue));
    const waiting = () => places.filter((one) => one && !hues.has(one));
    for (const rung of [...hues.keys()]) if (!places.includes(rung)) hues.delete(rung);
    for (const rung of waiting()) if (free().includes(own.get(rung))) hues.set(rung, own.get(rung));
    for (const rung of waiting()) hues.set(rung, free()[0] ?? "1");
  }

  function colour(element, rung) {
    if (hues.has(rung)) element.style.setProperty("--rung", `var(--series-${hues.get(rung)})`);
    else element.style.removeProperty("--rung");
    return hues.has(rung);
  }

  function chip(rung) {
    const item = document.createElement("li");
    const button = document.createElement("button");
    item.dataset.rung = rung;
    item.append(titles.get(rung), button);
    button.textContent = "×";
    button.setAttribute("aria-label", `Take ${titles.get(rung)} away`);
    button.addEventListener("click", () => remove(rung));
    const light = (on) => shown.forEach((one) => one.classList.toggle("hot", on && one.dataset.rung === rung));
    item.addEventListener("mouseenter", () => light(true));
    item.addEventListener("mouseleave", () => light(false));
    colour(item, rung);
    return item;
  }

  function show() {
    share();
    for (const element of shown) {
      const rung = element.dataset.rung;
      if (element instanceof SVGElement) {
        if (element.classList.toggle("on", colour(element, rung))) element.parentNode.append(element); // above the grey
        element.classList.remove("hot");
      } else {
        element.hidden = !places.includes(rung);
        if (element.tagName === "DETAILS") element.open = true;
      }
    }
    chips.replaceChildren(...places.filter(Boolean).map(chip));
    [...select.options].forEach((one) => (one.disabled = places.includes(one.value)));
  }

  shown.filter((one) => one instanceof SVGElement).forEach((line) => {
    const rung = line.dataset.rung;
    line.addEventListener("click", () => (places.includes(rung) ? remove(rung) : add(rung)));
  });
  select.addEventListener("change", () => {
    add(select.value);
    select.selectedIndex = 0;
  });
  select.hidden = false;
  show();
}

// A link to something inside a closed block opens it.
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let block = target?.closest("details"); block; block = block.parentElement.closest("details")) block.open = true;
  target?.scrollIntoView();
}
addEventListener("hashchange", reveal);
// What is printed is the whole page.
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => (one.open = true)));
reveal();
