"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => root.classList.contains("dark") || (!root.classList.contains("light") && system.matches);
  function turn() {
    const dark = !isDark();
    root.classList.toggle("dark", dark);
    root.classList.toggle("light", !dark);
    root.dispatchEvent(new Event("theme"));
  }
  document.getElementById("theme").addEventListener("click", turn);
  system.addEventListener("change", () => root.dispatchEvent(new Event("theme")));
  document.addEventListener("keydown", (event) => {
    if (event.key === "t" && !event.ctrlKey && !event.metaKey && !event.altKey && event.target.tagName !== "INPUT") turn();
  });

  // --- tables: a click on a heading sorts, numbers from the largest ----------------------------------------------------
  const value = (cell) => {
    const text = cell.dataset.value ?? cell.textContent.trim();
    return text !== "" && !Number.isNaN(Number(text)) ? Number(text) : text.toLowerCase();
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    table.querySelectorAll("thead th button").forEach((button) => button.addEventListener("click", () => {
      const heading = button.closest("th");
      const column = [...heading.parentNode.children].indexOf(heading);
      const first = heading.classList.contains("n") ? "descending" : "ascending";
      const order = heading.getAttribute("aria-sort") === first ? (first === "ascending" ? "descending" : "ascending") : first;
      table.querySelectorAll("th[aria-sort]").forEach((each) => each.setAttribute("aria-sort", "none"));
      heading.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      const rows = [...table.tBodies[0].rows].map((row) => [value(row.cells[column]), row]);
      rows.sort(([a], [b]) => sign * (typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? -1 : 1));
      table.tBodies[0].append(...rows.map(([, row]) => row));
    }));
  }

  // --- pictures of the topology behind tabs ------------------------------------------------------------------------------
  const tabs = [...document.querySelectorAll("[role=tab]")];
  function show(chosen) {
    tabs.forEach((tab) => {
      tab.setAttribute("aria-selected", tab === chosen);
      tab.tabIndex = tab === chosen ? 0 : -1;
      document.getElementById(tab.getAttribute("aria-controls")).toggleAttribute("data-hidden", tab !== chosen);
    });
  }
  tabs.forEach((tab, number) => {
    tab.addEventListener("click", () => show(tab));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = tabs[(number + step + tabs.length) % tabs.length];
      show(next);
      next.focus();
    });
  });
  if (tabs.length) show(tabs[0]);

  const natural = document.getElementById("natural");
  natural?.addEventListener("click", () => {
    const large = natural.getAttribute("aria-pressed") !== "true";
    natural.setAttribute("aria-pressed", large);
    natural.closest("section").classList.toggle("natural", large);
  });

  // --- charts: what is under the pointer ---------------------------------------------------------------------------------
  const tip = document.getElementById("tip");
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  function shown(amount, unit) {
    if (unit !== "B") return Number(amount.toPrecision(5)).toString();
    let place = 0;
    for (; Math.abs(amount) >= 1024 && place < 4; place++) amount /= 1024;
    return `${place ? amount.toFixed(1) : amount} ${units[place]}`;
  }
  for (const chart of document.querySelectorAll("svg.chart")) {
    const lines = [...chart.querySelectorAll("polyline[data-points]")].map((line) => ({
      name: line.dataset.name, unit: line.dataset.unit,
      points: line.dataset.points.split(";").map((point) => point.split(",").map(Number)),
    }));
    const xs = lines.flatMap((line) => line.points.map((point) => point[0]));
    const low = Math.min(...xs), high = Math.max(Math.max(...xs), low + 1e-9);
    const [left, right] = [Number(chart.dataset.left), Number(chart.dataset.right)];
    const cursor = document.createElementNS("http://www.w3.org/2000/svg", "line");
    cursor.setAttribute("class", "cursor");
    chart.append(cursor);
    chart.addEventListener("pointermove", (event) => {
      const box = chart.getBoundingClientRect();
      const at = ((event.clientX - box.left) / box.width) * chart.viewBox.baseVal.width;
      const x = low + ((at - left) / (right - left)) * (high - low);
      let nearest = null;
      const told = lines.map((line) => {
        const point = line.points.reduce((best, each) => (Math.abs(each[0] - x) < Math.abs(best[0] - x) ? each : best));
        if (nearest === null || Math.abs(point[0] - x) < Math.abs(nearest - x)) nearest = point[0];
        return `${line.name}  ${shown(point[1], line.unit)}`;
      });
      const place = left + ((nearest - low) / (high - low)) * (right - left);
      for (const [name, where] of [["x1", place], ["x2", place], ["y1", 12], ["y2", chart.viewBox.baseVal.height - 30]]) cursor.setAttribute(name, where);
      tip.textContent = `${shown(nearest, "")}\n${told.join("\n")}`;
      tip.hidden = false;
      tip.style.left = `${Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)}px`;
      tip.style.top = `${event.clientY + 14}px`;
    });
    chart.addEventListener("pointerleave", () => {
      tip.hidden = true;
      for (const name of ["x1", "x2", "y1", "y2"]) cursor.setAttribute(name, -9);
    });
  }

  // --- where one is, and paper --------------------------------------------------------------------------------------------
  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.getAttribute("href").slice(1), link]));
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) links.get(entry.target.id)?.classList.toggle("here", entry.isIntersecting);
  }, { rootMargin: "-20% 0px -75% 0px" });
  document.querySelectorAll("main > section").forEach((section) => watch.observe(section));
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("#outcome details:not([open]), #memory details:not([open])")];
    opened.forEach((each) => { each.open = true; });
  });
  addEventListener("afterprint", () => opened.forEach((each) => { each.open = false; }));
})();
