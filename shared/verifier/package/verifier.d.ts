/** The input of a verification: JSON texts as received. Pass the original text, not a re-serialised object: numbers are read digit by digit. */
export interface Evidence {
  /** The answer of `POST /v1/graph/check`, the `decision` in it, the answer of `GET /v1/graph/decision/{id}`, or a bare envelope. */
  decision: string;
  /** The decision's id from another source, if known: 64 hex characters. */
  decisionId?: string;
  /** The signature, if `decision` does not contain it. */
  signature?: string;
  /** The signer registry: the answer of `GET /v1/graph/signers`, or the list in it. Without it nothing is proved. */
  signers?: string;
  /** The check's request body, or its positions alone. */
  request?: string;
  /** The check's answer, if `decision` is not the answer. */
  findings?: string;
  /** The snapshot's manifest: the answer of `GET /v1/graph/snapshot/{id}`. */
  snapshot?: string;
}

export interface Step {
  /** Stable name of the step. */
  name: 'envelope' | 'id' | 'signature' | 'signer' | 'beside' | 'known' | 'active' | 'positions' | 'terms' | 'findings' | 'verdict' | 'snapshot';
  /** The statement that is checked. */
  title: string;
  /** `unchecked`: an input that the check needs is missing. */
  outcome: 'ok' | 'failed' | 'unchecked';
  /** Explanation of the outcome. */
  said: string;
  /** The compared values. */
  inputs: { label: string; value: string }[];
}

/** The content of a valid envelope. */
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
  /** `genuine`: proved. `unproven`: nothing contradicts it, but an input is missing. `refuted`: do not rely on it. */
  outcome: 'genuine' | 'unproven' | 'refuted';
  summary: string;
  /** The SHA-256 of the given envelope. */
  decisionId: string;
  /** Null if a step failed. */
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

/** Runs every step that the evidence allows. Throws an `Error` if it contains no decision. Makes no requests. */
export function verify(evidence: Evidence): Report;
