// Verifies a decision independently of the service: the id must be the envelope's hash, and its signature must be the signer's.
import { createHash } from 'node:crypto';
import { verifyMessage } from 'ethers';

/** Whether the envelope hashes to the decision's id, and the id was signed by the address that both the response and the envelope name. */
export function isGenuine({ envelope, decisionId, signature, signerAddress }) {
  const hash = createHash('sha256').update(envelope).digest('hex');
  const signer = verifyMessage(decisionId, signature).toLowerCase();
  return hash === decisionId && signer === signerAddress.toLowerCase() && JSON.parse(envelope).signerAddress.toLowerCase() === signer;
}
