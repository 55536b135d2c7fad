import { Failure } from '../../base/failure.ts'
import { sha256 } from '../../base/hash.ts'
import { limits } from '../../base/limits.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { type Change, row, sql, type Work } from '../work.ts'

/** Keeps bytes under their own SHA-256 and answers it; the same bytes twice are kept once. */
export const putBlob = (bytes: Uint8Array): Change<string> =>
  function* (tenant) {
    if (bytes.byteLength > limits.blobBytesMax) {
      throw new Failure('blob.too_large', `${bytes.byteLength} bytes, at most ${limits.blobBytesMax} are kept`)
    }
    const hash = sha256(bytes)
    const insert =
      'INSERT INTO blobs (tenant_id, sha256, bytes) VALUES (?, ?, ?) ON CONFLICT (tenant_id, sha256) DO NOTHING'
    yield [sql(insert, tenant, hash, bytes)]
    return hash
  }

/** The bytes with this hash, or `blob.not_found`. Bytes that no longer have it are as good as lost, and said to be. */
export function* getBlob(tenant: TenantId, hash: string): Work<Uint8Array> {
  const found = yield* row('SELECT bytes FROM blobs WHERE tenant_id = ? AND sha256 = ?', tenant, hash)
  const bytes = found?.['bytes']
  if (!(bytes instanceof Uint8Array)) throw new Failure('blob.not_found', 'no bytes with this hash', { hash })
  if (sha256(bytes) !== hash)
    throw new Failure('blob.corrupt', 'the stored bytes do not have their hash', { hash }, 'restore a backup')
  return bytes
}
