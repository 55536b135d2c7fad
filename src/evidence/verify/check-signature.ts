import { keyIdOf, verifySignature } from '../../base/ed25519.ts'
import { parseTime } from '../../base/time.ts'
import type { ForeignBundle, Tier } from '../../model/evidence.ts'
import { signedText } from '../bundle.ts'
import { followRotations, replacedBefore } from '../statements/rotation.ts'
import { anchorVerdict, identityProblem, withinWindow } from '../statements/statement.ts'
import type { Findings } from './findings.ts'

/** A whole public key; with a host it counts only for what is of that host. */
export type Pin = string | { readonly host: string; readonly key: string }

export interface Trust {
  /** The lowest tier to accept; `signed` unless said. */
  readonly tier?: Tier
  /** The keys the verifier trusts. Without them a bundle proves only that it fits its own key. */
  readonly pins?: readonly Pin[]
  /** Rotation records that may lead from a pin to the key of the bundle. */
  readonly rotations?: readonly unknown[]
  /** Ids of keys that are no longer to be believed. */
  readonly revoked?: readonly string[]
}

/** The pins that count for this host, as keys. */
export const pinsFor = (hostId: string, pins: readonly Pin[]): string[] =>
  pins.flatMap((pin) => (typeof pin === 'string' ? pin : pin.host === hostId ? pin.key : []))

/** Checks who vouches for the bundle. */
export function checkSignature(bundle: ForeignBundle, trust: Trust, findings: Findings): void {
  checkTier(bundle, trust.tier ?? 'signed', findings)
  checkPin(bundle, trust, findings)
  const { public_key, signature } = bundle
  if (public_key !== undefined && signature !== undefined) {
    findings.pass('signature', 'key id')
    if (signature.key_id !== keyIdOf(public_key))
      findings.fail('key id', '/signature/key_id', 'the key id is not that of the public key')
    if (!verifySignature(public_key, signedText(bundle), signature.signature))
      findings.fail('signature', '/signature/signature', 'the signature does not verify')
  }
  checkIdentity(bundle, findings)
}

function checkTier(bundle: ForeignBundle, demanded: Tier, findings: Findings): void {
  findings.pass('tier')
  const signed = bundle.assurance === 'signed'
  for (const name of ['public_key', 'signature'] as const) {
    if (signed && bundle[name] === undefined) findings.fail('tier', `/${name}`, `a signed bundle has no \`${name}\``)
    if (!signed && bundle[name] !== undefined) findings.fail('tier', `/${name}`, `an unsigned bundle has a \`${name}\``)
  }
  if (!signed && bundle.host_identity !== undefined)
    findings.fail('tier', '/host_identity', 'an unsigned bundle has a `host_identity`')
  if (!signed && demanded === 'signed') findings.fail('tier', '/assurance', 'the bundle is not signed')
}

function checkPin(
  { host_id, public_key, created_at }: ForeignBundle,
  { pins, rotations, revoked }: Trust,
  findings: Findings,
): void {
  const keyId = keyIdOf(public_key ?? '') ?? ''
  if (revoked?.includes(keyId)) findings.fail('pin', '/public_key', 'the key of the bundle was revoked')
  const replaced = replacedBefore(keyId, created_at, rotations)
  if (replaced !== undefined)
    findings.fail('window', '/created_at', `key ${keyId} was replaced at ${replaced}, before the bundle was made`)
  if (pins === undefined) return
  findings.pass('pin')
  const { trusted, forkedAt } = followRotations(pinsFor(host_id, pins), rotations)
  if (public_key !== undefined && trusted.has(public_key)) return
  const fork = `key ${forkedAt} handed over to two keys, so neither is trusted`
  findings.fail('pin', '/public_key', forkedAt === null ? 'no pin leads to the key of the bundle' : fork)
}

function checkIdentity(bundle: ForeignBundle, findings: Findings): void {
  const { host_identity: identity, host_id, public_key } = bundle
  if (identity === undefined || public_key === undefined) return
  findings.pass('attestation', 'window')
  const problem = identityProblem(identity, { hostId: host_id, publicKey: public_key })
  if (problem !== undefined) findings.fail(problem.check, '/host_identity', problem.message)
  if (!withinWindow(parseTime(bundle.created_at), identity.valid_from, identity.valid_until))
    findings.fail('window', '/created_at', 'the bundle was made outside the window of the identity')
  const anchors = anchorVerdict(identity)
  if (anchors === 'pass') findings.pass('anchors')
  if (anchors === 'fail') findings.fail('anchors', '/host_identity/anchors', 'an anchor did not sign for this key')
}
