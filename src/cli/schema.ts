import { jsonSchemaOf, listSchemas } from '../model/schemas.ts'
import { printJson, type Register } from './terminal/io.ts'
import { printColumns } from './terminal/table.ts'

export default ((schema, io) => {
  schema
    .command('list')
    .description('every contract there is')
    .option('--json', 'print JSON for programs')
    .action(({ json }: { json?: boolean }) => {
      if (json) return printJson(io, listSchemas())
      printColumns(io, listSchemas(), 'none', {
        CONTRACT: ({ name }) => name,
        'WHAT IT IS': ({ description }) => description,
      })
    })

  schema
    .command('show <name>')
    .description('the JSON Schema (2020-12) of one contract')
    .option('--json', 'accepted for uniformity: the answer is JSON anyway')
    .action((name: string) => printJson(io, jsonSchemaOf(name)))
}) satisfies Register
