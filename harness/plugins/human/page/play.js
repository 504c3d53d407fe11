"use strict";
// Shows what the run says of a step, as text only, and sends what the person does.
(() => {
  const at = (id) => document.getElementById(id);
  const key = document.querySelector("meta[name=cairn-key]").content;
  let state = { version: -1, phase: "none", episodes: [] };
  let chosen = "";
  let shown = ""; // the episode that is shown
  let focused = null; // what had the focus before its form was disabled
  let clock = { base: 0, since: 0, runs: false };
  const ANSWERS_WITHIN = 45000; // ms; the run answers within 20 s, news or not
  const LONG = 15000; // ms, after which the page says how long nothing has come

  const show = (id, is) => { at(id).hidden = !is; };
  const say = (text) => { at("said").textContent = text; };
  const trouble = (text) => { at("trouble").textContent = text; show("trouble", Boolean(text)); };
  const buttons = (id, rows) => {
    const made = rows.map(([text, press, more]) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = text;
      button.addEventListener("click", press);
      Object.entries(more || {}).forEach(([name, value]) => button.setAttribute(name, value));
      return button;
    });
    at(id).replaceChildren(...made);
  };
  const items = (id, children) => {
    const rows = children.map((child) => {
      const row = document.createElement("li");
      row.append(child);
      return row;
    });
    at(id).querySelector("ul").replaceChildren(...rows);
    show(id, rows.length);
  };

  async function send(path, body) {
    try {
      const answer = await fetch(path, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ key, ...body }),
        signal: AbortSignal.timeout(ANSWERS_WITHIN),
      });
      const said = await answer.json();
      trouble(said.why || "");
      return answer.ok;
    } catch {
      trouble("The run cannot be reached. Open the newest address that it has printed.");
      return false;
    }
  }

  async function act(action, more) {
    if (state.phase !== "turn") return false;
    const done = await send("act", { turn: state.turn, action, note: at("note").value, ...more });
    if (done) {
      at("note").value = "";
      say("The browser does it …");
    }
    return done;
  }

  // --- the picture ---

  const screen = at("screen");
  const shot = at("shot");
  const point = (event) => {
    const box = shot.getBoundingClientRect();
    const within = (value, most) => Math.min(most - 1, Math.max(0, Math.floor(value)));
    return {
      x: within(((event.clientX - box.left) / box.width) * state.width, state.width),
      y: within(((event.clientY - box.top) / box.height) * state.height, state.height),
    };
  };
  const ring = (place) => {
    at("ring").style.left = `${(place.x / state.width) * 100}%`;
    at("ring").style.top = `${(place.y / state.height) * 100}%`;
    show("ring", true);
  };
  const mouse = (place, kind) => {
    ring(place);
    if (kind === "right") return act({ type: "click", button: "right", ...place });
    if (kind === "click") return act({ type: "click", button: "left", ...place });
    return act({ type: kind, ...place });
  };
  let pressed = null;
  screen.addEventListener("mousedown", (event) => {
    if (event.button === 0 && state.phase === "turn") pressed = point(event);
  });
  screen.addEventListener("mouseup", (event) => {
    if (event.button !== 0 || !pressed || state.phase !== "turn") return;
    const [from, to] = [pressed, point(event)];
    pressed = null;
    screen.focus({ preventScroll: true });
    if (Math.hypot(to.x - from.x, to.y - from.y) > 8) act({ type: "drag", path: [from, to] });
    else mouse(to, at("mouse").value);
  });
  screen.addEventListener("contextmenu", (event) => {
    event.preventDefault();
    if (state.phase === "turn") mouse(point(event), "right");
  });
  let rolled = null;
  screen.addEventListener("wheel", (event) => {
    if (state.phase !== "turn" || event.ctrlKey) return;
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 40 : event.deltaMode === 2 ? state.height : 1;
    rolled = rolled || { place: point(event), x: 0, y: 0 };
    rolled.x += event.deltaX * unit;
    rolled.y += event.deltaY * unit;
    clearTimeout(rolled.timer);
    rolled.timer = setTimeout(() => {
      const { place, x, y } = rolled;
      rolled = null;
      act({ type: "scroll", ...place, scroll_x: Math.round(x), scroll_y: Math.round(y) });
    }, 250);
  }, { passive: false });
  const SENT = /^(Enter|Escape|Backspace|Delete|Home|End|PageUp|PageDown|Arrow(Up|Down|Left|Right))$/;
  screen.addEventListener("keydown", (event) => {
    if (event.isComposing || state.phase !== "turn") return;
    const held = [event.ctrlKey && "Control", event.altKey && "Alt", event.metaKey && "Meta", event.shiftKey && "Shift"].filter(Boolean);
    if (SENT.test(event.key)) {
      event.preventDefault();
      act({ type: "keypress", keys: [...held, event.key] });
    } else if (event.key.length === 1 && !event.ctrlKey && !event.altKey && !event.metaKey) {
      at("text").focus(); // and the letter goes there
    }
  });

  // --- forms ---

  const form = (id, submit) => at(id).addEventListener("submit", (event) => {
    event.preventDefault();
    submit(event.submitter);
  });
  form("typing", async (submitter) => {
    const field = at("text");
    const enter = submitter && submitter.value === "enter";
    if (field.value || enter) {
      const action = field.value ? { type: "type", text: field.value + (enter ? "\n" : "") } : { type: "keypress", keys: ["Enter"] };
      if (await act(action)) field.value = "";
    }
  });
  form("pressing", async () => {
    const field = at("keys");
    const keys = field.value === "+" ? ["+"] : field.value.split("+").map((one) => one.trim());
    if (field.value && await act({ type: "keypress", keys })) field.value = "";
  });
  form("going", async () => {
    if (at("where").value && await act({ type: "goto", url: at("where").value })) at("where").value = "";
  });
  form("asking", async () => {
    if (at("question").value && await act({ type: "ask_user", question: at("question").value })) at("question").value = "";
  });
  form("ending", async () => {
    if (await act({ type: "stop", answer: at("answer").value })) at("answer").value = "";
  });
  at("impossible").addEventListener("click", () => act({ type: "stop", answer: "N/A" }));
  at("give-up").addEventListener("click", () => at("sure").showModal());
  at("sure-no").addEventListener("click", () => at("sure").close());
  at("sure-yes").addEventListener("click", () => { at("sure").close(); act(null, { gave_up: true }); });
  for (const button of document.querySelectorAll("[data-act]")) {
    button.addEventListener("click", () => act({ type: button.dataset.act }));
  }
  for (const button of document.querySelectorAll("[data-scroll]")) {
    button.addEventListener("click", () => act({ type: "scroll", scroll_x: 0, scroll_y: Math.round(state.height * Number(button.dataset.scroll)) }));
  }
  at("begin").addEventListener("click", () => send("let", { place: state.place, goes: true }));
  at("pause").addEventListener("click", () => send("let", { place: state.place, goes: false }));

  // --- what is shown ---

  // A step begins when its picture is there: what is clicked has to be what is seen.
  async function picture(next) {
    const picture = { turn: next.turn, src: "data:,", alt: "The page cannot be seen" };
    if (next.seen) {
      say("The page is being fetched …");
      const answer = await fetch(`shot/${next.turn}`, { signal: AbortSignal.timeout(ANSWERS_WITHIN) });
      if (!answer.ok) return null; // paused or decided meanwhile
      const src = URL.createObjectURL(await answer.blob());
      const probe = new Image();
      probe.src = src;
      const isSeen = await probe.decode().then(() => true, () => false);
      if (isSeen) Object.assign(picture, { src, alt: "The page as it is now" });
    }
    return picture;
  }
  function hang({ src, alt }) {
    const before = shot.src;
    shot.src = src;
    shot.alt = alt;
    if (before.startsWith("blob:")) URL.revokeObjectURL(before);
  }

  // Between two steps, and while the page changes by itself, the run pushes what the browser shows.
  let stream = null;
  function watched() {
    const place = (state.phase === "turn" || state.phase === "busy") && !document.hidden ? state.place : "";
    if (stream && (stream.place !== place || stream.readyState === EventSource.CLOSED)) {
      stream.close();
      stream = null;
    }
    if (!place || stream) return;
    stream = new EventSource(`live?place=${encodeURIComponent(place)}`);
    stream.place = place;
    stream.onerror = ({ target }) => target.close(); // the next step opens it again
    stream.onmessage = ({ data, target }) => {
      if (target !== stream || state.phase === "paused") return;
      hang({ src: `data:image/jpeg;base64,${data}`, alt: "The page as it is now" });
      screen.classList.add("live");
    };
  }
  document.addEventListener("visibilitychange", watched);

  function turn() {
    const { turn: id } = state;
    if (document.body.dataset.turn !== id) {
      hang(state.picture);
      screen.style.aspectRatio = `${state.width} / ${state.height}`;
      show("ring", false);
      const pictures = Array.from({ length: state.pictures }, (_, number) => {
        const picture = document.createElement("img");
        picture.src = `picture/${id}/${number}`;
        picture.alt = `Picture ${number + 1} of the objective`;
        return picture;
      });
      at("pictures").replaceChildren(...pictures);
      say("It is your turn.");
    }
    at("objective").textContent = state.objective;
    at("step").textContent = `Step ${state.step}`;
    at("url").textContent = state.url;
    buttons("tabs", state.tabs.length < 2 ? [] : state.tabs.map((tab, index) =>
      [tab.title || "(no title)", () => act({ type: "tab_focus", index }), { "aria-pressed": String(tab.current) }]));
    items("notices", state.notices);
    show("asking", state.asks);
    items("elements", state.elements.map((one) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = `${one.role} ${one.name}`;
      Object.assign(button.dataset, { x: one.x, y: one.y, role: one.role, name: one.name });
      button.addEventListener("click", () => mouse({ x: one.x, y: one.y }, at("mouse").value));
      return button;
    }));
    clock = { base: state.spent_s, since: performance.now(), runs: true };
  }

  function draw() {
    const { phase } = state;
    if (shown !== state.place) {
      for (const id of ["answer", "text", "keys", "where", "question", "note"]) at(id).value = "";
      shown = state.place;
    }
    at("label").textContent = state.label || "";
    show("episodes", state.episodes.length > 1);
    buttons("episodes", state.episodes.map((one) => [
      `${one.label}${one.waits ? (one.goes ? ": your turn" : ": not begun, or paused") : ": busy"}`,
      () => { chosen = one.place; state.version = -1; look.abort(); },
      { "aria-pressed": String(one.place === state.place) },
    ]));
    show("gate", phase === "paused" || phase === "none");
    show("begin", phase === "paused");
    show("game", phase === "turn" || phase === "busy");
    show("pause", phase === "turn" || phase === "busy");
    if (phase === "busy") focused = at("game").contains(document.activeElement) ? document.activeElement : focused;
    for (const fieldset of document.querySelectorAll("#game fieldset")) fieldset.disabled = phase !== "turn";
    if (phase === "turn" && focused && document.activeElement === document.body) focused.focus({ preventScroll: true });
    if (phase === "turn") turn();
    else clock.runs = false;
    if (phase === "busy") say("The browser does it …");
    if (phase === "paused") {
      at("gate-text").textContent = state.begun
        ? "Paused: the clock stands. You see the page again when you go on."
        : "A task is ready. You see its objective and its page when you begin, and the clock runs from then on.";
      at("begin").textContent = state.begun ? "Go on" : "Begin";
      say("");
    }
    if (phase === "none") {
      at("gate-text").textContent = "No task waits for you: the next one is being opened, or all are played.";
      say("");
      at("step").textContent = at("clock").textContent = "";
    }
    document.body.dataset.phase = phase;
    document.body.dataset.turn = phase === "turn" ? state.turn : phase === "busy" ? document.body.dataset.turn : "";
    screen.classList.remove("live");
    watched();
  }

  let since = performance.now(); // of the phase that is shown
  setInterval(() => {
    const waits = performance.now() - since;
    const long = `Nothing has come for ${Math.floor(waits / LONG) * (LONG / 1000)} s. The terminal of the run says if it waits for something.`;
    if ((state.phase === "busy" || state.phase === "none") && waits > LONG && at("said").textContent !== long) say(long);
    if (state.phase === "none") return;
    const s = Math.floor(clock.base + (clock.runs ? (performance.now() - clock.since) / 1000 : 0));
    at("clock").textContent = clock.base || clock.runs ? `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")}` : "";
  }, 250);

  let look = new AbortController();
  const UNREACHABLE = "The run cannot be reached: it has ended, or was stopped, or its worker was lost. Open the newest address that it has printed.";
  async function news() {
    look = new AbortController();
    const slow = setTimeout(() => look.abort(new Error("slow")), ANSWERS_WITHIN);
    try {
      const answer = await fetch(`state?seen=${state.version}&place=${encodeURIComponent(chosen)}`, { signal: look.signal });
      if (!answer.ok) throw new Error("refused");
      return await answer.json();
    } finally {
      clearTimeout(slow);
    }
  }
  async function watch() {
    for (;;) {
      try {
        const next = await news();
        if (at("trouble").textContent === UNREACHABLE) trouble("");
        if (next.version === state.version && next.place === state.place) continue;
        if (next.phase === "turn") {
          next.picture = next.turn === state.turn ? state.picture : await picture(next);
          if (!next.picture) {
            await new Promise((resolve) => setTimeout(resolve, 100));
            continue;
          }
        }
        if (clock.runs && next.phase !== "turn") clock.base += (performance.now() - clock.since) / 1000;
        if (next.phase !== state.phase || next.turn !== state.turn) since = performance.now();
        state = next;
        chosen = state.place; // it stays in sight while the browser is busy with it and others wait
        draw();
      } catch (error) {
        if (error.name === "AbortError") continue; // another episode was chosen
        state = { version: -1, phase: "none", episodes: [], place: state.place }; // what was typed stays
        draw();
        trouble(UNREACHABLE);
        await new Promise((resolve) => setTimeout(resolve, 1000));
      }
    }
  }
  watch();
})();
