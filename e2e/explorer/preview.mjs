// The picture that previews of links to the explorer show.

import { readFileSync, writeFileSync } from 'node:fs';

const css = readFileSync(new URL('../../docs/assets/site.css', import.meta.url), 'utf8');
const HTML = `<!doctype html><style>${css.slice(0, css.indexOf('\n\n'))}
  body { margin: 0; width: 1200px; height: 630px; background: #0b5c52; color: #fff; font-family: var(--sans); display: grid; align-content: center; padding: 0 110px; box-sizing: border-box; }
  h1 { font-size: 84px; letter-spacing: -0.03em; margin: 0 0 28px; line-height: 1.05; } p { font-size: 38px; line-height: 1.35; margin: 0; color: #d7ebe6; }
  .bars { display: flex; gap: 22px; align-items: end; height: 120px; margin-bottom: 44px; } .bars i { width: 34px; border-radius: 8px; background: #fff; }
</style><div class="bars"><i style="height:44px"></i><i style="height:112px"></i><i style="height:76px"></i></div>
<h1>Risk Data Service</h1><p>Risk scores of on-chain vaults, markets and tokens: every number with its inputs, sources and dates.</p>`;

/** Makes the picture: 1200 by 630 pixels. */
export async function makePreview(browser) {
  const page = await browser.newPage({ viewport: { width: 1200, height: 630 }, colorScheme: 'light' });
  await page.setContent(HTML);
  writeFileSync(new URL('../../explorer/preview.png', import.meta.url), await page.screenshot());
  await page.close();
}
