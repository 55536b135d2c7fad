// Governed runs that are on record, and hands that change what is on record of them behind the back of the runtime.

import type { Json } from '../../src/base/canonical.ts'
import { recordHash } from '../../src/evidence/record-hash.ts'
import type { DecisionRecord } from '../../src/model/contract/decision.ts'
import { tenantId } from '../../src/model/identity/tenant-id.ts'
import { readProgress } from '../../src/runs/plan/progress.ts'
import { envelopeHash, transcriptsOf } from '../../src/runs/record/pins.ts'
import type { StoredRun } from '../../src/runs/replay/stored.ts'
import { openStored } from '../../src/runtime/contract/replay.ts'
import { callerOf, operator } from '../../src/runtime/identity/caller.ts'
import type { OperationContext } from '../../src/runtime/operations/context.ts'
import { rows, text } from '../../src/storage/work.ts'
import type { GivenInvoked } from './invoked.ts'

/** A caller in a process that can open no host: nothing is offered, and nothing can be called. */
export function withoutHost({ runtime }: Pick<GivenInvoked, 'runtime'>): OperationContext {
  const caller = operator(tenantId('tenant_fjordvik'))
  const host = () => Promise.reject(new Error('a replay opens no host'))
  return { ambit: runtime, caller, by: callerOf(caller), host }
}

export const storedRun = (given: Pick<GivenInvoked, 'runtime'>, runId: string): Promise<StoredRun> =>
  openStored(withoutHost(given))(runId)

type Table = 'run_events' | 'decision_records' | 'runs'

/** Changes the JSON in a column of the rows that `edit` answers something for. */
export async function change(
  { runtime }: Pick<GivenInvoked, 'runtime'>,
  table: Table,
  edit: (value: never) => unknown,
  column: 'body' | 'facts' = 'body',
): Promise<void> {
  const found = await runtime.database.read(() => rows(`SELECT ${column} FROM ${table} WHERE ${column} IS NOT NULL`))
  for (const each of found) {
    const before = text(each, column)
    const after = edit(JSON.parse(before) as never)
    if (after === undefined) continue
    const update = `UPDATE ${table} SET ${column} = ? WHERE ${column} = ?`
    await runtime.database.write(() => rows(update, JSON.stringify(after), before))
  }
}

/** The same run as it would be on record had all of it been written so, by somebody who can seal evidence. */
export function rewritten(stored: StoredRun, more: Partial<StoredRun>): StoredRun {
  const made = { ...stored, ...more }
  const transcripts = transcriptsOf(readProgress(made.events)).map(({ hash }) => hash)
  const versions: DecisionRecord[] = []
  for (const version of made.versions) {
    const { pins } = version.ambit
    const own = { envelope_hash: envelopeHash(made.envelope), facts_hash: made.factsHash }
    const kept = pins && { pins: { ...own, transcripts: transcripts.slice(0, pins.transcripts.length) } }
    const linked = {
      ...version,
      ambit: { ...version.ambit, ...kept },
      previous_hash: versions.at(-1)?.record_hash ?? null,
    }
    versions.push({ ...linked, record_hash: recordHash(linked) } as DecisionRecord)
  }
  const events = made.events.map((event) =>
    event.type === 'compile.done' ? { ...event, data: { ...event.data, facts_hash: made.factsHash as Json } } : event,
  )
  return { ...made, events, versions, sealed: new Set(versions.map(({ record_hash }) => record_hash)) }
}
