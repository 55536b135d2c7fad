import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Json } from '../../base/canonical.ts'
import { differencesOf } from '../../compile/diff.ts'
import type { Operable } from '../../operations/ambit.ts'
import { operations as table } from '../../operations/table.ts'
import { atAmbit, withAmbit } from '../ambit.ts'
import { addNew } from '../new-file.ts'
import { operationGroup, type Use } from '../operation-command.ts'
import { found, type Io, line, paint, plain, printJson, type Register } from '../terminal/io.ts'
import { printColumns, printFields } from '../terminal/table.ts'
import { template } from './pack-template.ts'
import { readDocument } from './read.ts'

const file = {
  own: (command: Use['command']) =>
    void command.argument('<file>', 'a pack or catalog: YAML, JSON, or a module that exports one'),
  complete: async (io: Io, { command }: Pick<Use, 'command'>) => ({
    document: await readDocument(io, String(command.processedArgs[0])),
  }),
}
const beside = ['--beside <ref>', 'a published version that its references may lead to'] as const
const input = { document: false as const, beside }

const operations = operationGroup('packs', {
  validate: {
    ...file,
    input,
    summary: 'say everything that is wrong with a pack, each with its place',
    perform: async (validate, { input }, io) => {
      const report = await validate(input)
      if (report.problems.length > 0) found(io)
      return report
    },
    print: (io, { ref, hash, signed, problems }) => {
      line(
        io,
        paint(
          io,
          problems.length === 0 ? 'green' : 'red',
          `${problems.length === 0 ? 'GOOD' : 'NOT GOOD'}  ${ref ?? ''}`,
        ),
      )
      if (hash !== null)
        printFields(io, [
          ['hash', hash],
          ['signed', signed ? 'yes' : 'no'],
        ])
      for (const { pointer, message } of problems) line(io, `  ${plain(pointer)}  ${plain(message)}`)
    },
  },
  sign: {
    ...file,
    input: { document: false as const, beside: false as const },
    summary: "sign a pack with the tenant's key, and print it as JSON",
    print: (io, { document }) => printJson(io, document),
  },
  publish: {
    ...file,
    input,
    summary: 'publish a signed pack for good; the same again changes nothing',
    print: (io, { ref, hash }) => line(io, `published ${ref}  ${hash}`),
  },
  list: {
    print: (io, { packs }) =>
      printColumns(io, packs, 'none: `ambit pack new <id>` writes one', {
        PACK: ({ ref }) => ref,
        KIND: ({ kind }) => kind,
        PUBLISHED: ({ published_at, published_by }) => `${published_at} by ${published_by}`,
      }),
  },
  show: { input: { ref: ['ref', 'such as `ctxpack.desk@1.0.0`'] } },
})

const register: Register = (pack, io) => {
  operations(pack, io)
  addNew(pack, io, {
    named: 'name of a pack',
    path: (id) => `${id}.pack.yaml`,
    text: (id, { tenant = 'local' }) => template(id, tenant),
    next: (path) => [`next: ambit pack validate ${path}`],
  })
    .description('write a commented pack to <id>.pack.yaml')
    .option('--tenant <id>', 'whose pack it is (default: local)')
  const diff = pack
    .command('diff <one> <other>')
    .description('what differs between two packs: files, or versions that are published')
    .addHelpText('after', '\nExit 0: they are equal. 1: they differ.')
  withAmbit(diff, { tenant: true }).action(async (one: string, other: string, options) => {
    await atAmbit(io, options, { path: ['packs', 'show'], operation: table.packs.show }, async ({ ambit }) => {
      const [a, b] = [await documentAt(io, ambit, one), await documentAt(io, ambit, other)]
      const differences = differencesOf(a, b).filter(({ pointer }) => !pointer.startsWith('/signature'))
      if (differences.length > 0) found(io)
      if (options.json) return printJson(io, { differences })
      for (const { pointer, from, to } of differences)
        line(io, `${plain(pointer)}  ${paint(io, 'red', shown(from))} → ${paint(io, 'green', shown(to))}`)
      if (differences.length === 0) line(io, 'they are equal')
    })
  })
}
export default register

const documentAt = async (io: Io, ambit: Operable, name: string): Promise<Json> =>
  /@\d+\.\d+\.\d+$/.test(name) && !existsSync(resolve(io.cwd, name))
    ? ((await ambit.packs.show(name)).document as Json)
    : readDocument(io, name)

const shown = (value: Json | undefined): string =>
  plain(value === undefined ? '–' : JSON.stringify(value).slice(0, 120))
