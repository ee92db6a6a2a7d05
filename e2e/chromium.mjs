// The real browser that `cargo xtask test` found, for whoever looks at a page with it.

import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';

/** Starts it, with these arguments beside those that keep it to itself. */
export function launch(...args) {
  const executablePath = process.env.RDS_CHROMIUM;
  assert.ok(executablePath, 'RDS_CHROMIUM names no browser: install Chromium (Debian: `apt-get install chromium`) and set it to the program');
  const libraries = process.env.RDS_CHROMIUM_LIBS;
  return chromium.launch({
    executablePath,
    args: [...args, '--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
    env: libraries ? { ...process.env, LD_LIBRARY_PATH: libraries } : process.env,
  });
}

/**
 * A tab that looks at the service's own pages, as a caller of its own. What it asks of anybody else is stopped and kept in
 * `strangers`; what a page does that its policy forbids, and every error of a script, is kept in `faults`.
 */
export async function visit(browser, base, caller, options = {}) {
  const context = await browser.newContext({ extraHTTPHeaders: { 'cf-connecting-ip': caller }, ...options });
  const page = await context.newPage();
  const seen = { context, page, strangers: [], faults: [] };
  await context.route('**/*', (route) => {
    const url = route.request().url();
    if (new URL(url).origin === new URL(base).origin) return route.continue();
    seen.strangers.push(url);
    return route.abort();
  });
  page.on('pageerror', (error) => seen.faults.push(`${page.url()}: ${error.message}`));
  page.on('console', (message) => {
    if (/content.security.policy/i.test(message.text())) seen.faults.push(`${page.url()}: ${message.text()}`);
  });
  if (options.javaScriptEnabled !== false) {
    await context.exposeFunction('tellViolation', (what) => seen.faults.push(what));
    await context.addInitScript(() =>
      document.addEventListener('securitypolicyviolation', (event) => {
        globalThis.tellViolation(`${event.documentURI}: ${event.violatedDirective} ${event.blockedURI}`);
      }),
    );
  }
  return seen;
}
