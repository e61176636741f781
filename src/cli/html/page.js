"use strict";
// Adds to a page that is complete without it: filter, views, keys, copying and ages. The only markup that it makes is that of `noscript`
// elements of the page, which a browser without scripts reads itself.
(() => {
  const root = document.documentElement;
  const all = (selector, within) => Array.from((within || document).querySelectorAll(selector));
  const one = (selector, within) => (within || document).querySelector(selector);
  root.classList.add("js");

  // Ages beside times: they depend on when the page is read.
  const ages = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  const units = [["year", 31556952], ["month", 2629746], ["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
  for (const time of all("time")) {
    const seconds = (Date.parse(time.dateTime) - Date.now()) / 1000;
    const [unit, length] = units.find(([, length]) => Math.abs(seconds) >= length) || ["second", 1];
    const age = document.createElement("span");
    age.className = "dim";
    age.textContent = " (" + ages.format(Math.trunc(seconds / length), unit) + ")";
    time.after(age);
    time.title = new Date(time.dateTime).toLocaleString();
  }

  const files = all(".file");
  const links = new Map(all(".tree a").map((link) => [link.hash.slice(1), link]));
  const link = (file) => links.get(one(".body", file).id);
  const status = one("#status");
  const said = (text) => { if (status) status.textContent = text; };

  // What closed files hold on a long page is in `noscript`, which is quickly passed over. It becomes markup when it is about to be seen.
  const markup = (text) => text;
  const policy = window.trustedTypes ? trustedTypes.createPolicy("lines", { createHTML: markup }) : { createHTML: markup };
  const near = new WeakSet();
  const fill = (file) => {
    const held = one("noscript", file);
    if (held) {
      const body = document.createElement("div");
      body.innerHTML = policy.createHTML(held.textContent);
      held.replaceWith(...body.childNodes);
    }
    if (root.classList.contains("side")) pair(file);
  };
  const sight = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) near.add(target); else near.delete(target);
      if (isIntersecting && target.open) fill(target);
    }
  }, { rootMargin: "1000px 0px" });
  for (const held of all("noscript")) sight.observe(held.closest(".file"));
  window.addEventListener("beforeprint", () => files.filter((file) => file.open).forEach(fill));

  // Side by side: an unchanged line stands on both sides. The second one is made when a file is open and seen so.
  const pair = (file) => {
    const lines = one(".two", file);
    if (!lines || lines.dataset.paired) return;
    lines.dataset.paired = "1";
    for (const line of all(":scope > .l", lines)) {
      const twin = line.cloneNode(true);
      twin.classList.add("twin");
      twin.setAttribute("aria-hidden", "true");
      twin.removeAttribute("tabindex");
      line.after(twin);
    }
  };
  const pairOpen = () => {
    if (root.classList.contains("side")) files.filter((file) => file.open).forEach(pair);
  };
  document.addEventListener("toggle", (event) => {
    const file = event.target;
    const wanted = file.open && file.classList.contains("file");
    if (wanted && (near.has(file) || !one("noscript", file))) fill(file);
  }, true);

  const press = (button, name) => {
    const on = root.classList.toggle(name);
    one(button).setAttribute("aria-pressed", String(on));
    return on;
  };
  const actions = {
    expand: () => { for (const details of all("#changes details, .fold")) if (!details.hidden) details.open = true; },
    collapse: () => { for (const details of all("#changes details")) details.open = false; },
    side: () => { press("#side", "side"); pairOpen(); },
    wrap: () => one("#wrap").setAttribute("aria-pressed", String(!root.classList.toggle("nowrap"))),
    keys: () => one("#keys").showModal(),
    close: () => one("#keys").close(),
  };
  for (const button of all("[data-does]")) button.addEventListener("click", () => actions[button.dataset.does]());

  // The file that keys mean: the one that holds the focus, else the one that was reached last, else the first in sight.
  let last = null;
  const current = () => {
    const held = document.activeElement && document.activeElement.closest(".file");
    return held || last || files.find((file) => !file.hidden && file.getBoundingClientRect().bottom > 60) || null;
  };
  const reach = (file, opens) => {
    for (let around = file.parentElement; around; around = around.parentElement) if (around.tagName === "DETAILS") around.open = true;
    if (opens) { file.open = true; fill(file); }
    const summary = one("summary", file);
    summary.focus({ preventScroll: true });
    file.scrollIntoView({ block: "start" });
    if (last && link(last)) link(last).removeAttribute("aria-current");
    last = file;
    const shown = link(file);
    if (shown) {
      shown.setAttribute("aria-current", "true");
      if (shown.checkVisibility && shown.checkVisibility()) shown.scrollIntoView({ block: "nearest" });
      file.scrollIntoView({ block: "start" });
    }
  };
  const seen = (file) => !file.hidden && !file.parentElement.closest("details:not([open]), [hidden]");
  const step = (by) => {
    const from = current();
    let at = from ? files.indexOf(from) : -1;
    if (from && from !== last && !from.contains(document.activeElement)) at -= by;
    for (at += by; at >= 0 && at < files.length; at += by) if (seen(files[at])) return reach(files[at], false);
  };

  // A link to something in a fold opens it.
  const follow = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    const file = target.closest(".file");
    if (file) return reach(file, true);
    for (let around = target; around; around = around.parentElement) if (around.tagName === "DETAILS") around.open = true;
    const own = one(":scope > details", target);
    if (own) own.open = true;
    target.scrollIntoView({ block: "start" });
  };
  window.addEventListener("hashchange", follow);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (link && link.hash === location.hash) setTimeout(follow);
  });
  if (location.hash) follow();

  // The filter: words that a path has, and the kind of its change.
  const words = one("#filter"), kind = one("#kind");
  if (words) {
    const texts = files.map((file) => one(".name", file).textContent.toLowerCase());
    const kinds = files.map((file) => one(".kind", file).textContent);
    const folds = all(".fold");
    const branches = all(".tree details").reverse();
    const filter = () => {
      const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
      let count = 0;
      files.forEach((file, at) => {
        const fits = wanted.every((word) => texts[at].includes(word)) && (!kind.value || kind.value.includes(kinds[at]));
        count += fits ? 1 : 0;
        file.hidden = !fits;
        const item = link(file);
        if (item) item.parentElement.hidden = !fits;
      });
      for (const fold of folds) fold.hidden = !one(".file:not([hidden])", fold);
      for (const branch of branches) {
        branch.parentElement.hidden = !one("li:not([hidden])", branch);
        if (wanted.length && !branch.parentElement.hidden) branch.open = true;
      }
      said(wanted.length || kind.value ? count + " of " + files.length + " paths" : "");
    };
    words.addEventListener("input", filter);
    kind.addEventListener("change", filter);
    words.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && words.value) { words.value = ""; filter(); event.preventDefault(); }
      if (event.key === "Enter") { const first = files.find((file) => !file.hidden); if (first) reach(first, true); }
    });
    if (words.value || kind.value) filter();
  }

  const copy = async (button) => {
    const code = one("code", button.parentElement);
    const done = () => {
      button.textContent = "Copied";
      said("Copied: " + code.textContent);
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    };
    try {
      await navigator.clipboard.writeText(code.textContent);
      done();
    } catch {
      // Without the permission: the command is selected, to be copied by hand if this fails too.
      getSelection().selectAllChildren(code);
      if (document.execCommand("copy")) done();
    }
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest(".copy");
    if (button) copy(button);
  });

  const keys = {
    j: () => step(1), k: () => step(-1), o: () => { const file = current(); if (file) { reach(file, false); file.open = !file.open; } },
    e: actions.expand, E: actions.collapse, s: actions.side, w: actions.wrap, "?": actions.keys,
    "/": () => { if (words) { words.focus(); words.select(); } },
    c: () => { const file = current(); if (file) fill(file); const button = file && one(".copy", file); if (button) copy(button); },
    l: () => { const file = current(); if (file) location.hash = one(".body", file).id; },
  };
  document.addEventListener("keydown", (event) => {
    const typed = event.target.closest("input, select, dialog[open]");
    if (typed || event.ctrlKey || event.metaKey || event.altKey || !files.length || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  });
})();
