import type { PackRecord } from '../../model/contract/registry.ts'
import { packs } from '../schema.ts'
import { recordsIn } from './records.ts'

/** Versions of context packs and catalogs; what is published is never changed. */
export const packRecords = recordsIn<PackRecord>(packs, 'pack', ({ ref }) => ({ ref }))
