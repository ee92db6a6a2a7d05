// Shapes of the resources of the security registry, the loss board and the signals.
//
// The interface gives only the names of the loss board's fields after `chainSlug`. This file defines their types, and the types of the
// elements of entitiesFull[] and affectedVaults[].

import { count, flag, fraction, instant, listOf, nullable, number, oneOf, record, text } from './shape.mjs';

const link = record({ label: text, url: text });
const money = (value, where) =>
  typeof value === 'string' && /^\d+\.\d\d$/.test(value) ? [] : [`${where} should be an amount as text, but is ${JSON.stringify(value)}`];

/** Security event: a row of the registry. */
export const SecurityEvent = record({
  id: count,
  source: text,
  sourceId: text,
  chainId: nullable(count),
  chainSlug: nullable(text),
  title: text,
  description: nullable(text),
  attackers: listOf(text),
  victims: listOf(text),
  netScore: number,
  confirmations: count,
  disconfirmations: count,
  lossAmountUsd: nullable(number),
  severity: oneOf('Info', 'Warning', 'Critical'),
  txHash: nullable(text),
  nativeUrl: nullable(text),
  links: listOf(link),
  affectsTrackedUniverse: flag,
  attackedAt: instant,
  promotedEventId: nullable(text),
  published_by: oneOf('admin', 'auto'),
});
export const SecurityEvents = record({ data: listOf(SecurityEvent), meta: record({ page: count, limit: count, hasMore: flag }) });

export const LossRow = record({
  id: text,
  title: text,
  lossAmountUsd: number,
  attackedAt: instant,
  severity: text,
  chainId: count,
  chainSlug: text,
  classification: nullable(text),
  technique: nullable(text),
  mechanism: nullable(text),
  chains: listOf(record({ chainId: count, chainSlug: text })),
  returnedFundsUsd: nullable(number),
  protocol: nullable(record({ id: nullable(text), name: text, logoUrl: nullable(text), websiteUrl: nullable(text) })),
  affectsTrackedUniverse: flag,
  securityEventId: nullable(count),
  incidentDossier: record({
    evidence: record({ transactions: listOf(text), attackers: listOf(text), victims: listOf(text), links: listOf(link) }),
    provenance: record({
      source: text,
      sourceId: text,
      retrievedAt: instant,
      lossText: nullable(text),
      lossBasis: oneOf('stated', 'unit_assumed', 'partial'),
      note: nullable(text),
    }),
    coverage: record({ hasTransactions: flag, hasReferences: flag, hasAddresses: flag, hasRegistryRow: flag }),
  }),
});
export const LossBoard = record({
  data: listOf(LossRow),
  meta: record({
    page: count,
    limit: count,
    hasMore: flag,
    total: count,
    totalLossUsd: number,
    coverageSource: nullable(text),
    coverageTotal: count,
    coverageTotalLossUsd: number,
    coverageRefreshedAt: nullable(instant),
    evidenceCoveredIncidents: count,
    transactionCoveredIncidents: count,
    evidenceRefreshedAt: nullable(instant),
  }),
});

const entity = { kind: text, id: text, label: text };
const signal = {
  id: count,
  title: text,
  url: nullable(text),
  severity: oneOf('Info', 'Watch', 'RiskChange', 'PolicyBreach'),
  significance: fraction,
  entities: listOf(record(entity)),
  affectedVaultCount: count,
  breachCount: count,
  exposureUsd: money,
  category: text,
  publishedAt: instant,
};

/** The list of signals. */
export const Signals = record({ data: listOf(record(signal)), meta: record({ page: count, limit: count, total: count, hasMore: flag }) });

/** A signal with all its fields. */
export const SignalDetail = record({
  ...signal,
  summary: nullable(text),
  severityReason: nullable(text),
  entitiesFull: listOf(record({ ...entity, affectedVaultCount: count, exposureUsd: money })),
  affectedVaults: listOf(
    record({
      vaultKey: text,
      vaultId: text,
      vaultName: text,
      chainId: count,
      address: text,
      exposureUsd: nullable(money),
      exposureShare: fraction,
      via: listOf(text),
    }),
  ),
  graphSnapshotId: nullable(text),
  methodologyVersion: nullable(text),
  evidence: record({ sourceUrl: nullable(text), articleUrls: listOf(text), snapshotId: nullable(text) }),
});
