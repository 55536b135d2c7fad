import type { RunRecord } from '../../model/run.ts'
import { operationGroup } from '../operation-command.ts'
import { found, type Io, line, paint } from '../terminal/io.ts'
import { printColumns } from '../terminal/table.ts'
import { followRun, printEvent, printRun } from './follow.ts'

const id = ['run-id', 'see `ambit runs list`'] as const

export default operationGroup('runs', {
  // Its command is `ambit run`.
  start: [],
  list: {
    summary: 'runs, newest first',
    paged: true,
    input: {
      root: ['--root <run-id>', 'the runs of one tree'],
      agent: ['--agent <id>', 'of one agent'],
      status: ['--status <status>', 'that stand so'],
      since: ['--since <time>', 'from this time on: RFC 3339, or an age such as 7d'],
      until: ['--until <time>', 'before this time: RFC 3339, or an age such as 1h'],
      grant: ['--grant <path>', 'with a grant at or below this path'],
    },
    print: (io, { runs, next }) => {
      printColumns(io, runs as RunRecord[], 'none', {
        RUN: ({ run_id, depth }) => '  '.repeat(depth) + run_id,
        AGENT: ({ agent_id }) => agent_id,
        STATUS: ({ status }) => status,
        STARTED: ({ started_at }) => started_at,
        WHO: ({ subject }) => subject.id,
        GRANTS: ({ grants }) => grants.map(({ path }) => path).join(', ') || '–',
      })
      if (next !== undefined) io.err(`${paint(io, 'dim', `more: --cursor ${next}`)}\n`)
    },
  },
  show: { summary: 'one run: how it stands, what it might touch, what it used', input: { id }, print: printed },
  events: {
    command: 'watch',
    summary: 'print what happens in a run and below it, until it has ended',
    input: { id, since: ['--since <n>', 'only what came after the event with this number'] },
    print: (io, event) => printEvent(io, event),
  },
  cancel: {
    summary: 'end a run and all below it',
    input: { id, control: false },
    print: (io, { run_id }) => line(io, `${run_id}: its end is asked for`),
  },
  resume: {
    summary: 'take up a run that waits or was left, and drive it to its end or next pause',
    input: { id },
    perform: async (resume, { input, ambit }, io) => {
      let record = (await resume(input)) as RunRecord
      // Who takes it up says so on its record; one that still waits stays as it is.
      for (let looks = 0; record.status === 'paused' && looks < looksMax; looks++) {
        await new Promise((resolve) => setTimeout(resolve, 100))
        record = await ambit.runs.show(record.run_id)
      }
      const end = record.status === 'paused' ? record : await followRun(ambit.runs, record)
      if (end.status !== 'completed') found(io)
      return end
    },
    print: printed,
  },
})

const looksMax = 20

function printed(io: Io, record: unknown): void {
  printRun(io, record as RunRecord)
}
