// The stepper's page: looks up in the model what holds at a step, and shows it. All that needs
// working out (sentences, who waits, counts) has been worked out in Python.
(() => {
  const host = document.currentScript.closest(".cu-stepper");
  if (!host || host.shadowRoot) return;
  const given = JSON.parse(host.querySelector("script[type='application/json']").textContent);
  const data = given.model;
  const root = host.attachShadow({ mode: "open" });
  root.innerHTML = given.html;
  const $ = (selector) => root.querySelector(selector);
  const all = (selector) => [...root.querySelectorAll(selector)];
  const last = data.pc.length - 1;

  // ------------------------------------------------------------------ the model's packed values
  const TYPES = {
    bool: Uint8Array, int8: Int8Array, uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array,
    int32: Int32Array, uint32: Uint32Array, int64: BigInt64Array, uint64: BigUint64Array,
    float32: Float32Array, float64: Float64Array,
  };
  const unpack = ([type, text]) =>
    new TYPES[type](Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);

  const lanesOf = (hex) => {
    const found = [];
    for (let k = 0; k < hex.length; k++) {
      const bits = parseInt(hex[hex.length - 1 - k], 16);
      for (let b = 0; b < 4; b++) if (bits >> b & 1) found.push(4 * k + b);
    }
    return found;
  };
  const ranks = data.masks.map((hex) => new Map(lanesOf(hex).map((t, k) => [t, k])));
  const pick = (values, mask, thread) => values[values.length > 1 ? ranks[mask].get(thread) : 0];

  // The last entry of an ascending list that is at most k; -1 for none.
  const latest = (list, k) => {
    let low = -1, high = list.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (list[middle] <= k) low = middle; else high = middle - 1;
    }
    return low;
  };
  const atStep = (list) => {
    const found = new Map();
    for (const item of list) found.set(item[0], [...(found.get(item[0]) || []), item]);
    return (k) => found.get(k) || [];
  };
  const touches = atStep(data.touches), sources = atStep(data.sources);

  // Cell -> the steps that wrote it, with value and writer.
  const history = new Map();
  for (const [step, cells, values, each, threads] of data.puts) {
    const numbers = unpack(cells), written = unpack(values), writers = unpack(threads);
    numbers.forEach((cell, k) => {
      if (!history.has(cell)) history.set(cell, { steps: [], values: [], writers: [] });
      const own = history.get(cell);
      own.steps.push(step);
      own.values.push([...written.slice(each * k, each * (k + 1))]);
      own.writers.push(writers[k]);
    });
  }

  // ------------------------------------------------------------------ numbers for reading
  const special = (v) => (Number.isNaN(v) ? "NaN" : v > 0 ? "inf" : "-inf");
  const short = (v) => {  // at most five characters
    if (typeof v !== "number" || Number.isInteger(v) && Math.abs(v) < 1e5) return String(v);
    if (!Number.isFinite(v)) return special(v);
    const size = Math.abs(v);
    if (size < 0.00995 || size >= 99995) return v.toExponential(0).replace("e+", "e");
    const text = v.toFixed(size < 0.0995 ? 3 : size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
    return size < 0.0995 ? text.replace("0.", ".") : text;
  };
  const full = (v, type, digits = 6) => {
    if (type === "pred") return v ? "true" : "false";
    if (typeof v === "bigint") return pointer(v);
    if (type === "u32" && v > 0xffff) return `0x${v.toString(16)}`;  // a mask, or bits
    if (Number.isInteger(v)) return String(v);
    return Number.isFinite(v) ? String(Number(v.toPrecision(digits))) : special(v);
  };
  const pointer = (v) => {
    for (const [name, at, size, unit] of data.arrays) {
      const offset = Number(v) - at;
      if (offset >= 0 && offset < size && offset % unit === 0) return `&${name}[${offset / unit}]`;
    }
    return String(v);
  };
  const cellText = (values, how) => values.map((v) => how(v)).join(" ");
  const cellName = (cell) => {
    const home = data.cells.find(([, first, shown]) => cell >= first && cell < first + shown);
    return home ? `${home[0]}[${cell - home[1]}]` : `shared[${cell}]`;
  };

  // ------------------------------------------------------------------ where things are
  let k = -1, thread = 0, timer = 0, spoken = 0, speech = 0;
  let own = [];  // what the followed thread writes: step, register, value, origin
  const region = $(".stepper"), scroll = $(".scroll");
  const rows = all(".row"), counts = rows.map((row) => row.querySelector(".count"));
  const marks = rows.map((row) => row.querySelector(".at"));
  const lanes = all(".lanes i"), captions = all(".lanes + span");
  const cells = all(".cells i").map((node) => [Number(node.dataset.c), node]);
  const lineAt = (step) => data.program[data.pc[step]][0];
  const text = (node, said) => { if (node && node.textContent !== said) node.textContent = said; };

  const place = (touch) => {  // what the followed thread touches: x[12], or x[12..15]
    const first = pick(unpack(touch[5]), touch[4], thread), many = touch[6];
    return `${touch[3]}[${first}${many > 1 ? `..${first + many - 1}` : ""}]`;
  };
  const has = (mask) => ranks[mask].has(thread);
  const origin = (step) => {
    const from = sources(step).find((entry) => has(entry[1]));
    if (from) return `thread ${pick(unpack(from[2]), from[1], thread)}`;
    const load = touches(step).find((touch) => touch[2] === "load" && has(touch[4]));
    return load ? place(load) : data.program[data.pc[step]][2];
  };
  const follow = (t) => {
    thread = Math.min(Math.max(Math.round(t) || 0, 0), data.threads - 1);
    own = [];
    for (const [step, register, mask, values] of data.writes) {
      if (has(mask)) own.push([step, register, pick(unpack(values), mask, thread), origin(step)]);
    }
    if (k >= 0) show(k);
  };

  // ------------------------------------------------------------------ showing a step
  const show = (step) => {
    k = Math.min(Math.max(Math.round(step) || 0, 0), last);
    const [letters, groups] = data.lanes[data.shown[k]];
    showListing(groups);
    showLanes(letters, groups);
    showShuffle();
    showCells();
    showThread(letters[thread]);
    text($(".waits"), data.texts[data.waits[k]]);
    text($(".deed b"), data.texts[data.deeds[k]]);
    text($(".deed span"), data.texts[data.places[k]]);
    const said = touches(k).map((touch) => data.texts[touch[8]]);
    text($(".access"), said.length ? `Line ${lineAt(k)} ${said.join("; ")}.` : "");
    for (const node of [$(".slide"), $(".where")]) if (Number(node.value) !== k) node.value = k;
    $(".slide").setAttribute("aria-valuetext", `step ${k} of ${last}, line ${lineAt(k)}`);
    announce();
  };

  const showListing = (groups) => {
    const line = lineAt(k);
    rows.forEach((row, i) => {
      const now = i + 1 === line;
      if (row.classList.contains("now") !== now) {
        row.classList.toggle("now", now);
        row.setAttribute("aria-selected", now);
        row.tabIndex = now ? 0 : -1;
      }
      const entry = data.counts[i + 1], found = entry ? latest(entry[0], k) : -1;
      text(counts[i], found < 0 ? "" : `${entry[1][found]}×`);
    });
    if (!line) rows[0].tabIndex = 0;
    const waiting = {};  // line -> state -> the warps that have lanes there
    groups.forEach((warp, w) => warp.forEach(([state, at]) => {
      if (state !== "w" && state !== ".") return;
      waiting[at] = waiting[at] || {};
      (waiting[at][state] = waiting[at][state] || []).push(w);
    }));
    marks.forEach((node, i) => showMarks(node, waiting[i + 1] || {}));
    keepInSight(rows[line - 1]);
  };
  const showMarks = (node, here) => {
    const said = Object.entries(here).map(([state, warps]) => {
      const name = warps.length > 1 ? `w${warps[0]}–${warps[warps.length - 1]}` : `w${warps[0]}`;
      return `${state}${name}`;
    });
    if ((node.dataset.said || "") === said.join()) return;
    node.dataset.said = said.join();
    node.replaceChildren(...said.map((item) => {
      const mark = document.createElement("i");
      mark.dataset.s = item[0];
      mark.textContent = item.slice(1);
      mark.title = item[0] === "w" ? "waits here" : "goes on here later";
      return mark;
    }));
  };
  const keepInSight = (row) => {  // scrolls the listing, never the page
    if (!row) return;
    const top = row.offsetTop, edge = 2 * row.offsetHeight;
    if (top - edge < scroll.scrollTop || top + 2 * edge > scroll.scrollTop + scroll.clientHeight) {
      scroll.scrollTop = top - scroll.clientHeight / 2.5;
    }
  };

  const showLanes = (letters, groups) => {
    lanes.forEach((node, t) => {
      if (node.dataset.s !== letters[t]) node.dataset.s = letters[t];
      node.classList.toggle("mine", t === thread);
    });
    groups.forEach((warp, w) => text(captions[w], warpText(warp)));
  };
  const warpText = (warp) => {
    const size = warp.reduce((sum, group) => sum + group[2], 0);
    const [state, line, count] = warp.find((group) => group[0] === "a") || warp[0];
    const of = count < size ? `${count} of ${size}` : `all ${size}`;
    const words = { a: `${of}, line ${line}`, w: `waits, line ${line}`, x: "exited" };
    return words[state] || (state === "p" ? "predicated off" : `idle, line ${line}`);
  };

  const showShuffle = () => {
    const slot = $(".shuffle");
    if (!slot) return;
    const warp = Math.floor(thread / 32), lines = [];
    for (const [, mask, packed] of sources(k)) {
      const from = unpack(packed);
      for (const [t, rank] of ranks[mask]) {
        if (Math.floor(t / 32) !== warp) continue;
        const x = (u) => 10 * (u % 32) + 5, source = from[from.length > 1 ? rank : 0];
        const look = (t === thread ? "mine" : "") + (ranks[mask].has(source) ? "" : " void");
        lines.push(`<line class="${look}" x1="${x(source)}" y1="0" x2="${x(t)}" y2="33"/>`);
      }
    }
    slot.querySelector("svg").innerHTML = lines.join("");
    text(slot.querySelector("b"), lines.length ? "shuffle" : "");
    text(slot.querySelector("span"), lines.length ? "from above to the lane below" : "");
  };

  // ------------------------------------------------------------------ shared memory
  const showCells = () => {
    const mine = new Set(), read = new Set();
    for (const touch of touches(k)) {
      touch[7].forEach((cell) => read.add(cell));
      if (touch[1] === "shared" && has(touch[4])) mine.add(place(touch));
    }
    let first = null, changed = 0;
    for (const [cell, node] of cells) {
      const past = history.get(cell), at = past ? latest(past.steps, k) : -1;
      const written = at >= 0 && past.steps[at] === k;
      const value = at < 0 ? null : past.values[at];
      text(node, value === null ? "" : cellText(value, short));
      const writer = at < 0 || past.writers[at] < 0 ? "" : String(Math.floor(past.writers[at] / 32));
      if (writer === "") delete node.dataset.w; else node.dataset.w = Number(writer) % 8;
      const name = cellName(cell);
      const marked = mine.has(name) ? "mine " : "";
      node.className = marked + (read.has(cell) ? "r " : "") + (written ? "w" : "");
      node.title = cellTitle(name, past, at, written);
      if (!written) continue;
      changed += 1;
      if (!first || past.writers[at] === thread) first = [name, past, at];
    }
    if ($(".change")) text($(".change"), changeText(first, changed, [...mine], read.size));
    keepCellInSight(read);
  };
  const before = (past, at) => (at > 0 ? cellText(past.values[at - 1], full) : "nothing");
  const cellTitle = (name, past, at, written) => {
    if (at < 0) return `${name}: nobody has written it`;
    const who = past.writers[at] < 0 ? "a copy" : `thread ${past.writers[at]}`;
    const old = written ? ` (before: ${before(past, at)})` : "";
    return `${name} = ${cellText(past.values[at], full)}${old}, written by ${who} on line ` +
      `${lineAt(past.steps[at])} at step ${past.steps[at]}`;
  };
  const changeText = (first, changed, mine, read) => {
    const parts = [];
    if (first) {
      const [name, past, at] = first;
      parts.push(`${name}: ${before(past, at)} → ${cellText(past.values[at], full)}`);
      if (changed > 1) parts.push(`${changed} cells change`);
    }
    if (read) parts.push(`${read} cell${read > 1 ? "s" : ""} read`);
    if (mine.length && read) parts.push(`thread ${thread} reads ${mine.join(", ")}`);
    return parts.join(" · ") || "No shared memory is touched at this step.";
  };
  const keepCellInSight = (read) => {
    const node = (cells.find(([cell, n]) => read.has(cell) || n.classList.contains("w")) || [])[1];
    const store = $(".store");
    if (!node || store.scrollHeight <= store.clientHeight) return;
    const top = node.offsetTop - store.offsetTop;
    if (top < store.scrollTop || top + 24 > store.scrollTop + store.clientHeight) {
      store.scrollTop = top - 24;
    }
  };

  // ------------------------------------------------------------------ the followed thread
  const STATES = {
    a: "executes this instruction", p: "is predicated off: its guard is false", w: "waits",
    ".": "has its turn later", x: "has left the kernel",
  };
  const showThread = (letter) => {
    text($(".me"), String(thread));
    text($(".doing"), STATES[letter]);
    text($(".ptx"), data.program[data.pc[k]][1]);
    $(".ptx").title = data.program[data.pc[k]][1];
    if (Number($(".who").value) !== thread) $(".who").value = thread;
    const held = new Map();  // register -> [step, value, origin, the value before], oldest first
    for (const [step, register, value, from] of own) {
      if (step > k) break;
      const old = held.get(register);
      held.delete(register);
      held.set(register, [step, value, from, old && old[1]]);
    }
    const now = data.program[data.pc[k]][3].filter((r) => held.has(r));
    fill(".now", now, held);
    fill(".recent", [...held.keys()].reverse().filter((r) => !now.includes(r)), held);
  };
  const fill = (name, registers, held) => {
    all(`${name} tr`).forEach((row, i) => {
      const register = registers[i], [head, value, from] = row.children;
      const [step, is, origin, was] = register === undefined ? [] : held.get(register);
      const [label, type] = register === undefined ? ["", ""] : data.registers[register];
      const fresh = step === k, changed = fresh && was !== undefined;
      const said = (digits) =>
        (changed ? `${full(was, type, digits)} → ` : "") + full(is, type, digits);
      row.classList.toggle("fresh", fresh);
      text(head, label && `${label} ${type}`);
      text(value, label && said(changed ? 5 : 6));
      text(from, label && (origin || `line ${lineAt(step)}`));
      row.title = label && `${label} (${type}) = ${said(9)}` +
        `${origin && `, ${origin}`}, written on line ${lineAt(step)} at step ${step}`;
    });
  };

  // ------------------------------------------------------------------ ways through the steps
  const enters = (step, line) =>
    (j) => (line ? lineAt(j) === line : lineAt(j) !== lineAt(step));
  const next = (step, line) => data.entries.find((j) => j > step && enters(step, line)(j));
  const previous = (step, line) => data.entries.findLast((j) => j < step && enters(step, line)(j));
  const WAYS = {
    first: () => 0,
    last: () => last,
    step: () => k + 1,
    back: () => k - 1,
    line: () => next(k) ?? last,
    "line-back": () => previous(k) ?? 0,
    barrier: () => data.barriers.find((j) => j > k) ?? last,
    "barrier-back": () => data.barriers.findLast((j) => j < k) ?? 0,
  };
  const go = (way) => { pause(); show(WAYS[way]()); };
  const runTo = (line) => {  // to its next turn, or from its last one back to the first
    pause();
    const found = next(k, line) ?? data.entries.find((j) => lineAt(j) === line);
    if (found === undefined) text($(".access"), `No thread executes anything on line ${line}.`);
    else show(found);
  };

  // ------------------------------------------------------------------ playing
  const pause = () => {
    clearTimeout(timer);
    timer = 0;
    $(".play").setAttribute("aria-pressed", "false");
    text($(".play span"), "play");
  };
  const play = () => {
    if (timer) { pause(); announce(); return; }
    if (k === last) show(0);
    $(".play").setAttribute("aria-pressed", "true");
    text($(".play span"), "pause");
    beat();
  };
  const beat = () => {
    const [unit, rate] = $(".speed").value.split(" ");
    timer = setTimeout(() => {
      if (!host.isConnected) return pause();
      show(WAYS[unit]());
      if (k < last) beat(); else { pause(); announce(); }
    }, 1000 / Number(rate));
  };
  // Screen readers hear a step when it stands still, and at most every third second of playing.
  const announce = () => {
    clearTimeout(speech);
    const wait = timer ? Math.max(0, spoken + 3000 - Date.now()) : 250;
    speech = setTimeout(() => {
      spoken = Date.now();
      text($(".live"), `Step ${k} of ${last}. ${$(".deed").textContent}`);
    }, wait);
  };

  // ------------------------------------------------------------------ mouse and keyboard
  const KEYS = {
    ArrowRight: "step", ArrowLeft: "back", "Shift+ArrowRight": "line",
    "Shift+ArrowLeft": "line-back", Home: "first", End: "last", b: "barrier",
    "Shift+B": "barrier-back", "Shift+b": "barrier-back", B: "barrier",
  };
  const moveFocus = (row, by) => {
    const target = rows[rows.indexOf(row) + by];
    if (!target) return;
    target.focus({ preventScroll: true });
    keepInSight(target);
  };
  region.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target, row = target.closest(".row");
    const typing = target.matches("input, select");
    const way = KEYS[(event.shiftKey ? "Shift+" : "") + event.key];
    if (typing && !(target.matches(".slide") && event.key.toLowerCase() === "b")) return;
    if (row && event.key === "ArrowDown") moveFocus(row, 1);
    else if (row && event.key === "ArrowUp") moveFocus(row, -1);
    else if (row && event.key === "Enter") runTo(Number(row.dataset.line));
    else if (event.key === " " && !target.matches("button, summary")) play();
    else if (way) go(way);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  region.addEventListener("click", (event) => {
    const control = event.target.closest("[data-do]"), row = event.target.closest(".row");
    const lane = event.target.closest(".lanes i"), wrong = event.target.closest("[data-defect]");
    if (control) { if (control.dataset.do === "play") play(); else go(control.dataset.do); }
    else if (row) runTo(Number(row.dataset.line));
    else if (lane) follow(Number(lane.dataset.t));
    else if (wrong) { pause(); show(data.defects[wrong.dataset.defect].step); }
  });
  $(".slide").addEventListener("input", (event) => { pause(); show(Number(event.target.value)); });
  $(".where").addEventListener("change", (event) => {
    pause();
    show(Number(event.target.value));
    event.target.value = k;
  });
  $(".who").addEventListener("change", (event) => {
    follow(Number(event.target.value));
    event.target.value = thread;
  });
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) $(".speed").value = "step 1";

  follow(0);
  show(Number(host.dataset.start));
})();
