"use strict";
const runs = JSON.parse(document.getElementById("data").textContent);
const byId = new Map(runs.map((run) => [run.id, run]));
const $ = (id) => document.getElementById(id);
const percent = (share) => `${(share >= 1 ? 100 : Math.min(100 * share, 99.99)).toFixed(2)} %`;
const rounded = (value) => value.toLocaleString("en", { maximumSignificantDigits: 6 });

// -- gallery: filter and sort -----------------------------------------------------------------------------

const list = $("cards");
const cards = [...list.children];
let visible = [];

function arrange() {
  const set = document.querySelector("[name=set]:checked").value;
  const preset = document.querySelector("[name=preset]:checked").value;
  const key = $("sort").value.replace("-", "");
  const sign = $("sort").value.startsWith("-") ? -1 : 1;
  for (const card of cards) {
    const data = card.dataset;
    const wanted = (!set || data.set === set) && data.preset === preset;
    card.hidden = !wanted || ($("imperfect").checked && data.perfect === "1");
  }
  cards.sort((a, b) => sign * (a.dataset[key] - b.dataset[key]) || a.dataset.order - b.dataset.order);
  list.append(...cards);
  visible = cards.filter((card) => !card.hidden).map((card) => card.dataset.id);
  $("count").textContent = visible.length === 1 ? "1 puzzle" : `${visible.length} puzzles`;
  $("none").hidden = visible.length > 0;
}

document.querySelector(".controls").addEventListener("change", arrange);
arrange();

// -- one puzzle -------------------------------------------------------------------------------------------

const view = $("view");
let run = null;

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function fill(id, rows) {
  const shown = rows.filter(([, value]) => value !== undefined && value !== null && value !== "");
  $(id).replaceChildren(...shown.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, String(value)))));
}

function open(chosen) {
  run = chosen;
  const yes = (value) => (value ? "yes" : "no");
  $("title").textContent = run.puzzle;
  $("subtitle").textContent = `${run.set} · ${run.pieces} pieces`;
  const alternatives = runs.filter((other) => other.set === run.set && other.puzzle === run.puzzle);
  const several = alternatives.some((other) => other.run !== run.run);
  const switching = $("tabs").contains(document.activeElement);
  $("tabs").replaceChildren(
    ...alternatives.map((other) => {
      const name = several ? `${other.preset}, run ${other.run}` : other.preset;
      const tab = element("a", { href: `#${encodeURIComponent(other.id)}` }, name);
      if (other === run) tab.setAttribute("aria-current", "true");
      return tab;
    }),
  );
  fill("scores", [
    ["neighbours found", percent(run.neighbor)],
    ["identical pieces equal", percent(run.neighbor_identical)],
    ["ceiling", percent(run.ceiling)],
    ["pieces in place", percent(run.direct)],
    ["perfect", yes(run.perfect)],
    ["pixel-perfect", yes(run.pixel_perfect)],
    ["images found", run.images > 1 || run.images_found > 1 ? `${run.images_found} of ${run.images}` : null],
    ["SEDAS", run.images > 1 ? percent(run.sedas) : null],
    ["ENAS", run.images > 1 ? percent(run.enas) : null],
    ["seconds", rounded(run.seconds)],
  ]);
  fill("fitnesses", [
    ["solution", rounded(run.fitness)],
    ["true image", run.true_fitness === undefined ? null : rounded(run.true_fitness)],
  ]);
  fill("stages", Object.entries(run.stages ?? {}).map(([name, cost]) => [name, `${cost.seconds} s, ${Math.round(cost.peak_mb)} MB`]));
  fill("settings", [
    ["preset", run.preset],
    ...Object.entries(run.settings ?? {}).map(([name, value]) => [name.replace("_", " "), typeof value === "boolean" ? yes(value) : value]),
    ["solver seed", run.seed],
    ["seed of the cut", run.cut_seed],
    ["piece size", run.piece_size],
  ]);
  const { commit, python, machine, libraries } = run.provenance ?? {};
  fill("versions", [["jigsaw", run.version], ["commit", commit], ["Python", python], ...Object.entries(libraries ?? {}), ["machine", machine]]);
  $("images").hidden = run.per_image.length === 0;
  $("images").lastElementChild.replaceChildren(tableOf(run.per_image));
  const links = ["original", "bag", "assembled", "errors", "generations", "animation"].map((name) => [name, `${name}.webp`]);
  if (run.images > 1) links.push(["origins", "origins.webp"]);
  for (let i = 1; run.images_found > 1 && i <= run.images_found; i++) links.push([`image ${i}`, `images/image-${i}.png`]);
  $("links").replaceChildren(...links.map(([name, file]) => element("a", { href: `${run.folder}/${file}` }, name)));
  for (const name of ["original", "errors"]) picture(name, `${name}.webp`, `${run.puzzle}, ${name}`);
  $("generation").max = run.shown.length - 1;
  $("generation").value = run.shown.length - 1;
  showFilm(false);
  zoomTo(1, 0, 0);
  if (!view.open) {
    view.showModal();
    $("generation").focus({ preventScroll: true });
    view.scrollTop = 0;
  } else if (switching) {
    $("tabs").querySelector("[aria-current]").focus();
  }
}

