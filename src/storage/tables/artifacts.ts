import type { ArtifactRecord } from '../../model/contract/registry.ts'
import { artifacts } from '../schema.ts'
import { recordsIn } from './records.ts'

/** What was put under a tenant to be named in requests. The bytes lie under their own hash. */
export const artifactRecords = recordsIn<ArtifactRecord>(artifacts, 'artifact', ({ artifact_id }) => ({ artifact_id }))
