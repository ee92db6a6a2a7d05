// Starts the browser that `cargo xtask test` found, for tests that open pages.

import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';

/** Starts the browser, with `args` beside those that switch off its background traffic. */
export function launch(...args) {
  const executablePath = process.env.RDS_CHROMIUM;
  assert.ok(executablePath, 'RDS_CHROMIUM is not set: install Chromium (Debian: `apt-get install chromium`) and set it to the path of the program');
  const libraries = process.env.RDS_CHROMIUM_LIBS;
  return chromium.launch({
    executablePath,
    args: [...args, '--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
    env: libraries ? { ...process.env, LD_LIBRARY_PATH: libraries } : process.env,
  });
}

/**
 * Opens a tab for the service's own pages, with its own client address. Requests to other origins are aborted and recorded in
 * `strangers`; violations of the content security policy and script errors are recorded in `faults`.
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
