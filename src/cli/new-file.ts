import { mkdirSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Command } from 'commander'
import { Failure, quote } from '../base/failure.ts'
import { writeOutput } from './terminal/files.ts'
import { type Io, line, printJson } from './terminal/io.ts'

/** A file to start from, named after what it is about. */
interface NewFile {
  /** Such as `id of an agent`. */
  readonly named: string
  readonly path: (id: string) => string
  readonly text: (id: string, options: { readonly tenant?: string }) => string
  readonly next: (path: string, id: string) => readonly string[]
}

/** The command `new <id>`, which writes such a file and says what to do with it. */
export const addNew = (parent: Command, io: Io, { named, ...file }: NewFile): Command =>
  parent
    .command('new <id>')
    .option('--force', 'replace one that is there')
    .option('--json', 'print JSON for programs')
    .action((id: string, options: { readonly force?: true; readonly json?: true; readonly tenant?: string }) => {
      const path = file.path(id)
      if (!/^[a-z][a-z0-9_-]{0,63}$/.test(id))
        throw new Failure('field.invalid', `${quote(id)} is no ${named}`, {}, 'use small letters, digits, _ and -')
      mkdirSync(dirname(resolve(io.cwd, path)), { recursive: true })
      writeOutput(io, path, file.text(id, options), { replace: options.force ?? false })
      if (options.json) return printJson(io, { file: path })
      for (const each of [`wrote ${path}`, ...file.next(path, id)]) line(io, each)
    })
