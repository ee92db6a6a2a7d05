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

/** The verdict on one input, or on all: `not_checked` if a call was not repeated and nothing contradicts. */
export type Outcome = 'confirmed' | 'not_checked' | 'contradicted';

/** A call with both answers. */
export interface RepeatedCall {
  /** Position in the `calls` of the evidence. */
  place: number;
  method: 'eth_call' | 'eth_getStorageAt' | 'eth_getCode';
  contract: string;
  data: string | null;
  /** The published answer; null if the contract gave none. */
  published: string | null;
  /** What the node said; null if it said nothing, or the same. */
  node: string | null;
}

/** What keeps an endpoint from confirming an input, or a remark on a call that it confirms. */
export interface Finding {
  outcome: Outcome;
  /** The endpoint's host; null if no endpoint was needed. */
  endpoint: string | null;
  /** Why something is not checked. `other_value`: another value follows from the published answers. */
  reason:
    | 'other_chain' | 'unknown_block' | 'no_state' | 'rate_limited' | 'timeout' | 'unreachable' | 'too_large' | 'gas' | 'unsupported' | 'forbidden'
    | 'not_answered' | 'damaged' | 'stopped' | 'unreadable_evidence' | 'other_contract' | 'other_value' | null;
  said: string;
  call: RepeatedCall | null;
}

export interface InputReport {
  /** Group and name, as in `control.timelock_seconds`. */
  name: string;
  /** The value, as JSON. */
  value: string;
  source: string | null;
  observedAt: string | null;
  outcome: Outcome;
  said: string;
  /** Null if the evidence cannot be read. `simulated`: calls that were made as if accounts had other code or storage. */
  readAt: { chainId: number; blockNumber: number; blockHash: string; calls: number; simulated: number; agreed: number; asked: number } | null;
  findings: Finding[];
}

export interface ReadReport {
  outcome: Outcome;
  summary: string;
  /** The inputs that were read on a chain. */
  inputs: InputReport[];
  /** Number of inputs that a source stated, which no chain can confirm. */
  stated: number;
  endpoints: { name: string; chainId: number | null; requests: number }[];
  /** Whether the published scores follow from the published inputs; null for answers about an asset. */
  score: (Omit<Step, 'name'> & { name: 'score' }) | null;
}

/**
 * Repeats every call in the evidence of a vault's inputs, at the same block, through endpoints that you trust. All of them must confirm.
 *
 * `answer` is the answer of `GET /v1/vault/{network}/{address}` as received, or only its `score_provenance`. Throws an `Error` if it has no
 * provenance, or if an endpoint's address cannot be used. Sends requests to the endpoints alone, none after `signal`.
 */
export function readAgain(
  answer: string,
  endpoints: string[],
  options?: { onProgress?: (progress: { done: number; of: number }) => void; signal?: AbortSignal },
): Promise<ReadReport>;
