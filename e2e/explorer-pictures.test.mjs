// Pictures of the explorer's pages in both themes, compared with the committed ones in explorer/pictures.
//
// To make them anew and look at them: RDS_PICTURES=make cargo xtask test e2e --only explorer-pictures

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { launch } from './chromium.mjs';
import { makePreview } from './explorer/preview.mjs';
import { difference, pictureOf, PLACES, serve } from './explorer/pictures.mjs';

/** Share of pixels that may differ. A moved line of text is more. */
const TOLERANCE = 0.01;
const isMaking = process.env.RDS_PICTURES === 'make';
let browser;
let server;

before(async () => {
  [browser, server] = await Promise.all([launch('--font-render-hinting=none', '--disable-lcd-text', '--disable-font-subpixel-positioning', '--hide-scrollbars'), serve()]);
  if (isMaking) mkdirSync(new URL('.', pictureOf('vaults', 'light')), { recursive: true });
}, { timeout: 120_000 });
after(async () => {
  // It is part of the build, so it is made last.
  if (isMaking && browser) await makePreview(browser);
  await browser?.close();
  server?.stop();
});

for (const theme of ['light', 'dark']) {
  test(`every page looks as its picture, ${theme}`, { timeout: 300_000 }, async () => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, deviceScaleFactor: 0.5, colorScheme: theme, reducedMotion: 'reduce' });
    const page = await context.newPage();
    const differing = [];
    for (const [name, path] of Object.entries(PLACES)) {
      await page.goto(server.base + path);
      await page.waitForSelector('html.ready');
      await page.evaluate(() => document.fonts.ready);
      const taken = await page.screenshot({ animations: 'disabled', caret: 'hide' });
      const committed = pictureOf(name, theme);
      if (isMaking) {
        writeFileSync(committed, taken);
        continue;
      }
      const share = existsSync(committed) ? difference(taken, committed) : 1;
      if (share > TOLERANCE) differing.push(`${name}: ${(share * 100).toFixed(1)} % of the pixels`);
    }
    await context.close();
    assert.deepEqual(differing, []);
  });
}
