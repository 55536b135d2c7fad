import { z } from 'zod'
import { keyRotation } from './evidence.ts'

/** How the keys of a file follow from its passphrase; null for a file without. `check` tells a wrong passphrase from damage. */
const kdf = z.object({ name: z.literal('scrypt-32768-8-3'), salt: z.string(), check: z.string() }).nullable()
export type Kdf = NonNullable<z.infer<typeof kdf>>

/** The keys of one host. What is secret is base64, encrypted where there is a passphrase. */
export const keyFile = z.object({
  v: z.literal('ambit-key-v1'),
  host_id: z.string(),
  kdf,
  current: z.object({ key_id: z.string(), public_key: z.string(), created_at: z.string(), private: z.string() }),
  digest_key: z.string(),
  history: z.array(keyRotation),
  revoked: z.array(z.string()),
})
export type KeyFile = z.infer<typeof keyFile>

/** One secret as it lies in the file, its value encrypted. */
const secretEntry = z.object({ tenant: z.string(), name: z.string(), created_at: z.string(), value: z.string() })
export type SecretEntry = z.infer<typeof secretEntry>

export const secretsFile = z.object({ v: z.literal('ambit-secrets-v1'), kdf, entries: z.array(secretEntry) })
export type SecretsFile = z.infer<typeof secretsFile>
