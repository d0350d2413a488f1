// Keeps the whole site for use without a network, one cache a build.
"use strict";
const BUILD = "__BUILD__";
const CACHE = `terrarium-${BUILD}`;
// Every file of the site; a test (web/src/view/tests.rs) compares the list with static/.
const FILES = [
  "./",
  `./boot.js?v=${BUILD}`,
  `./css/page.css?v=${BUILD}`,
  `./css/tokens.css?v=${BUILD}`,
  "./icons/terrarium.svg",
  "./manifest.webmanifest",
  `./pkg/rest.js?v=${BUILD}`,
  `./pkg/terrarium_web.js?v=${BUILD}`,
  `./pkg/terrarium_web_bg.wasm?v=${BUILD}`,
  `./pkg/terrarium_web_rest.wasm?v=${BUILD}`,
  "./sandbox.toml",
  "./lessons/index.toml",
  "./lessons/which-survive.toml",
  "./lessons/acked-and-lost.toml",
  "./lessons/all-is-the-isr.toml",
  "./lessons/enough-consumers.toml",
  "./lessons/four-messages-behind.toml",
  "./lessons/news-by-heartbeat.toml",
  "./lessons/no-leader.toml",
  "./lessons/one-copy-of-the-offsets.toml",
  "./lessons/one-knob.toml",
  "./lessons/opening-hours.toml",
  "./lessons/refused-yet-written.toml",
  "./lessons/short-pause-long-pause.toml",
  "./lessons/the-barrier.toml",
  "./lessons/the-fetch-is-the-ack.toml",
  "./lessons/the-jump.toml",
  "./lessons/the-lost-reply.toml",
  "./lessons/the-quiet-restart.toml",
  "./lessons/the-slowest-decides.toml",
  "./lessons/the-stale-mark.toml",
  "./lessons/the-zombies-commit.toml",
  "./lessons/three-cursors.toml",
  "./lessons/two-barriers.toml",
  "./lessons/two-clocks.toml",
  "./lessons/three-protocols.toml",
  "./lessons/two-ways-to-die.toml",
  "./lessons/wait-and-crash.toml",
  "./strings/en/index.toml",
  "./strings/en/which-survive.toml",
  "./strings/en/acked-and-lost.toml",
  "./strings/en/all-is-the-isr.toml",
  "./strings/en/enough-consumers.toml",
  "./strings/en/four-messages-behind.toml",
  "./strings/en/news-by-heartbeat.toml",
  "./strings/en/no-leader.toml",
  "./strings/en/one-copy-of-the-offsets.toml",
  "./strings/en/one-knob.toml",
  "./strings/en/opening-hours.toml",
  "./strings/en/refused-yet-written.toml",
  "./strings/en/short-pause-long-pause.toml",
  "./strings/en/stage.toml",
  "./strings/en/the-barrier.toml",
  "./strings/en/the-fetch-is-the-ack.toml",
  "./strings/en/the-jump.toml",
  "./strings/en/the-lost-reply.toml",
  "./strings/en/the-quiet-restart.toml",
  "./strings/en/the-slowest-decides.toml",
  "./strings/en/the-stale-mark.toml",
  "./strings/en/the-zombies-commit.toml",
  "./strings/en/three-cursors.toml",
  "./strings/en/two-barriers.toml",
  "./strings/en/two-clocks.toml",
  "./strings/en/three-protocols.toml",
  "./strings/en/two-ways-to-die.toml",
  "./strings/en/ui.toml",
  "./strings/en/wait-and-crash.toml",
  "./strings/zh-CN/index.toml",
  "./strings/zh-CN/which-survive.toml",
  "./strings/zh-CN/acked-and-lost.toml",
  "./strings/zh-CN/all-is-the-isr.toml",
  "./strings/zh-CN/enough-consumers.toml",
  "./strings/zh-CN/four-messages-behind.toml",
  "./strings/zh-CN/news-by-heartbeat.toml",
  "./strings/zh-CN/no-leader.toml",
  "./strings/zh-CN/one-copy-of-the-offsets.toml",
  "./strings/zh-CN/one-knob.toml",
  "./strings/zh-CN/opening-hours.toml",
  "./strings/zh-CN/refused-yet-written.toml",
  "./strings/zh-CN/short-pause-long-pause.toml",
  "./strings/zh-CN/stage.toml",
  "./strings/zh-CN/the-barrier.toml",
  "./strings/zh-CN/the-fetch-is-the-ack.toml",
  "./strings/zh-CN/the-jump.toml",
  "./strings/zh-CN/the-lost-reply.toml",
  "./strings/zh-CN/the-quiet-restart.toml",
  "./strings/zh-CN/the-slowest-decides.toml",
  "./strings/zh-CN/the-stale-mark.toml",
  "./strings/zh-CN/the-zombies-commit.toml",
  "./strings/zh-CN/three-cursors.toml",
  "./strings/zh-CN/two-barriers.toml",
  "./strings/zh-CN/two-clocks.toml",
  "./strings/zh-CN/three-protocols.toml",
  "./strings/zh-CN/two-ways-to-die.toml",
  "./strings/zh-CN/ui.toml",
  "./strings/zh-CN/wait-and-crash.toml",
];

self.addEventListener("install", (event) => {
  // One file that fails must not cost the others: it will be kept when it is first asked for.
  const keep = (cache) => Promise.allSettled(FILES.map((file) => cache.add(new Request(file, { cache: "reload" }))));
  event.waitUntil(caches.open(CACHE).then(keep).then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  const drop = (names) => Promise.all(names
    .filter((name) => name.startsWith("terrarium-") && name !== CACHE)
    .map((name) => caches.delete(name)));
  event.waitUntil(caches.keys().then(drop).then(() => self.clients.claim()));
});

self.addEventListener("fetch", (event) => {
  const request = event.request;
  if (request.method !== "GET" || new URL(request.url).origin !== self.location.origin) {
    return;
  }
  event.respondWith(answer(request));
});

// The page itself comes fresh when there is a network, so that a new build shows at once; what it
// names carries the build in its address and comes from the cache.
async function answer(request) {
  const cache = await caches.open(CACHE);
  const page = request.mode === "navigate";
  const kept = await cache.match(page ? "./" : request, { ignoreSearch: page });
  const stamped = request.url.includes(`v=${BUILD}`);
  if (kept && stamped) {
    return kept;
  }
  try {
    const fresh = await fetch(request);
    if (fresh.ok) {
      cache.put(page ? "./" : request, fresh.clone());
    }
    return fresh;
  } catch (error) {
    if (kept) {
      return kept;
    }
    throw error;
  }
}
