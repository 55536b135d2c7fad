import { jsonSchemaOf, listSchemas } from '../model/schemas.ts'
import type { Register } from './command.ts'
import { printJson } from './io.ts'
import { printTable } from './table.ts'

const register: Register = (schema, io) => {
  schema
    .command('list')
    .description('every contract there is')
    .option('--json', 'print JSON for programs')
    .action((options: { json?: boolean }) => {
      const entries = listSchemas()
      if (options.json) return printJson(io, entries)
      printTable(
        io,
        ['CONTRACT', 'WHAT IT IS'],
        entries.map((entry) => [entry.name, entry.description]),
      )
    })

  schema
    .command('show <name>')
    .description('the JSON Schema (2020-12) of one contract')
    .option('--json', 'accepted for uniformity: the answer is JSON anyway')
    .action((name: string) => printJson(io, jsonSchemaOf(name)))
}
export default register
