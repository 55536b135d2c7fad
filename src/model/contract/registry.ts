import { z } from 'zod'
import { ownTime } from '../evidence.ts'
import { line } from '../text.ts'
import { contextPack, packCatalog } from './pack.ts'

/** One version of a pack or catalog, as it was published. */
export const packRecord = z.strictObject({
  ref: z.string(),
  kind: z.enum(['pack', 'catalog']),
  hash: z.string(),
  published_at: ownTime,
  published_by: z.string(),
  document: z.union([contextPack, packCatalog]),
})
export type PackRecord = z.infer<typeof packRecord>

/** Bytes of a tenant that requests name as attachments. */
export const artifactRecord = z.strictObject({
  artifact_id: z.string(),
  media_type: line,
  sha256: z.string(),
  bytes: z.int().min(0),
  name: line.nullable(),
  added_at: ownTime,
  added_by: z.string(),
})
export type ArtifactRecord = z.infer<typeof artifactRecord>

/** What is wrong with a pack, or nothing. */
export const packReport = z.strictObject({
  ref: z.string().nullable(),
  hash: z.string().nullable(),
  signed: z.boolean(),
  problems: z.array(z.strictObject({ pointer: z.string(), message: z.string(), code: z.string() })),
})
export type PackReport = z.infer<typeof packReport>
