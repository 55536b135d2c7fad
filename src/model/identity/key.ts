import { z } from 'zod'
import { hash, keyId, keyRotation, ownTime, publicKey } from '../evidence.ts'
import { capabilityScope, form, id, line, minted } from '../text.ts'

const apiKeyId = minted('key')

/** No scopes means every capability. `replaced_by` is the key that takes its place while it is rotated. */
export const apiKey = z.strictObject({
  key_id: apiKeyId,
  principal_id: id,
  name: line,
  scopes: z.array(capabilityScope),
  secret_hash: hash,
  created_at: ownTime,
  expires_at: ownTime.nullable(),
  revoked_at: ownTime.nullable(),
  replaced_by: apiKeyId.nullable(),
})

export type ApiKey = z.infer<typeof apiKey>

export const issuedKey = z.strictObject({
  key_id: apiKeyId,
  principal_id: id,
  secret: form(/^[!-~]{16,256}$/u, '16 to 256 visible ASCII characters'),
})

export type IssuedKey = z.infer<typeof issuedKey>

/** Open: the secret halves and the seal over the file lie beside it. */
export const signingKey = z.looseObject({
  v: z.literal('ambit-key-v1'),
  host_id: id,
  current: z.looseObject({ key_id: keyId, public_key: publicKey, created_at: ownTime }),
  history: z.array(keyRotation),
  revoked: z.array(keyId),
})
