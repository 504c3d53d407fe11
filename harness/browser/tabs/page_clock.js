// The time of a document: its clocks, timers and frame callbacks stand still between `stop` and `go`. Runs before settling.js
// and before the page's own scripts, in every frame, where `browser.time=stopped`.
//
// What stood still goes on where it was: a timer has as much time left as before. Requests, messages and workers go on.
(() => {
  if (window.__cairnClock) return; // the window outlived its first, empty document

  const real = {
    now: performance.now.bind(performance),
    timeOrigin: performance.timeOrigin,
    dateNow: Date.now.bind(Date),
    setTimeout: window.setTimeout.bind(window),
    clearTimeout: window.clearTimeout.bind(window),
    setInterval: window.setInterval.bind(window),
    clearInterval: window.clearInterval.bind(window),
  };
  let before = 0; // ms for which time had stood still when this document came
  let stood = 0; // and since then
  let since = null; // when it stopped; null = it goes on
  let day = 0; // and the date then
  let hasBegun = false;
  const now = () => (since ?? real.now()) - stood;
  const today = () => Math.floor((since === null ? real.dateNow() : day) - before - stood);

  const replace = (owner, name, is) => {
    if (typeof owner[name] !== "function") return;
    Object.defineProperty(is, "name", { value: name });
    owner[name] = is;
  };

  replace(Performance.prototype, "now", function () { return this === performance ? now() : real.now(); });
  Object.defineProperty(Performance.prototype, "timeOrigin", { configurable: true, get: () => real.timeOrigin - before });
  replace(Date, "now", () => today());
  window.Date = new Proxy(Date, {
    construct: (date, args, made) => Reflect.construct(date, args.length ? args : [today()], made),
    apply: (date) => new date(today()).toString(),
  });
  Date.prototype.constructor = window.Date;
  if (window.Temporal) {
    const { Now, Instant } = Temporal;
    const zoned = (zone) => Instant.fromEpochMilliseconds(today()).toZonedDateTimeISO(zone ?? Now.timeZoneId());
    replace(Now, "instant", () => Instant.fromEpochMilliseconds(today()));
    replace(Now, "zonedDateTimeISO", (zone) => zoned(zone));
    for (const part of ["DateTime", "Date", "Time"]) {
      replace(Now, `plain${part}ISO`, (zone) => zoned(zone)[`toPlain${part}`]());
    }
  }

  let newest = 0;
  const timers = new Map(); // id -> { run, at, every, native, repeats }; `every`: ms, 0 = it fires once
  const fire = (id, one) => {
    if (!one.every) timers.delete(id);
    else {
      one.at = now() + one.every;
      if (!one.repeats) repeat(id, one);
    }
    one.run();
  };
  const repeat = (id, one) => {
    one.repeats = true;
    one.native = real.setInterval(() => fire(id, one), one.every);
  };
  const arm = (id, one) => {
    one.repeats = false;
    one.native = real.setTimeout(() => fire(id, one), Math.max(one.at - now(), 0));
  };
  const disarm = (one) => (one.repeats ? real.clearInterval : real.clearTimeout)(one.native);
  const setter = (repeats) => function (handler, delay, ...args) {
    const wait = Number(delay) || 0;
    const run = typeof handler === "function" ? () => handler.apply(window, args) : () => real.setTimeout(handler, 0);
    const one = { run, at: now() + Math.max(wait, 0), every: repeats ? Math.max(wait, 4) : 0, native: null, repeats };
    const id = ++newest;
    timers.set(id, one);
    if (since !== null) one.repeats = false;
    else if (repeats) repeat(id, one);
    else one.native = real.setTimeout(() => fire(id, one), wait);
    return id;
  };
  const clear = (id) => {
    const one = timers.get(Number(id));
    if (one && one.native !== null) disarm(one);
    timers.delete(Number(id));
  };
  replace(window, "setTimeout", setter(false));
  replace(window, "setInterval", setter(true));
  replace(window, "clearTimeout", clear);
  replace(window, "clearInterval", (id) => clear(id));

  // What waits for a frame, or for idle time: it is asked for again when time goes on.
  const held = [];
  const hold = (ask, cancel, shift) => {
    const asks = window[ask]?.bind(window);
    const cancels = window[cancel]?.bind(window);
    const asked = new Map(); // id -> { begin, native }
    let newest = 0;
    replace(window, ask, (handler, ...how) => {
      if (typeof handler !== "function") return asks(handler, ...how); // which says what is wrong
      const id = ++newest;
      const one = { native: null };
      one.begin = () => {
        one.native = asks((moment) => {
          asked.delete(id);
          handler(shift(moment));
        }, ...how);
      };
      asked.set(id, one);
      if (since === null) one.begin();
      return id;
    });
    replace(window, cancel, (id) => {
      const one = asked.get(Number(id));
      asked.delete(Number(id));
      if (one && one.native !== null) cancels(one.native);
    });
    held.push({ asked, cancels });
  };
  hold("requestAnimationFrame", "cancelAnimationFrame", (moment) => moment - stood);
  hold("requestIdleCallback", "cancelIdleCallback", (deadline) => deadline);

  const stop = () => {
    if (since !== null) return;
    since = real.now();
    day = real.dateNow();
    for (const one of timers.values()) disarm(one);
    for (const { asked, cancels } of held) for (const one of asked.values()) cancels(one.native);
  };
  const go = () => {
    if (since === null) return;
    stood += real.now() - since;
    since = null;
    for (const [id, one] of timers) arm(id, one);
    for (const { asked } of held) for (const one of asked.values()) one.begin();
  };
  // A document comes at a time of the episode: `gone` ms of it stood still, and it may stand still now.
  const begin = (gone, stopped) => {
    if (hasBegun) return;
    hasBegun = true;
    before = gone;
    if (stopped) stop();
  };
  Object.defineProperty(window, "__cairnClock", { value: { stop, go, begin } });
})();
