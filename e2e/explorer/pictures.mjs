// The explorer as a small server over the examples of the OpenAPI document, at a fixed instant: its pages look the same in every run.

import { createServer } from 'node:http';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import pixelmatch from 'pixelmatch';
import { PNG } from 'pngjs';
import { api, PAGES, visit } from '../../explorer/test/answers.mjs';
import { built } from '../../explorer/test/built.mjs';

/** The instant that ages are counted from: shortly after the examples were made. */
const NOW = Date.parse('2026-11-26T01:07:00Z');
/** Difference of a pixel, from 0 to 1, below which it counts as the same: anti-aliasing differs from machine to machine. */
const SAME = 0.25;

/** The letters of the pictures, which are those of no machine: without them a picture would show which fonts are installed. */
const font = (weight) => readFileSync(createRequire(import.meta.url).resolve(`@fontsource/inter/files/inter-latin-${weight}-normal.woff2`)).toString('base64');
const face = (weight) => `@font-face { font-family: Picture; font-weight: ${weight}; src: url(data:font/woff2;base64,${font(weight)}); }`;
const LETTERS = `${[400, 600, 700].map(face).join('\n')}\n:root { --sans: Picture; --mono: Picture; }`;

/** Pages by name: address. */
export const PLACES = Object.fromEntries(Object.entries(PAGES).map(([name, [path]]) => [name, path]));

/** The committed picture of a page. */
export const pictureOf = (name, theme) => new URL(`../../explorer/pictures/${name}-${theme}.png`, import.meta.url);

/** Starts the server; resolves to its address and a function that stops it. */
export async function serve() {
  const RealDate = Date;
  globalThis.Date = class extends RealDate {
    constructor(...given) {
      super(...(given.length === 0 ? [NOW] : given));
    }
    static now = () => NOW;
  };
  const { explore, stored } = await built();
  const { ask } = api();
  const server = createServer(async (request, response) => {
    const target = visit(request.url, request.headers.accept ? { accept: request.headers.accept } : {});
    const answer = (await explore(target, stored, ask)) ?? (await ask(target));
    const headers = Object.fromEntries(answer.headers);
    let body = Buffer.from(await answer.arrayBuffer());
    if (headers['content-type'].startsWith('text/html')) {
      // The policy of the pages allows neither this style nor its fonts.
      delete headers['content-security-policy'];
      body = Buffer.from(body.toString().replace('</head>', () => `<style>${LETTERS}</style></head>`));
    }
    response.writeHead(answer.status, headers);
    response.end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = () => {
    globalThis.Date = RealDate;
    server.closeAllConnections();
    server.close();
  };
  return { base: `http://127.0.0.1:${server.address().port}`, stop };
}

/** The share of pixels in which a picture differs from the committed one; 1 if their sizes differ. */
export function difference(taken, committed) {
  const [a, b] = [PNG.sync.read(taken), PNG.sync.read(readFileSync(committed))];
  if (a.width !== b.width || a.height !== b.height) return 1;
  return pixelmatch(a.data, b.data, null, a.width, a.height, { threshold: SAME }) / (a.width * a.height);
}
