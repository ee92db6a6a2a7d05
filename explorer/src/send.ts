// Requests of the browser to the API, with the browser's key.

import type { Send } from './api.js';
import { keyOf } from './key.js';

/** Sends a request to the API of this origin. */
export const browserSend: Send = (target, init = {}) => {
  const headers = new Headers(init.headers);
  headers.set('accept', 'application/json');
  const key = keyOf();
  if (key) headers.set('authorization', `Bearer ${key}`);
  return fetch(target, { ...init, headers, credentials: 'omit' });
};