function tableOf(images) {
  const head = ["image", "pieces", "neighbours", "in place"].map((name, i) => element("th", i ? { class: "n" } : {}, name));
  const rows = images.map((image) => {
    const cells = [image.image, image.pieces, percent(image.neighbor), percent(image.direct)];
    return element("tr", {}, ...cells.map((cell, i) => element("td", i ? { class: "n" } : {}, String(cell))));
  });
  return element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
}

function picture(id, file, text) {
  $(id).src = `${run.folder}/${file}`;
  $(id).alt = text;
}

function showStage() {
  const index = Number($("generation").value);
  const { name, file } = run.shown[index];
  picture("assembled", file, `${run.puzzle}, ${name}`);
  $("stage").textContent = index === run.shown.length - 1 ? `Assembled: ${name}` : name[0].toUpperCase() + name.slice(1);
  $("generation").setAttribute("aria-valuetext", name);
  drawFitness(Number(name.match(/\d+/)?.[0] ?? run.history?.length ?? 0));
}

function showFilm(on) {
  $("film").setAttribute("aria-pressed", on);
  if (!on) return showStage();
  picture("assembled", "animation.webp", `${run.puzzle}, a film of the run`);
  $("stage").textContent = "Film of the run";
}

$("generation").addEventListener("input", () => {
  for (const { file } of run.shown) new Image().src = `${run.folder}/${file}`; // ahead of the slider
  showFilm(false);
});
$("film").addEventListener("click", () => showFilm($("film").getAttribute("aria-pressed") !== "true"));

// The best fitness of each generation, the true image's as a dashed line, and the generation looked at.
function drawFitness(generation) {
  const place = $("fitness");
  place.replaceChildren();
  const history = run.history?.slice(1);
  if (!history?.length) return;
  const [width, height, left] = [320, 160, 6];
  const values = [...history, run.fitness, run.true_fitness ?? run.fitness];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const x = (i) => left + ((i - 1) / Math.max(history.length - 1, 1)) * (width - 2 * left);
  const y = (value) => 10 + (1 - (value - low) / (high - low || 1)) * (height - 50);
  const svg = (name, attributes, text = "") => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.textContent = text;
    return made;
  };
  const chart = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "best fitness by generation" });
  chart.append(svg("polyline", { class: "best", points: history.map((value, i) => `${x(i + 1).toFixed(1)},${y(value).toFixed(1)}`).join(" ") }));
  if (run.true_fitness !== undefined) {
    const at = y(run.true_fitness);
    chart.append(svg("line", { class: "true", x1: left, x2: width - left, y1: at, y2: at }));
    chart.append(svg("text", { x: width - left, y: at + 14, "text-anchor": "end" }, "true image"));
  }
  const last = generation > history.length || !generation;
  const seen = last ? history.length : generation;
  chart.append(svg("circle", { class: "now", r: 5, cx: x(seen), cy: y(last ? run.fitness : history[seen - 1]) }));
  chart.append(svg("text", { x: left, y: height - 2 }, "generation 1"));
  chart.append(svg("text", { x: width - left, y: height - 2, "text-anchor": "end" }, String(history.length)));
  place.append(chart);
}

// -- zoom, the same in all panes --------------------------------------------------------------------------

