import { Failure } from '../../base/failure.ts'
import { sha256 } from '../../base/hash.ts'
import { formatTime } from '../../base/time.ts'
import type { ArtifactRecord } from '../../model/contract/registry.ts'
import { putBlob } from '../../storage/tables/blobs.ts'
import { artifactRecords } from '../../storage/tables/registry.ts'
import { recordAs } from '../evidence/record.ts'
import { adminEvent } from '../identity/admin.ts'
import { type Caller, demandName } from '../identity/caller.ts'
import { tenantOf } from '../identity/tenants.ts'
import type { Runtime } from '../runtime.ts'

interface NewArtifact {
  readonly id?: string | undefined
  readonly media_type: string
  readonly content: string
  readonly encoding?: 'utf8' | 'base64' | undefined
  readonly name?: string | undefined
}

/** Puts bytes under the tenant, so that requests can name them. The record and its evidence are one transaction. */
export async function addArtifact(ambit: Runtime, caller: Caller, given: NewArtifact): Promise<ArtifactRecord> {
  demandName(caller)
  const { media_type, content, encoding = 'utf8', name = null } = given
  const bytes = Buffer.from(content, encoding)
  if (bytes.toString(encoding) !== content)
    throw new Failure('field.invalid', `\`content\` is not ${encoding}`, { pointer: '/content' })
  const record: ArtifactRecord = {
    artifact_id: given.id ?? ambit.ids.next('art'),
    ...{ media_type, name, sha256: sha256(bytes), bytes: bytes.length },
    added_at: formatTime(ambit.clock.now()),
    added_by: caller.subject.id,
  }
  const { host_id } = await tenantOf(ambit, caller)
  const { artifact_id, sha256: hash } = record
  const event = adminEvent(host_id, 'ambit.artifact.added', { artifact_id, sha256: hash, bytes: bytes.length })
  await recordAs(ambit, caller, host_id, [event], function* (tenant) {
    yield* putBlob(bytes)(tenant)
    yield* artifactRecords.add(record)(tenant)
  })
  return record
}
