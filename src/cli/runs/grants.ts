import { operationGroup } from '../operation-command.ts'
import { line } from '../terminal/io.ts'
import { printColumns } from '../terminal/table.ts'

export default operationGroup('grants', {
  revoke: {
    input: {
      by: ['by', 'grant, run, subject or path'],
      target: ['target', 'its id, or the path'],
      reason: ['--reason <text>', 'why: it is kept in evidence'],
      cancel: ['--cancel', 'also end the runs that hold them'],
    },
    print: (io, { ended, ancestors_left, cancelled }) => {
      printColumns(io, ended, 'no open run holds any of these', {
        ENDED: ({ grant_id }) => grant_id,
        PATH: ({ path }) => path,
        RUN: ({ run_id }) => run_id,
      })
      for (const { path, run_id } of ancestors_left) line(io, `still covered by ${path} of ${run_id}`)
      for (const run of cancelled) line(io, `${run}: its end is asked for`)
    },
  },
})
