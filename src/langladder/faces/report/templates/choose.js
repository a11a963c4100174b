// Show the rungs that the reader chooses: columns of a table, blocks, coloured lines of a plot among grey ones.
// Without this script every column and block is there, and the lines have the colours that the page gave them.
for (const scope of document.querySelectorAll(".choice")) {
  const select = scope.querySelector("select");
  const chips = scope.querySelector(".chips");
  const titles = new Map([...select.options].filter((one) => one.value).map((one) => [one.value, one.text]));
  const shown = [...scope.querySelectorAll("[data-rung]")].filter((one) => !chips.contains(one));
  const most = +scope.dataset.most;
  const places = [...chips.children].map((chip) => chip.dataset.rung); // a rung's place is its colour; null: free
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

  function colour(element, rung) {
    const place = places.indexOf(rung);
    if (place < 0) element.style.removeProperty("--rung");
    else element.style.setProperty("--rung", `var(--series-${place % 6})`);
    return place >= 0;
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
reveal();
