import { operationGroup } from '../operation-command.ts'
import { found, line } from '../terminal/io.ts'
import { printColumns, printFields } from '../terminal/table.ts'

const id = ['entry-id', 'see `ambit memory list`'] as const
const scope = ['scope', 'a namespace path'] as const
const collection = ['--kind <kind>', 'the provider that keeps it (default: memory)'] as const
const reason = ['--reason <text>', 'why: evidence keeps a keyed digest of it'] as const

export default operationGroup('memory', {
  list: {
    paged: true,
    input: { scope, collection },
    print: (io, { entries }) =>
      printColumns(io, entries, 'none in this scope itself', {
        ENTRY: ({ entry_id }) => entry_id,
        STATE: ({ state }) => state,
        TOPICS: ({ topics }) => topics.join(', '),
        WRITTEN: ({ created_at, agent_id }) => `${created_at} by ${agent_id}`,
        CONTENT: ({ content }) => content.slice(0, 60),
      }),
  },
  read: {
    input: { id, collection },
    print: (io, { entry_id, scope, state, topics, content, history }) => {
      line(io, entry_id)
      printFields(io, [
        ['scope', scope],
        ['state', state],
        ['topics', topics.join(', ')],
        ['content', content],
        ['history', ...history.map(stepText)],
      ])
    },
  },
  forget: {
    input: { id, collection, reason },
    print: (io, { entry_id, state }) => line(io, `${entry_id}: ${state}`),
  },
  erase: {
    input: { scope, recursive: ['--recursive', 'also what lies below it'], reason },
    print: (io, { receipt_id, status, by_resource, failed }) => {
      if (status === 'partial') found(io)
      line(io, `${receipt_id}: ${status}`)
      const counts = Object.entries(by_resource).map(([kind, found]) => [
        kind,
        Object.entries(found)
          .map(([what, count]) => `${count} ${what}`)
          .join(', '),
      ])
      printFields(io, counts as [string, string][])
      if (failed.length > 0) line(io, `not erased by ${failed.join(', ')}: repeat it`)
    },
  },
})

/** What was done, by whom, and in which run. */
const stepText = (step: Readonly<Record<string, unknown>>): string =>
  ['at', 'action', 'subject', 'agent_id', 'run_id']
    .flatMap((name) => step[name] ?? [])
    .map(String)
    .join('  ')
