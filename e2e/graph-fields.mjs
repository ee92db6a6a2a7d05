// The fields of the graph resources, as data.
//
// Fields under "additive" are beyond the interface; shapes that the interface leaves open are defined here.

import { count, flag, fraction, instant, listOf, nullable, number, oneOf, record, text } from './shape.mjs';

/** A dollar amount as decimal text, with at most six decimals. */
export const dollars = (value, where) =>
  typeof value === 'string' && /^\d+(\.\d{1,6})?$/.test(value) ? [] : [`${where} should be dollars with at most six decimals, but is ${JSON.stringify(value)}`];
const hash = (value, where) => (typeof value === 'string' && /^[0-9a-f]{64}$/.test(value) ? [] : [`${where} is not a hash`]);
const vaultKey = (value, where) =>
  typeof value === 'string' && /^\d+:(0x[0-9a-f]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$/.test(value) ? [] : [`${where} is not a vault key`];
/** An object whose names match `name` and whose values have the shape `shape`. */
const by = (name, shape) => (value, where) =>
  value === null || typeof value !== 'object' || Array.isArray(value)
    ? [`${where} is not an object`]
    : Object.entries(value).flatMap(([key, item]) => [...name(key, `a name in ${where}`), ...shape(item, `${where}.${key}`)]);
const data = (fields) => record({ data: record(fields) });

const plain = record({ id: text, share: fraction });
const trusted = record({ id: text, verified: flag, confidence: fraction, share: fraction });

/** Look-through result per vault key. */
const LookThrough = record({
  vaultKey,
  curator: nullable(text),
  protocol: nullable(text),
  chain: count,
  assets: listOf(
    record({
      assetKey: text,
      symbol: text,
      usdExposure: nullable(dollars),
      wrappers: listOf(plain),
      oracles: listOf(record({ id: text, vendor: nullable(text), share: fraction })),
      bridges: listOf(trusted),
      // additive
      share: fraction,
    }),
  ),
  signerSets: listOf(trusted),
  cycles: listOf(listOf(vaultKey)),
  // additive
  clusters: listOf(plain),
  unattributed: listOf(
    record({ reason: oneOf('cycle', 'holdings_unknown', 'idle', 'vault_unknown'), share: fraction, usdExposure: nullable(dollars) }),
  ),
});

/** `GET /v1/graph/look-through`. */
export const LookedThrough = data({
  snapshotId: hash,
  builtAt: instant,
  validTime: nullable(instant),
  results: by(vaultKey, nullable(LookThrough)),
});

const incident = { eventId: count, title: text, severity: text, incidentSeverity: nullable(text), occurredAt: instant };
const incidents = { snapshotId: hash, mapVersion: text, generatedAt: instant, validTime: nullable(instant) };

/** `GET /v1/graph/incident-exposure`. */
export const IncidentExposure = data({
  ...incidents,
  results: by(
    vaultKey,
    nullable(
      record({
        vaultKey,
        issuer: nullable(text),
        share: fraction,
        usdExposure: nullable(dollars),
        incidents: listOf(record({ ...incident, isDirect: flag, share: fraction, usdExposure: nullable(dollars) })),
      }),
    ),
  ),
});

/** `GET /v1/graph/incident-exposure/summary`. */
export const IncidentSummary = data({
  ...incidents,
  results: by(text, record({ incidents: listOf(record(incident)) })),
  vaultCount: count,
  issuerCount: count,
  totalIncidentExposureUsd: dollars,
  issuers: listOf(
    record({ issuer: text, incidentCount: count, vaultCount: count, unpricedVaultCount: count, incidentExposureUsd: dollars }),
  ),
});

const totals = {
  pricedDebtUsd: number,
  unpricedDebtUsd: number,
  shocks: listOf(
    record({ shockPct: count, projectedLossUsd: number, liquidatableDebtMinUsd: number, liquidatableDebtMaxUsd: number }),
  ),
};
const source = oneOf('protocol_api', 'onchain_rpc');
const chains = listOf(record({ chainId: count, marketCount: count, ...totals }));
const topMarkets = listOf(
  record({
    marketId: nullable(text),
    name: text,
    chainId: count,
    collateralUsd: nullable(number),
    liquidationThreshold: nullable(fraction),
    ...totals,
  }),
);
const supplied = { vaultKey, marketId: nullable(text) };

/** `GET /v1/graph/breach`. */
export const BreachPreview = data({
  schemaVersion: oneOf(2),
  // deprecated: observedAt, protocolId, source, chains and topMarkets repeat the fields of protocols[0]
  observedAt: nullable(instant),
  protocolId: nullable(text),
  source: nullable(source),
  maturity: oneOf('preview'),
  shockPcts: listOf(count),
  chains,
  topMarkets,
  protocols: listOf(
    record({
      observedAt: instant,
      protocolId: text,
      source,
      maturity: oneOf('preview'),
      sweepStartedAt: instant,
      sweepCompletedAt: instant,
      shockPcts: listOf(count),
      coverage: record({
        status: oneOf('interval_sampled'),
        methodology: text,
        reason: text,
        // additive
        marketCount: count,
        debtReadCount: count,
        pricedCount: count,
      }),
      ...totals,
      chains,
      topMarkets,
      topVaultExposures: listOf(record({ ...supplied, suppliedUsd: number })),
      vaultBadDebt: listOf(record({ ...supplied, badDebtUsd: number })),
    }),
  ),
});

/** `GET /v1/graph/snapshot/{id}`. */
export const Manifest = data({
  snapshotId: hash,
  builtAt: instant,
  validTime: nullable(instant),
  publications: listOf(record({ name: text, contentHash: hash, rows: count })),
  cursors: by(text, nullable(instant)),
});

const verdict = oneOf('approve', 'caution', 'reject');

/** `GET /v1/graph/decision/{id}/verify`. */
export const Verification = data({
  found: flag,
  envelopeIntact: flag,
  signatureValid: flag,
  signerRecognized: flag,
  signerActiveAtIssuance: flag,
  decision: nullable(
    record({
      id: hash,
      portfolioRef: text,
      snapshotId: hash,
      verdict,
      methodologyScope: text,
      methodologyVersion: text,
      signerAddress: text,
      keyId: text,
      createdAt: instant,
    }),
  ),
});

const exposure = { key: text, usd: dollars, share: fraction, verified: flag, confidence: fraction };
const dimension = oneOf('asset', 'bridge', 'chain', 'cluster', 'curator', 'oracle', 'oracleVendor', 'protocol', 'signerSet');

/** `POST /v1/graph/check`. */
export const CheckResult = data({
  snapshotId: hash,
  builtAt: instant,
  verdict,
  totalUsd: dollars,
  unresolvedVaults: listOf(vaultKey),
  findings: listOf(
    record({ ...exposure, limit: text, dimension, kind: oneOf('breach', 'advisory', 'near'), maxShare: fraction, verifiedUsd: dollars }),
  ),
  exposures: by(dimension, listOf(record(exposure))),
  decision: nullable(
    record({ decisionId: hash, signerAddress: text, inserted: flag, keyId: text, signature: text, envelope: text }),
  ),
  // additive
  unattributedUsd: dollars,
});
