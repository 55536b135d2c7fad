import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tenantId } from '../src/model/identity/tenant-id.ts'
import { record } from '../src/runtime/evidence/record.ts'
import { operator } from '../src/runtime/identity/caller.ts'
import { createTenant } from '../src/runtime/identity/tenants.ts'
import { openAmbit } from '../src/runtime/runtime.ts'
import { type Bench, byTurns, type Row, rate } from './measure.ts'
import { draftOf } from './records.ts'
import { appendAll, openBenchStore } from './sqlite.ts'

/** The way of the product, with its checks, redaction and signed heads, beside the same events given to the store. */
const bench: Bench = async () => {
  const rows = []
  for (const bytes of [300, 1600]) rows.push(await rowOf(bytes, 1, 400), await rowOf(bytes, 100, 40))
  return rows
}
export default bench

async function rowOf(bytes: number, perCommit: number, commits: number): Promise<Row> {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-bench-'))
  const ambit = await openAmbit({ folder, env: {} })
  const store = await openBenchStore(join(folder, 'bare.db'))
  const me = operator(tenantId('northlight'))
  const batches = () =>
    Array.from({ length: commits }, () => Array.from({ length: perCommit }, () => draftOf(bytes, 1000)))
  const timed = (work: (drafts: ReturnType<typeof batches>) => Promise<void>) => {
    const drafts = batches()
    return rate(commits * perCommit, () => work(drafts))
  }
  const ours = () =>
    timed(async (drafts) => {
      for (const events of drafts) await record(ambit, me, events)
    })
  const peer = () => timed((drafts) => appendAll(store, drafts))
  try {
    await createTenant(ambit, { id: me.tenant })
    await ours()
    await peer()
    const measured = await byTurns(5, ours, peer)
    const name = `record(), ${bytes} B, ${perCommit} per commit, full`
    return { name, unit: 'events/s', peerName: 'sealed append', ...measured, goal: 'for information', met: true }
  } finally {
    await store.close()
    await ambit.close()
    rmSync(folder, { recursive: true })
  }
}
