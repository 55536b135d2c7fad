import { canonical, type Json } from '../../base/canonical.ts'
import { keyIdOf, type Signer, verifySignature } from '../../base/ed25519.ts'
import { Failure } from '../../base/failure.ts'
import { objectHash } from '../../base/hash.ts'
import { recent } from '../../base/recent.ts'
import { type IdentityClaim, identityClaim, type PrincipalLink } from '../../model/contract/context.ts'

/** What a claim is about: it must say the same. */
export interface ClaimFacts {
  readonly run_id: string
  readonly tenant_id: string
  readonly agent_urn: string
  readonly chain: readonly PrincipalLink[]
  readonly session_id?: string | undefined
}

interface Issuing extends ClaimFacts {
  readonly signer: Signer
  readonly issuer: string
  readonly nowMs: number
  readonly ttlMs: number
  readonly scopes: IdentityClaim['scopes']
}

/** A claim of our own for one run: signed, and good for as long as the run may be active. */
export function issueClaim({ signer, issuer, nowMs, ttlMs, scopes, ...facts }: Issuing): IdentityClaim {
  const body = {
    version: 'ctxid/1' as const,
    iss: issuer,
    sub: facts.agent_urn,
    run_id: facts.run_id,
    tenant_id: facts.tenant_id,
    principal_chain: [...facts.chain],
    scopes,
    nbf: Math.floor(nowMs / 1_000),
    exp: Math.ceil((nowMs + ttlMs) / 1_000),
    kid: signer.keyId,
  }
  return { ...body, claim_hash: objectHash(body as Json), signature: signer.sign(canonical(body as Json)) }
}

/** Signatures that were verified, by claim hash and key: each is worked out once. */
const verified = recent<string, boolean>(1_000)

/** Refuses a claim that is incomplete, not ours, not now, or about another run. `data.reason` says which. */
export function verifyClaim(
  given: unknown,
  facts: ClaimFacts & { readonly keys: readonly string[]; readonly nowMs: number },
): IdentityClaim {
  const read = identityClaim.safeParse(given)
  if (!read.success) throw badClaim('incomplete')
  const { claim_hash, signature = '', ...body } = read.data
  if (objectHash(body as Json) !== claim_hash) throw badClaim('hash')
  const key = facts.keys.find((each) => keyIdOf(each) === body.kid)
  if (key === undefined) throw badClaim('kid')
  const name = `${claim_hash} ${signature}`
  if (!verified.get(name)) {
    if (!verifySignature(key, canonical(body as Json), signature)) throw badClaim('signature')
    verified.set(name, true)
  }
  demandCurrent(read.data, facts)
  return read.data
}

/** Asked at entry and at every call: the claim is good now, and is about this run. */
function demandCurrent(claim: IdentityClaim, facts: ClaimFacts & { readonly nowMs: number }): void {
  const { run_id, tenant_id, agent_urn, chain, session_id, nowMs } = facts
  if (claim.nbf * 1_000 > nowMs) throw badClaim('not_yet_valid')
  if (claim.exp * 1_000 <= nowMs) throw badClaim('expired')
  if (claim.run_id !== run_id) throw badClaim('run')
  if (claim.session_id !== undefined && claim.session_id !== session_id) throw badClaim('session')
  if (claim.tenant_id !== tenant_id) throw badClaim('tenant')
  if (claim.sub !== agent_urn) throw badClaim('subject')
  if (canonical(claim.principal_chain as Json) !== canonical(chain as Json)) throw badClaim('chain')
}

const badClaim = (reason: string): Failure =>
  new Failure('claim.invalid', `the identity claim is not valid: ${reason.replaceAll('_', ' ')}`, { reason })
