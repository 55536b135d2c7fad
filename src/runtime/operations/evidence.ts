import { Failure } from '../../base/failure.ts'
import { defined } from '../../base/object.ts'
import type { Checkpoint, EvidenceEvent } from '../../model/evidence.ts'
import { listCheckpoints } from '../../storage/tables/checkpoints.ts'
import { searchEvidence, showEvent } from '../evidence/export.ts'
import { purgeEvidence } from '../evidence/purge.ts'
import { exportFor } from '../evidence/reading.ts'
import { readerOf } from '../identity/caller.ts'
import { type HandlersOf, timeOf } from './context.ts'
import { explain } from './explain.ts'

export const evidenceHandlers: HandlersOf<'evidence' | 'explain'> = {
  evidence: {
    list: async ({ ambit, caller }, { limit, cursor, since, until, ...filter }) => {
      const times = { since: timeOf(ambit, since, '/since'), until: timeOf(ambit, until, '/until') }
      const query = defined({ ...filter, ...times })
      const { items, next } = await searchEvidence(ambit, caller, query, defined({ limit, cursor }))
      return defined({ events: items.map(({ body }) => JSON.parse(body) as EvidenceEvent), next })
    },
    show: ({ ambit, caller }, { id }) => showEvent(ambit, caller, id),
    export: ({ ambit, caller }, { correlation }) => exportFor(ambit, readerOf(caller), correlation),
    heads: async ({ ambit, caller }, options) => {
      const { items, next } = await ambit.store.read(() => listCheckpoints(caller.tenant, defined(options)))
      return defined({ heads: items.map(({ body }) => JSON.parse(body) as Checkpoint), next })
    },
    purge: async ({ ambit, caller }, { correlation, before, indeterminate = false, preview = false }) => {
      const age = timeOf(ambit, before, '/before')
      if ((correlation === undefined) === (age === undefined))
        throw new Failure('field.invalid', 'name either `correlation` or `before`', { pointer: '' })
      const wish = correlation === undefined ? { before: age ?? '' } : { correlation }
      const report = await purgeEvidence(ambit, caller, { ...wish, evenIndeterminate: indeterminate }, { preview })
      return { purged: !preview, ...report, kept: [...report.kept] }
    },
  },
  explain,
}
