/** What there is to verify: JSON texts, as they were received. They are read to the last digit, so hand on the text and not what was parsed of it. */
export interface Evidence {
  /** The answer of `POST /v1/graph/check`, the `decision` in it, the answer of `GET /v1/graph/decision/{id}`, or a bare envelope. */
  decision: string;
  /** The id by which the decision is known, where that was learned otherwise: 64 hex characters. */
  decisionId?: string;
  /** The signature, where it does not stand in `decision`. */
  signature?: string;
  /** The registry of signers: the answer of `GET /v1/graph/signers`, or the list in it. Without it nothing is proved. */
  signers?: string;
  /** The body that the check was asked with, or its positions alone. */
  request?: string;
  /** The check's answer, where `decision` is not that. */
  findings?: string;
  /** The snapshot's manifest: the answer of `GET /v1/graph/snapshot/{id}`. */
  snapshot?: string;
}

export interface Step {
  /** Which step it is; names do not change. */
  name: 'envelope' | 'id' | 'signature' | 'signer' | 'beside' | 'known' | 'active' | 'positions' | 'terms' | 'findings' | 'verdict' | 'snapshot';
  /** What it asks, in words. */
  title: string;
  /** `unchecked`: there was nothing to check it with. */
  outcome: 'ok' | 'failed' | 'unchecked';
  /** Why. */
  said: string;
  /** What was compared. */
  inputs: { label: string; value: string }[];
}

/** What a whole envelope says. */
export interface Decision {
  id: string;
  portfolioRef: string;
  snapshotId: string;
  verdict: 'approve' | 'caution' | 'reject';
  methodologyScope: string;
  methodologyVersion: string;
  signerAddress: string;
  keyId: string;
  createdAt: string;
}

export interface Report {
  /** `genuine`: proved. `unproven`: nothing contradicts it, something is missing. `refuted`: do not rely on it. */
  outcome: 'genuine' | 'unproven' | 'refuted';
  summary: string;
  /** The SHA-256 of the envelope as it was given. */
  decisionId: string;
  /** Null where something contradicts it. */
  decision: Decision | null;
  /** What `GET /v1/graph/decision/{id}/verify` would answer; null without a registry. */
  verification: {
    found: boolean;
    envelopeIntact: boolean;
    signatureValid: boolean;
    signerRecognized: boolean;
    signerActiveAtIssuance: boolean;
    decision: Decision | null;
  } | null;
  steps: Step[];
}

/** Goes through every step that the evidence allows. Throws an `Error` where there is no decision in it. Asks nobody anything. */
export function verify(evidence: Evidence): Report;
