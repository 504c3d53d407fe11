// Knows whether a document still has work scheduled that will change it; runs before the page's own scripts.
//
// A chain of callbacks (a timer set by a click handler, a timer set by that timer, ...) is followed until the delays it
// asked for add up to HORIZON ms. So an update 500 ms after a click is waited for, and an endless ticker is not.
// Waiting for the network is free of charge for a chain, apart from STEP, so that polling ends too.
(() => {
  const HORIZON = 600;
  const STEP = 25;
  const SILENT = 300; // ms after each answer of a socket in which a further one may come
  const PATIENCE = 1500; // ms after the document was parsed in which slow images and scripts may still arrive
  const WORN = 1000; // budget of a document that already used up a whole one
  const HOPS = 32; // microtask hops for which the continuation of a callback counts as its own
  const FRAME = window.__cairnFrame ?? 250; // ms in which a page that is seen renders its next frame, on a machine however busy
  const LINKS = 3; // a timer that was set again so often repeats itself
  const MOST = 100; // timers that `due` tells of
  if (window.__cairn) return window.__cairn.watch(); // the window outlived its first, empty document

  // Named images and forms take the place of what a document has itself (`<img name=hidden>`).
  const { prototype } = Document, { get } = Reflect; // of now: a page may have a class `Document` of its own
  const own = (name) => get(prototype, name, document);
  const now = performance.now.bind(performance);
  const native = {
    setTimeout: window.setTimeout.bind(window),
    clearTimeout: window.clearTimeout.bind(window),
    setInterval: window.setInterval.bind(window),
    clearInterval: window.clearInterval.bind(window),
    frame: window.requestAnimationFrame.bind(window),
    cancelFrame: window.cancelAnimationFrame.bind(window),
    microtask: window.queueMicrotask.bind(window),
  };

  // In a sandbox without scripts, timers and frames never come, and nothing changes by itself.
  const scriptless = matchMedia("(scripting: none)").matches;

  let spent = null; // ms of delay the chain running now has asked for; null = it was begun by an event
  let from = null; // the timer that runs now, or has led here: { born, links, at, every }
  let stale = false; // whether the chain running now was given up: it outlasted a whole settling
  let turn = 0;
  const pending = new Map(); // token { stale } -> { what, url } awaited
  let changes = 0;
  let ticks = 0; // changes made by timers
  let overrun = false; // whether a chain went beyond the horizon
  let parsed = null;
  let worn = false;

  const address = (url) => {
    try { return new URL(url, own("baseURI")).href.split("?")[0]; } catch { return String(url); }
  };
  // Run as part of a chain. The chain is kept for some microtasks, because `await` continues there.
  const enter = (age, timer, token) => {
    spent = age;
    from = timer;
    stale = token?.stale ?? false;
    const mine = ++turn;
    let hops = HOPS;
    const hop = () => {
      if (mine !== turn) return;
      if (hops-- > 0) native.microtask(hop);
      else {
        spent = from = null;
        stale = false;
      }
    };
    native.microtask(hop);
  };
  // The same for an event: its listeners run with microtasks between them, but `window.event` tells whose they are.
  const marked = new WeakMap(); // event -> { age, token } of the chain it belongs to
  const ours = () => (window.event && marked.get(window.event)) ?? null;
  const current = () => spent ?? ours()?.age ?? null;
  const follow = (what, age, url) => {
    if (age > HORIZON) {
      // A time that runs out much later, of a session or a request, is not the next tick of a chain.
      if (current() > HORIZON || age - current() <= HORIZON) overrun = true;
      return null;
    }
    const token = { stale: stale || (spent === null && (ours()?.token?.stale ?? false)) };
    pending.set(token, { what, url: url === undefined ? null : address(url) });
    return token;
  };
  const timed = (delay, least) => (current() ?? 0) + Math.max(Number(delay) || 0, least);
  const replace = (owner, name, make) => {
    const was = owner?.[name];
    if (typeof was !== "function") return;
    const is = make(was);
    Object.defineProperty(is, "name", { value: was.name });
    owner[name] = is;
  };

  const timers = new Map(); // id -> token
  const dues = new Map(); // id -> timer
  // `born`: when the first timer of its chain was set; `every`: ms, 0 = it fires once.
  const timer = (delay, every) => ({
    born: from ? from.born : now(),
    links: from ? from.links + 1 : 1,
    at: now() + Math.max(Number(delay) || 0, 0),
    every,
  });
  replace(window, "setTimeout", () => function (handler, delay, ...args) {
    const age = timed(delay, 1);
    const token = follow("a timer", age);
    if (typeof handler !== "function") {
      const id = native.setTimeout(handler, delay, ...args);
      native.setTimeout(() => { timers.delete(id); pending.delete(token); }, delay); // it fires after the page's
      if (token) timers.set(id, token);
      return id;
    }
    const mine = timer(delay, 0);
    const id = native.setTimeout(() => {
      timers.delete(id);
      dues.delete(id);
      pending.delete(token);
      enter(age, mine, token);
      handler.apply(window, args);
    }, delay);
    if (token) timers.set(id, token);
    if (mine.links <= LINKS) dues.set(id, mine);
    return id;
  });
  replace(window, "setInterval", () => function (handler, delay, ...args) {
    if (typeof handler !== "function") return native.setInterval(handler, delay, ...args);
    let age = timed(delay, 4);
    const token = follow("a timer", age);
    const mine = timer(delay, Math.max(Number(delay) || 0, 4));
    const id = native.setInterval(() => {
      mine.at = now() + mine.every;
      if (++mine.links > LINKS) dues.delete(id);
      enter(age, mine, token);
      age += mine.every;
      if (age > HORIZON) {
        pending.delete(token);
        overrun = true;
      }
      handler.apply(window, args);
    }, delay);
    if (token) timers.set(id, token);
    if (mine.links <= LINKS) dues.set(id, mine);
    return id;
  });
  const clear = (stop) => function (id) {
    pending.delete(timers.get(id));
    timers.delete(id);
    dues.delete(id);
    stop(id);
  };
  replace(window, "clearTimeout", () => clear(native.clearTimeout));
  replace(window, "clearInterval", () => clear(native.clearInterval));

  const frames = new Map();
  replace(window, "requestAnimationFrame", () => function (handler) {
    const age = timed(16, 16);
    const token = follow("an animation", age);
    const mine = from;
    const id = native.frame((time) => {
      frames.delete(id);
      pending.delete(token);
      enter(age, mine, token);
      handler(time);
    });
    if (token) frames.set(id, token);
    return id;
  });
  replace(window, "cancelAnimationFrame", () => function (id) {
    pending.delete(frames.get(id));
    frames.delete(id);
    native.cancelFrame(id);
  });
  const idle = new Map();
  replace(window, "requestIdleCallback", (was) => function (handler, options) {
    const age = timed(16, 16);
    const token = follow("idle work", age);
    const mine = from;
    const id = was.call(window, (deadline) => {
      idle.delete(id);
      pending.delete(token);
      enter(age, mine, token);
      handler(deadline);
    }, options);
    if (token) idle.set(id, token);
    return id;
  });
  replace(window, "cancelIdleCallback", (was) => function (id) {
    pending.delete(idle.get(id));
    idle.delete(id);
    was.call(window, id);
  });
  replace(window.Scheduler?.prototype, "postTask", (was) => function (handler, options) {
    const age = timed(options?.delay, 1);
    const token = follow("a task", age);
    const mine = from;
    options?.signal?.addEventListener("abort", () => pending.delete(token));
    return was.call(this, (...args) => {
      pending.delete(token);
      enter(age, mine, token);
      return handler(...args);
    }, options);
  });

  // Beyond so many windows, and one more for each second, the answer is that of a browser which refuses pop-ups: each takes
  // some 50 ms, and pages cannot have more than 30 anyway (tabs.py).
  const WINDOWS = 40;
  let windows = 0;
  let openedAt = 0;
  replace(window, "open", (was) => function (...args) {
    const left = windows - (now() - openedAt) / 1000;
    windows = left > 0 ? left : 0;
    openedAt = now();
    return windows++ < WINDOWS ? was.apply(window, args) : null;
  });

  const ages = new WeakMap(); // Response -> age of the chain that asked for it
  const awaited = (promise, url, age, keep) => {
    const token = follow("a request", age, url);
    const mine = from;
    const done = (value) => {
      pending.delete(token);
      if (keep) ages.set(value, age);
      enter(age, mine, token);
      return value;
    };
    return promise.then(done, (error) => { done({}); throw error; });
  };
  replace(window, "fetch", (was) => function (...args) {
    const target = args[0] && args[0].url ? args[0].url : String(args[0]);
    return awaited(was.apply(window, args), target, (current() ?? 0) + STEP, true);
  });
  for (const name of ["json", "text", "blob", "arrayBuffer", "formData"]) {
    replace(Response.prototype, name, (was) => function () {
      return awaited(was.call(this), this.url, ages.get(this) ?? current() ?? 0, false);
    });
  }
  // A body that is read part by part: each part is waited for like a response.
  const streams = new WeakMap(); // ReadableStream of a response, its readers and iterators -> { url, age }
  const body = Object.getOwnPropertyDescriptor(Response.prototype, "body");
  Object.defineProperty(Response.prototype, "body", { ...body, get() {
    const stream = body.get.call(this);
    if (stream !== null && !streams.has(stream)) streams.set(stream, { url: this.url, age: ages.get(this) ?? current() ?? 0 });
    return stream;
  } });
  const led = (was) => function (...args) {
    const made = was.apply(this, args);
    const source = streams.get(this);
    if (source) for (const one of Array.isArray(made) ? made : [made]) streams.set(one, source);
    return made;
  };
  for (const name of ["getReader", "pipeThrough", "tee", "values"]) replace(ReadableStream.prototype, name, led);
  replace(ReadableStream.prototype, Symbol.asyncIterator, led);
  const parts = (was) => function (...args) {
    const source = streams.get(this);
    const next = was.apply(this, args);
    return source ? awaited(next, source.url, source.age, false) : next;
  };
  replace(ReadableStreamDefaultReader.prototype, "read", parts);
  replace(Object.getPrototypeOf(new ReadableStream().values?.() ?? {}), "next", parts);
  const opened = new WeakMap();
  replace(XMLHttpRequest.prototype, "open", (was) => function (...args) {
    if (!opened.has(this)) {
      for (const type of ["readystatechange", "load", "error", "abort", "timeout", "loadend"]) {
        this.addEventListener(type, (event) => {
          marked.set(event, opened.get(this));
          if (type === "loadend") pending.delete(opened.get(this).token);
        });
      }
    }
    opened.set(this, { url: String(args[1]), age: 0, token: null });
    return was.apply(this, args);
  });
  replace(XMLHttpRequest.prototype, "send", (was) => function (...args) {
    const call = opened.get(this);
    if (call) {
      call.age = (current() ?? 0) + STEP;
      call.token = follow("a request", call.age, call.url);
    }
    return was.apply(this, args);
  });

  // Whoever is on the other side may answer what it was told, or say by itself what it has found: it gets one horizon
  // for that. Servers often say at first that they have begun: after each message, a socket may be silent for a while.
  const talk = (what, silent) => {
    let age = 0;
    let token = null;
    let told = 0; // when it was last told something
    let heard = -Infinity;
    const wait = (limit) => {
      pending.delete(token);
      const mine = (token = follow(what, age));
      native.setTimeout(() => pending.delete(mine), limit);
    };
    return {
      tell() {
        age = current() ?? 0;
        told = now();
        wait(HORIZON);
      },
      hear(event) {
        const isAwaited = pending.delete(token);
        const passed = now() - heard;
        heard = now();
        // Not more than has passed: what is said in many messages at once is one answer. What is said after a silence is
        // none, but an event.
        age = isAwaited || passed < HORIZON ? age + Math.min(STEP, passed) : 0;
        if (age > HORIZON) overrun = true;
        marked.set(event, { age, token });
        if (isAwaited && silent) wait(Math.min(silent, told + HORIZON - now()));
      },
    };
  };
  const talks = (name, tells, what, { begins, silent }) => replace(window, name, (was) => class extends was {
    #talk = talk(what, silent);
    constructor(...args) {
      super(...args);
      if (begins) this.#talk.tell();
      this.addEventListener("message", (event) => this.#talk.hear(event));
    }
    [tells](...args) {
      this.#talk.tell();
      super[tells](...args);
    }
  });
  talks("Worker", "postMessage", "a worker", { begins: true, silent: 0 });
  talks("WebSocket", "send", "a socket", { begins: false, silent: SILENT });
  // Work that is done in slices, so that the page stays responsive (React renders so), is posted from one to the next.
  const channels = new WeakMap(); // MessagePort -> the talk of its channel
  replace(window, "MessageChannel", (was) => class extends was {
    constructor() {
      super();
      const mine = talk("a task", 0);
      for (const port of [this.port1, this.port2]) {
        channels.set(port, mine);
        port.addEventListener("message", mine.hear);
      }
    }
  });
  replace(MessagePort.prototype, "postMessage", (was) => function (...args) {
    channels.get(this)?.tell();
    return was.apply(this, args);
  });

  // The browser's own database, in which pages keep lists and drafts.
  const stored = (request, ends) => {
    const age = (current() ?? 0) + STEP;
    const token = follow("a database", age);
    const hear = (event) => {
      marked.set(event, { age, token });
      if (event.target === request && ends.includes(event.type)) pending.delete(token);
    };
    // Of a transaction also those of its requests, on their way to them.
    for (const type of ["upgradeneeded", "success", "error", ...ends]) request.addEventListener(type, hear, true);
    return request;
  };
  replace(window.IDBFactory?.prototype, "open", (was) => function (...args) {
    return stored(was.apply(this, args), ["success", "error", "blocked"]);
  });
  replace(window.IDBDatabase?.prototype, "transaction", (was) => function (...args) {
    return stored(was.apply(this, args), ["complete", "abort"]);
  });

  for (const name of ["readAsText", "readAsDataURL", "readAsArrayBuffer", "readAsBinaryString"]) {
    replace(FileReader.prototype, name, (was) => function (...args) {
      const token = follow("a file", current() ?? 0);
      this.addEventListener("loadend", () => pending.delete(token), { once: true });
      return was.apply(this, args);
    });
  }

  const observer = new MutationObserver(() => {
    const mine = current();
    if (mine !== null) ticks++;
    if (mine === null || mine <= HORIZON) changes++;
  });
  const watched = { subtree: true, childList: true, attributes: true, characterData: true };
  const watch = () => {
    observer.observe(document, watched);
    document.addEventListener("DOMContentLoaded", () => { parsed = now(); }, { once: true, capture: true });
    // The wheel is answered before the document has scrolled: both come with the next frame.
    document.addEventListener("wheel", () => { changes++; }, { capture: true, passive: true });
  };
  watch();
  replace(Element.prototype, "attachShadow", (was) => function (init) {
    const root = was.call(this, init);
    observer.observe(root, watched);
    return root;
  });

  // One rendered frame and whatever it posted; a hidden page renders none, so it waits for a moment instead.
  const frame = () => new Promise((resolve) => {
    const limit = native.setTimeout(resolve, own("hidden") ? 20 : FRAME);
    native.frame(() => {
      native.clearTimeout(limit);
      native.setTimeout(resolve, 1);
    });
  });
  const moving = () => own("getAnimations").call(document).some((animation) => {
    const timing = animation.effect && animation.effect.getComputedTiming();
    return animation.playState === "running" && timing && timing.endTime - (animation.currentTime ?? 0) <= HORIZON;
  });
  const busy = (ignored) => {
    if (own("readyState") === "loading") return "the document";
    if (own("readyState") !== "complete" && now() - (parsed ?? 0) < PATIENCE) return "images or scripts";
    for (const [token, { what, url }] of pending) {
      if (!token.stale && (url === null || !ignored.includes(url))) return what;
    }
    return moving() ? "an animation" : "";
  };

  // Timers that are still to fire and do not repeat themselves: ms since their chain began, ms until they fire, and `every`.
  const due = () => [...dues.values()].slice(0, MOST).map(({ born, at, every }) => [now() - born, at - now(), every]);

  // Resolves when nothing is scheduled and a frame has passed without a change, or when `budget` ms are over. `early`: as
  // soon as nothing is scheduled; `rested` then tells about the frame.
  let rest = null;
  const elements = () => own("getElementsByTagName").call(document, "*").length;
  const urls = () => [...pending.values()].map(({ url }) => url).filter((url) => url !== null);
  const quiet = async (budget, ignored, early) => {
    if (scriptless) return { busy: "", ticking: false, requests: [], elements: elements() };
    const end = now() + (worn ? Math.min(budget, WORN) : budget);
    let seen = early ? null : changes;
    for (;;) {
      if (seen !== null) await frame();
      const what = busy(ignored) || (early || seen === changes ? "" : "the page");
      const late = now() > end;
      if (!what || late) {
        if (late) {
          worn = true;
          // What they lead to is not waited for either: a long poll is followed by the next one.
          for (const token of pending.keys()) token.stale = true;
        }
        rest = { changes, frame: frame() };
        return { busy: what, ticking: overrun && ticks > 0, requests: urls(), due: due(), elements: elements() };
      }
      seen = changes;
    }
  };
  // Whether nothing came up since `quiet` resolved, at least a frame ago.
  const rested = async (ignored) => {
    if (scriptless) return true;
    await rest?.frame;
    return rest !== null && rest.changes === changes && !busy(ignored);
  };
  Object.defineProperty(window, "__cairn", { value: { quiet, rested, watch, due, urls } });
})();
