// Signed decisions, verified on this machine: nothing is asked of the service.
import { secp256k1 } from '@noble/curves/secp256k1';
import { sha256 } from '@noble/hashes/sha2';
import { keccak_256 } from '@noble/hashes/sha3';
import { bytesToHex, hexToBytes, utf8ToBytes } from '@noble/hashes/utils';

/** A decision as `graph.decision` and `graph.check` answer it. */
export interface DecisionEvidence {
  readonly decisionId: string;
  readonly envelope: string;
  readonly signature: string;
}

/** A row of the registry of signers, as `graph.signers` answers it. Keep a copy: it is what a verification rests on. */
export interface DecisionSigner {
  readonly address: string;
  readonly keyId: string;
  readonly activatedAt: string;
  readonly retiredAt: string | null;
}

/** The content of an envelope. */
export interface DecisionEnvelope {
  readonly v: number;
  readonly portfolioRef: string;
  readonly positionsHash: string;
  readonly snapshotId: string;
  /** Limits in millionths of the portfolio. */
  readonly limits: Readonly<Record<string, number>>;
  readonly verdict: 'approve' | 'caution' | 'reject';
  readonly findingsHash: string;
  readonly methodologyScope: string;
  readonly methodologyVersion: string;
  readonly signerAddress: string;
  readonly keyId: string;
  readonly createdAt: string;
}

/** The results. The decision is genuine only if all are true. */
export interface DecisionResult {
  readonly isGenuine: boolean;
  /** The envelope is canonical, and its SHA-256 is the decision's id. */
  readonly envelopeIntact: boolean;
  /** The signature is that of the signer whom the envelope names. */
  readonly signatureValid: boolean;
  /** The registry lists that signer under the envelope's key id. */
  readonly signerRecognized: boolean;
  /** That signer might sign at the time of the decision. */
  readonly signerActiveAtIssuance: boolean;
  /** The content; null if the envelope is not intact. */
  readonly decision: DecisionEnvelope | null;
}

const MEMBERS = [
  'createdAt', 'findingsHash', 'keyId', 'limits', 'methodologyScope', 'methodologyVersion',
  'portfolioRef', 'positionsHash', 'signerAddress', 'snapshotId', 'v', 'verdict',
] as const;
const HASH = /^[0-9a-f]{64}$/;
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

/**
 * Verifies a decision against a registry of signers.
 *
 * @example
 * const [sealed, signers] = await Promise.all([client.graph.decision('0'.repeat(64)), client.graph.signers().toArray()]);
 * const result = verifyDecision(sealed.data, signers);
 * console.log(result.isGenuine, result.decision?.verdict);
 */
export function verifyDecision(evidence: DecisionEvidence, signers: readonly DecisionSigner[]): DecisionResult {
  const envelope = parsed(evidence.envelope);
  if (envelope === null) return { isGenuine: false, ...NOTHING };
  // The signature is verified over the hash of this envelope and not over the stated id, so an altered envelope fails twice.
  const hash = bytesToHex(sha256(utf8ToBytes(evidence.envelope)));
  const rows = signers.filter((it) => it.address.toLowerCase() === envelope.signerAddress && it.keyId === envelope.keyId);
  const createdAt = Date.parse(envelope.createdAt);
  const isActive = ({ activatedAt, retiredAt }: DecisionSigner): boolean =>
    Date.parse(activatedAt) <= createdAt && (retiredAt === null || createdAt < Date.parse(retiredAt));
  const envelopeIntact = hash === evidence.decisionId;
  const results = {
    envelopeIntact,
    signatureValid: signerOf(evidence.signature, hash) === envelope.signerAddress,
    signerRecognized: rows.length > 0,
    signerActiveAtIssuance: rows.some(isActive),
  };
  return { isGenuine: Object.values(results).every(Boolean), ...results, decision: envelopeIntact ? envelope : null };
}

const NOTHING = { envelopeIntact: false, signatureValid: false, signerRecognized: false, signerActiveAtIssuance: false, decision: null };

/** The envelope, if the text is its canonical form byte for byte. */
function parsed(text: string): DecisionEnvelope | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  const it = value as DecisionEnvelope;
  const names = Object.keys(it);
  const hasEach = names.length === MEMBERS.length && MEMBERS.every((name) => Object.hasOwn(it, name));
  return hasEach && isValid(it) && canonical(it) === text ? it : null;
}

function isValid(it: DecisionEnvelope): boolean {
  const texts = [it.portfolioRef, it.keyId, it.methodologyScope, it.methodologyVersion];
  const limits: unknown = it.limits;
  return (
    it.v === 1 &&
    [it.positionsHash, it.snapshotId, it.findingsHash].every((hash) => typeof hash === 'string' && HASH.test(hash)) &&
    ['approve', 'caution', 'reject'].includes(it.verdict) &&
    typeof it.signerAddress === 'string' && /^0x[0-9a-f]{40}$/.test(it.signerAddress) &&
    typeof it.createdAt === 'string' && INSTANT.test(it.createdAt) && !Number.isNaN(Date.parse(it.createdAt)) &&
    texts.every((text) => typeof text === 'string' && !/[\uD800-\uDFFF]/u.test(text)) &&
    typeof limits === 'object' && limits !== null && !Array.isArray(limits) &&
    Object.entries(limits).every(isLimit)
  );
}

function isLimit([name, value]: [string, unknown]): boolean {
  return /^maxSharePer[A-Z][A-Za-z]*$/.test(name) && Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 1_000_000;
}

/** Members sorted by name, no spaces (RFC 8785). */
function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = value as Record<string, unknown>;
  const names = Object.keys(members).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(members[name])}`).join(',')}}`;
}

/** The address that signed the id's 64 characters as `personal_sign` does; null if the signature is malformed. */
function signerOf(signature: string, id: string): string | null {
  if (!/^0x[0-9a-fA-F]{130}$/.test(signature)) return null;
  const bytes = hexToBytes(signature.slice(2));
  const recovery = (bytes[64] ?? 0) - 27;
  if (recovery !== 0 && recovery !== 1) return null;
  try {
    const parts = secp256k1.Signature.fromCompact(bytes.subarray(0, 64));
    // Anybody can derive the form with the higher s from a genuine signature.
    if (parts.hasHighS()) return null;
    const message = keccak_256(utf8ToBytes(`\x19Ethereum Signed Message:\n64${id}`));
    const key = parts.addRecoveryBit(recovery).recoverPublicKey(message).toRawBytes(false);
    return `0x${bytesToHex(keccak_256(key.subarray(1)).subarray(12))}`;
  } catch {
    return null;
  }
}
