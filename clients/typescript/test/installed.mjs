// Imports the library from the project that the packed file was installed into (`RDS_CLIENT_PROJECT`), or as it is built here.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** The project whose `node_modules` are used. */
export const project = process.env.RDS_CLIENT_PROJECT ?? fileURLToPath(new URL('..', import.meta.url));

/** Imports a package or a part of it. */
export function installed(name) {
  return import(pathToFileURL(createRequire(join(project, 'package.json')).resolve(name)));
}
