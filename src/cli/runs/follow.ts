import { followRun } from '../../client/run-handle.ts'
import type { RunEvent, RunRecord } from '../../model/run.ts'
import type { Runs } from '../../operations/ambit.ts'
import { found, type Io, progress } from '../terminal/io.ts'

/** Follows a run until it has ended or waits for people. A signal ends the watching: the run itself is left as it stands. */
export async function followToEnd(
  io: Io,
  runs: Runs,
  id: string,
  show?: (event: RunEvent) => void,
): Promise<RunRecord> {
  const off = io.onSignal(() => {
    found(io)
    io.err(`${id} is not ended by this: it goes on at a host that serves, or with \`ambit runs resume ${id}\`;\n`)
    io.err(`  \`ambit runs cancel ${id}\` ends it\n`)
  })
  try {
    const record = await followRun(runs, id, show && { show })
    if (record.status !== 'completed') found(io)
    return record
  } finally {
    off()
    progress(io)
  }
}
