import { parseTime } from '../../base/time.ts'
import type { ApprovalRequest } from '../../model/approval.ts'
import type { RunRecord } from '../../model/run.ts'
import { operationGroup } from '../operation-command.ts'
import { found, type Io, line } from '../terminal/io.ts'
import { printColumns } from '../terminal/table.ts'
import { followToEnd } from './follow.ts'
import { printEvent, printRun, printRunExplanation } from './print-run.ts'

const id = ['run-id', 'see `ambit runs list`'] as const

export default operationGroup('runs', {
  // Its command is `ambit run`.
  start: [],
  // Its command is `ambit evidence export --records`.
  export: [],
  list: {
    paged: true,
    input: {
      root: ['--root <run-id>', 'the runs of one tree'],
      agent: ['--agent <id>', 'of one agent'],
      status: ['--status <status>', 'that stand so'],
      grant: ['--grant <path>', 'with a grant at or below this path'],
    },
    print: (io, { runs }) =>
      printColumns(io, runs, 'none', {
        RUN: ({ run_id, depth }) => '  '.repeat(depth) + run_id,
        AGENT: ({ agent_id }) => agent_id,
        STATUS: ({ status }) => status,
        STARTED: ({ started_at }) => started_at,
        WHO: ({ subject }) => subject.id,
        GRANTS: ({ grants }) => grants.map(({ path }) => path).join(', ') || '–',
      }),
  },
  show: { input: { id }, print: (io, record) => printRun(io, record) },
  events: {
    command: 'watch',
    input: { id, since: ['--since <n>', 'only what came after the event with this number'] },
    print: (io, event) => printEvent(io, event),
  },
  explain: { input: { id }, print: (io, explained) => printRunExplanation(io, explained) },
  cancel: {
    input: { id, control: false },
    print: (io, { run_id }) => line(io, `${run_id}: its end is asked for`),
  },
  resume: {
    input: { id },
    follows: true,
    perform: async (resume, { input, ambit }, io) => {
      let record = await ambit.runs.show(input.id)
      const requests = await Promise.all(record.waits_for.map((each) => ambit.approvals.show(each).catch(() => null)))
      // It would only ask the same people again.
      if (requests.length > 0 && requests.every(isUndecided)) return waiting(io, record)
      record = await resume(input)
      // Who takes it up says so on its record; one that still waits stays as it is.
      for (let looks = 0; record.status === 'paused' && looks < looksMax; looks++) {
        await new Promise((resolve) => setTimeout(resolve, 100))
        record = await ambit.runs.show(record.run_id)
      }
      if (record.status !== 'paused') return followToEnd(io, ambit.runs, record.run_id)
      return waiting(io, record)
    },
    print: (io, record) => printRun(io, record),
  },
})

const looksMax = 20

const isUndecided = (request: ApprovalRequest | null): boolean =>
  request?.state === 'pending' && (parseTime(request.expires_at) ?? 0) > Date.now()

function waiting(io: Io, record: RunRecord): RunRecord {
  found(io)
  return record
}
