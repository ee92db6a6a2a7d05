// Recomputes scores as a third party would, as a program. The first line of standard input is the response of /v1/methodology; each
// further line is the detail of a vault, or the detail of an asset read with a key. Prints the differences between published and
// recomputed scores and, if the first argument names a folder of golden vectors, the differences in the vectors. The second argument is the
// instant of the score run; without it, answers are judged as of now.

import { readFileSync } from 'node:fs';
import { AssetThirdParty } from './asset-score.mjs';
import { golden, goldenAssets } from './golden-inputs.mjs';
import { ThirdParty, differences } from './recompute.mjs';

const [methodology, ...details] = readFileSync(0, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));
const now = process.argv[3] ? Date.parse(process.argv[3]) : Date.now();
const thirdParty = new ThirdParty(methodology.data);
const assetParty = new AssetThirdParty(methodology.data);
const vaults = details.flatMap(({ data }) => data.vault ?? []).filter((vault) => vault.score_provenance !== null);
const assets = details.map(({ data }) => data).filter((data) => !data.vault);
console.log(JSON.stringify({
  scored: vaults.filter((vault) => vault.score_provenance.raw_score !== null).length,
  unscored: vaults.filter((vault) => vault.score_provenance.raw_score === null).length,
  differences: vaults.flatMap((vault) => differences(thirdParty, vault)),
  assets: {
    scored: assets.filter((asset) => asset.risk_score_breakdown !== null).length,
    unscored: assets.filter((asset) => asset.risk_score_breakdown === null).length,
    differences: assets.flatMap((asset) => assetParty.differences(asset, now)),
  },
  golden: process.argv[2] ? [golden(thirdParty, process.argv[2]), goldenAssets(assetParty, process.argv[2])] : [],
}));
