// The behaviour suite, played with this library.
import { run } from '../../behaviours/runner.mjs';
import { installed } from './installed.mjs';

const [library, decisions] = await Promise.all([installed('@risk-data/client'), installed('@risk-data/client/decisions')]);
run(library, decisions);
