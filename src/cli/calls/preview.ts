import { singleOperation } from '../operation-command.ts'
import { found, line, paint, plain } from '../terminal/io.ts'
import { printFields } from '../terminal/table.ts'
import { callWords } from './call.ts'
import { denialFields } from './call-result.ts'

export default singleOperation('preview', {
  input: { ...callWords, id: ['--id <id>', 'the id the call would have'] },
  help: 'Nothing is called or recorded. Exit 0: it would be allowed. 1: it would not.',
  perform: async (preview, { input }, io) => {
    const told = await preview(input)
    if (told.outcome !== 'allowed') found(io)
    return told
  },
  print: (io, { outcome, gate, denial, matched_rules }, { input: { capability } }) => {
    const style = outcome === 'allowed' ? 'green' : outcome === 'denied' ? 'red' : 'yellow'
    line(io, `${paint(io, ['bold', style], `WOULD BE ${outcome.toUpperCase()}`)}  ${plain(capability)}`)
    const next = denial?.details?.['required_next_action']
    printFields(io, [
      ['gate', gate ?? ''],
      ...(denial === null ? [] : denialFields(denial)),
      ['rules', ...matched_rules],
      ['next', typeof next === 'string' ? next : ''],
    ])
  },
})
