import { z } from 'zod'
import { capabilityDescriptor } from '../capability.ts'
import { hostIdentity, keyId, keyRotation, publicKey, tier } from '../evidence.ts'
import { jsonObject } from '../json.ts'
import { line } from '../text.ts'
import { wireId } from './correlation.ts'

const assurance = z.enum(['none', ...tier.options])

const keyMembers = {
  key_id: keyId.optional(),
  public_key: publicKey.optional(),
  host_identity: hostIdentity.optional(),
}

export const hostDescriptor = z.strictObject({
  id: wireId,
  version: line,
  protocol_version: z.enum(['0.1', '0.2']),
  kind: line,
  capabilities: z.array(capabilityDescriptor),
  evidence: z.looseObject({ store: line, append_only: z.boolean() }),
  supported_versions: z.array(line).optional(),
  host_version: line.optional(),
  assurance: assurance.optional(),
  ...keyMembers,
  metadata: jsonObject.optional(),
})

/** Histories are left out when empty. */
export const identityDocument = z.strictObject({
  assurance,
  ...keyMembers,
  key_history: z.array(keyRotation).min(1).optional(),
  revoked_keys: z.array(keyId).min(1).optional(),
})

export type HostDescriptor = z.infer<typeof hostDescriptor>
export type IdentityDocument = z.infer<typeof identityDocument>
