import { basename } from 'node:path'
import { operationGroup } from '../operation-command.ts'
import { readInput } from '../terminal/files.ts'
import { line } from '../terminal/io.ts'
import { printColumns } from '../terminal/table.ts'

export default operationGroup('artifacts', {
  add: {
    summary: 'put a file under the tenant, to be named as an attachment',
    input: {
      ...{ content: false, encoding: false, name: false },
      media_type: ['--type <media-type>', 'such as text/plain', 'needed'],
      id: ['--id <id>', 'its name, such as art_invoice_881 (default: a new one)'],
    },
    own: (command) => void command.argument('<file>', 'the bytes'),
    complete: (io, { command }) => {
      const path = String(command.processedArgs[0])
      return { content: readInput(io, path).toString('base64'), encoding: 'base64', name: basename(path) }
    },
    print: (io, { artifact_id, sha256, bytes }) => line(io, `${artifact_id}  ${bytes} bytes  ${sha256}`),
  },
  list: {
    print: (io, { artifacts }) =>
      printColumns(io, artifacts, 'none', {
        ARTEFACT: ({ artifact_id }) => artifact_id,
        TYPE: ({ media_type }) => media_type,
        BYTES: ({ bytes }) => String(bytes),
        NAME: ({ name }) => name ?? '–',
        SHA256: ({ sha256 }) => sha256,
      }),
  },
})
