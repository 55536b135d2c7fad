import type { ArtifactRecord, PackRecord } from '../../model/contract/registry.ts'
import { artifacts, packs } from '../schema.ts'
import { recordsIn } from './records.ts'

/** Versions of context packs and catalogs; what is published is never changed. */
export const packRecords = recordsIn<PackRecord>(packs, 'pack', ({ ref }) => ({ ref }))

/** What was put under a tenant to be named in requests. The bytes lie under their own hash. */
export const artifactRecords = recordsIn<ArtifactRecord>(artifacts, 'artifact', ({ artifact_id }) => ({ artifact_id }))
