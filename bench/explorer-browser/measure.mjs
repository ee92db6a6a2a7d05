// Measures the explorer in Chromium: frames while a table of all vaults scrolls, and the first paint on a slow machine.
//
// usage: node measure.mjs MODULES EDGE KEY ROUNDS
// MODULES is a folder `node_modules` with playwright-core. Prints one JSON object.

import { createRequire } from 'node:module';
import { join } from 'node:path';

const [modules, edge, key, rounds] = process.argv.slice(2);
const { chromium } = createRequire(join(modules, 'index.js'))('playwright-core');
/** Bytes a second of 1.6 Mbit/s down and 0.75 Mbit/s up. */
const [DOWN, UP] = [200_000, 93_750];
/** Height of a row in pixels. */
const ROW = 48;
/** Pixels a second of the long gesture. */
const SPEED = 60_000;
/** Rows of one step of a reader who waits for the rows, and number of steps. */
const [STEP, STEPS] = [40, 60];

const browser = await chromium.launch({
  executablePath: process.env.RDS_CHROMIUM,
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});

/** A page of a new visitor, and a session of the browser's protocol with it. */
async function fresh(caller) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, extraHTTPHeaders: { 'cf-connecting-ip': caller } });
  const page = await context.newPage();
  return { context, page, session: await context.newCDPSession(page) };
}

/** Begins to record frames: the pauses between two, and the long ones as the browser counts them. */
const record = () => {
  const seen = { gaps: [], long: [], running: true };
  let last = performance.now();
  const frame = (now) => {
    seen.gaps.push(now - last);
    last = now;
    if (seen.running) requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  seen.observer = new PerformanceObserver((list) => seen.long.push(...list.getEntries().map(({ duration }) => duration)));
  seen.observer.observe({ type: 'long-animation-frame' });
  globalThis.seen = seen;
};
const recorded = () => {
  const { seen } = globalThis;
  seen.running = false;
  seen.long.push(...seen.observer.takeRecords().map(({ duration }) => duration));
  // The first pause is the one in which the recording began.
  return { gaps: seen.gaps.slice(1), long: seen.long };
};

/** Frames of the whole table in one gesture, of a reader who waits for the rows, and of the same page at rest. */
async function scrolling(rate) {
  const { context, page, session } = await fresh('192.0.2.10');
  await page.addInitScript((value) => localStorage.setItem('rds-key', value), key);
  await page.goto(`${edge}/vaults`);
  await page.waitForSelector('.virtual tbody tr.space');
  await page.waitForLoadState('networkidle');
  const total = Number(await page.getAttribute('.virtual table', 'aria-rowcount')) - 1;
  await session.send('Emulation.setCPUThrottlingRate', { rate });
  await page.evaluate(record);
  await page.evaluate(() => new Promise((done) => setTimeout(done, 3_000)));
  const rest = await page.evaluate(recorded);

  const box = await page.locator('.virtual').boundingBox();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.evaluate(record);
  await session.send('Input.synthesizeScrollGesture', { x, y, yDistance: -(total + 2) * ROW, speed: SPEED, gestureSourceType: 'mouse', preventFling: true });
  const gesture = await page.evaluate(recorded);
  await page.waitForSelector(`tr[aria-rowindex="${total + 1}"] th a`);

  await page.evaluate(() => document.querySelector('.virtual').scrollTo(0, 0));
  await page.waitForSelector('tr[aria-rowindex="2"] th a');
  await page.evaluate(record);
  for (let step = 1; step <= STEPS; step += 1) {
    await session.send('Input.synthesizeScrollGesture', { x, y, yDistance: -STEP * ROW, speed: 6_000, gestureSourceType: 'mouse', preventFling: true });
    await page.waitForSelector(`tr[aria-rowindex="${step * STEP + 4}"] th a`);
  }
  const reading = await page.evaluate(recorded);
  await context.close();
  return { total, rest, gesture, reading };
}

/** The largest paint in milliseconds and the layout shift of a first visit on a slow machine. */
async function firstVisit(path, latency, round) {
  const { context, page, session } = await fresh(`192.0.2.${20 + round}`);
  await session.send('Emulation.setCPUThrottlingRate', { rate: 4 });
  await session.send('Network.enable');
  await session.send('Network.emulateNetworkConditions', { offline: false, latency, downloadThroughput: DOWN, uploadThroughput: UP });
  await page.addInitScript(() => {
    globalThis.measured = { paint: 0, shift: 0 };
    new PerformanceObserver((list) => list.getEntries().forEach((entry) => (globalThis.measured.paint = entry.startTime))).observe({ type: 'largest-contentful-paint', buffered: true });
    new PerformanceObserver((list) => list.getEntries().forEach((entry) => (globalThis.measured.shift += entry.value))).observe({ type: 'layout-shift', buffered: true });
  });
  await page.goto(`${edge}${path}`);
  await page.waitForSelector(path.startsWith('/v1/docs') ? 'h1' : 'html.ready');
  await page.waitForLoadState('networkidle');
  const measured = await page.evaluate(() => globalThis.measured);
  await context.close();
  return measured;
}

const result = { fast: await scrolling(1), slow: await scrolling(4), paint: {} };
for (const [name, path, latency] of [['near', '/', 40], ['far', '/', 150], ['docs', '/v1/docs', 40]]) {
  result.paint[name] = [];
  for (let round = 0; round < Number(rounds); round += 1) result.paint[name].push(await firstVisit(path, latency, round));
}
await browser.close();
console.log(JSON.stringify(result));
