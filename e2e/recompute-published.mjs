// The third party at a pipe: the first line is what /v1/methodology says, each further line a vault's detail or, read with a key, an
// asset's. Prints every difference, among the details and, where a folder of golden vectors is named, among those.

import { readFileSync } from 'node:fs';
import { AssetThirdParty } from './asset-score.mjs';
import { golden, goldenAssets } from './golden-inputs.mjs';
import { ThirdParty, differences } from './recompute.mjs';

const [methodology, ...details] = readFileSync(0, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));
const thirdParty = new ThirdParty(methodology.data);
const assetParty = new AssetThirdParty(methodology.data);
const judged = details.flatMap(({ data }) => data.vault ?? []).filter((vault) => vault.score_provenance !== null);
const assets = details.map(({ data }) => data).filter((data) => !data.vault);
console.log(JSON.stringify({
  scored: judged.filter((vault) => vault.score_provenance.raw_score !== null).length,
  unscored: judged.filter((vault) => vault.score_provenance.raw_score === null).length,
  differences: judged.flatMap((vault) => differences(thirdParty, vault)),
  assets: {
    scored: assets.filter((asset) => asset.risk_score_breakdown !== null).length,
    unscored: assets.filter((asset) => asset.risk_score_breakdown === null).length,
    differences: assets.flatMap((asset) => assetParty.differences(asset)),
  },
  golden: process.argv[2] ? [golden(thirdParty, process.argv[2]), goldenAssets(assetParty, process.argv[2])] : [],
}));
