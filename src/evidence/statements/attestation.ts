import { stable } from '../../base/canonical.ts'
import { keyIdOf, verifySignature } from '../../base/ed25519.ts'
import { parseTime } from '../../base/time.ts'
import type { HostIdentity } from '../../model/evidence.ts'
import { asJson } from '../json.ts'
import { type Refused, refused } from '../verify/verified.ts'
import { verifySshSignature } from './sshsig.ts'

const anchorNamespace = 'chp-host-anchor'

/** Refused unless the identity claims exactly this key for this host, under its own signature. */
export function identityProblem(
  identity: HostIdentity,
  { hostId, publicKey }: { readonly hostId: string; readonly publicKey: string },
): Refused<'attestation' | 'key id'> | undefined {
  const { signature, ...claim } = identity
  if (identity.host_id !== hostId) return refused('attestation', 'the identity names another host')
  if (identity.public_key !== publicKey) return refused('attestation', 'the identity names another key')
  if (identity.key_id !== keyIdOf(publicKey)) return refused('key id', "the identity's key id is not that of its key")
  if (verifySignature(publicKey, stable(asJson(claim)), signature)) return undefined
  return refused('attestation', "the identity's signature does not verify")
}

/** True if the instant lies in the window, both ends included; null is an open end, a time that is none is outside. */
export function withinWindow(at: number | undefined, from: string | null, until: string | null): boolean {
  const start = from === null ? Number.NEGATIVE_INFINITY : parseTime(from)
  const end = until === null ? Number.POSITIVE_INFINITY : parseTime(until)
  return at !== undefined && start !== undefined && end !== undefined && start <= at && at <= end
}

/** What the identity's `did` anchors prove; anchors of other types are skipped and prove nothing. */
export function anchorVerdict(identity: HostIdentity): 'pass' | 'fail' | 'absent' {
  const dids = (identity.anchors ?? []).filter((anchor) => anchor.type === 'did')
  if (dids.length === 0) return 'absent'
  const message = stable({ chp_public_key: identity.public_key, host_id: identity.host_id })
  const good = dids.every((anchor) =>
    verifySshSignature({
      did: anchor['did'],
      signature: anchor['countersignature'],
      namespace: anchorNamespace,
      message,
    }),
  )
  return good ? 'pass' : 'fail'
}