const panes = $("panes");
let zoom = { z: 1, x: 0, y: 0 }; // x, y: shift in % of a pane
const fingers = new Map();

function zoomTo(z, x, y) {
  z = Math.min(Math.max(z, 1), 40);
  const least = 100 * (1 - z);
  zoom = { z, x: Math.min(0, Math.max(least, x)), y: Math.min(0, Math.max(least, y)) };
  for (const [key, value] of Object.entries(zoom)) panes.style.setProperty(`--${key}`, value);
  panes.classList.toggle("zoomed", z > 1);
}

// Zoom by a factor about a point, in % of a pane.
function zoomBy(factor, px = 50, py = 50) {
  const z = Math.min(Math.max(zoom.z * factor, 1), 40);
  const change = z / zoom.z;
  zoomTo(z, px - (px - zoom.x) * change, py - (py - zoom.y) * change);
}

function within(event) {
  const box = event.target.closest(".pane").getBoundingClientRect();
  return [(100 * (event.clientX - box.left)) / box.width, (100 * (event.clientY - box.top)) / box.height];
}

panes.addEventListener("wheel", (event) => {
  if (!event.target.closest(".pane")) return;
  event.preventDefault();
  zoomBy(Math.exp(-event.deltaY / 400), ...within(event));
}, { passive: false });
panes.addEventListener("dblclick", (event) => {
  if (event.target.closest(".pane")) zoom.z > 1 ? zoomTo(1, 0, 0) : zoomBy(4, ...within(event));
});
panes.addEventListener("pointerdown", (event) => {
  if (!event.target.closest(".pane")) return;
  event.target.setPointerCapture(event.pointerId);
  fingers.set(event.pointerId, within(event));
});
panes.addEventListener("pointermove", (event) => {
  const before = fingers.get(event.pointerId);
  if (!before) return;
  const now = within(event);
  const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
  if (other) {
    const distance = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]) || 1;
    zoomBy(distance(now) / distance(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
  } else if (zoom.z > 1) {
    zoomTo(zoom.z, zoom.x + now[0] - before[0], zoom.y + now[1] - before[1]);
  }
  fingers.set(event.pointerId, now);
});
for (const end of ["pointerup", "pointercancel"]) panes.addEventListener(end, (event) => fingers.delete(event.pointerId));
$("in").addEventListener("click", () => zoomBy(1.6));
$("out").addEventListener("click", () => zoomBy(1 / 1.6));
$("reset").addEventListener("click", () => zoomTo(1, 0, 0));

// -- where we are: the address names the puzzle -----------------------------------------------------------

function follow() {
  const chosen = byId.get(decodeURIComponent(location.hash.slice(1)));
  if (chosen) open(chosen);
  else if (view.open) view.close();
}

function step(by) {
  const at = visible.findIndex((id) => byId.get(id).set === run.set && byId.get(id).puzzle === run.puzzle);
  const card = byId.get(visible[(at + by + visible.length) % visible.length]);
  if (!card) return;
  const same = runs.find((other) => other.set === card.set && other.puzzle === card.puzzle && other.preset === run.preset);
  location.replace(`#${encodeURIComponent((same ?? card).id)}`);
}

view.addEventListener("close", () => {
  if (byId.has(decodeURIComponent(location.hash.slice(1)))) history.replaceState(null, "", "#gallery");
  document.querySelector(`[data-id="${CSS.escape(run.id)}"] a`)?.focus({ preventScroll: false });
});
$("close").addEventListener("click", () => view.close());
$("previous").addEventListener("click", () => step(-1));
$("next").addEventListener("click", () => step(1));
view.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const slider = $("generation");
  const move = (by) => {
    if (document.activeElement === slider) return; // it moves by itself
    slider.value = Number(slider.value) + by;
    slider.dispatchEvent(new Event("input"));
  };
  const keys = {
    ArrowLeft: () => move(-1), ArrowRight: () => move(1), n: () => step(1), p: () => step(-1),
    "+": () => zoomBy(1.6), "=": () => zoomBy(1.6), "-": () => zoomBy(1 / 1.6), 0: () => zoomTo(1, 0, 0),
  };
  keys[event.key]?.();
});
window.addEventListener("hashchange", follow);
follow();
