import { basename, relative, resolve } from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { Failure, quote } from '../../base/failure.ts'
import { formatTime } from '../../base/time.ts'
import { importDocuments } from '../../knowledge/author/import-docs.ts'
import type { PackText } from '../../knowledge/author/pack-content.ts'
import { newPack } from '../../knowledge/author/scaffold.ts'
import type { Diagnostic } from '../../knowledge/diagnostic.ts'
import { slugOf } from '../../knowledge/select/file-index.ts'
import { type PackMode, type PackProfile, packMode, packProfile, packTypes } from '../../model/knowledge/knowledge.ts'
import { checkFree, readDocuments, writePack } from '../../runtime/knowledge/author.ts'
import { systemClock } from '../../runtime/system.ts'
import { type Io, line, plain, printJson } from '../terminal/io.ts'
import { addCheck } from './check.ts'
import { isForPrograms, type KnowledgeFlags } from './flags.ts'

interface WriteOptions extends Pick<KnowledgeFlags, 'output' | 'json' | 'text'> {
  readonly dryRun?: boolean
  readonly description?: string
}

type NewOptions = WriteOptions & { readonly type: string; readonly profile: PackProfile; readonly mode: PackMode }

/** The commands for owners of packs. */
export function addAuthoring(knowledge: Command, io: Io): void {
  addCheck(knowledge, io, 'validate')
  addCheck(knowledge, io, 'lint')
  addNew(knowledge, io)
  addImport(knowledge, io)
  addCheck(knowledge, io, 'refresh')
  addCheck(knowledge, io, 'approve')
}

/** `new <name>`: a small pack that is valid as it stands, to be written over. */
function addNew(knowledge: Command, io: Io): void {
  writing(knowledge.command('new <name>'))
    .description('write a small pack that validates, with an example of every part')
    .option('--description <text>', 'what it holds and when to use it', filled)
    .option('--type <type>', `one of ${packTypes.join(', ')}, or custom:<namespace>`, packType, 'domain-reference')
    .addOption(
      new Option('--profile <profile>', 'how the facts are kept')
        .choices(packProfile.options)
        .default('document-first'),
    )
    .addOption(new Option('--mode <mode>', 'what they are for').choices(packMode.options).default('data'))
    .action(async (given: string, options: NewOptions) => {
      const { description, type, profile, mode } = options
      const name = packName(given)
      const today = formatTime(systemClock.now()).slice(0, 10)
      const files = newPack({ name, description, type, profile, mode, today })
      await write(io, options, { command: 'new', name, files })
    })
}

/** `import <dir>`: a folder of documents as a document-first pack. */
function addImport(knowledge: Command, io: Io): void {
  writing(knowledge.command('import <dir>'))
    .description('turn a folder of Markdown and plain text into a document-first pack with splits and anchors')
    .option('--name <name>', 'the name of the pack; otherwise that of the folder')
    .option('--description <text>', 'what it holds and when to use it; otherwise made from titles', filled)
    .action(async (folder: string, options: WriteOptions & { readonly name?: string }) => {
      const { documents, diagnostics } = await readDocuments(resolve(io.cwd, folder), folder)
      if (documents.length === 0) {
        const help = 'files that end in .md, .mdx, .markdown or .txt are taken'
        throw new Failure('file.not_found', `${quote(folder)} holds no documents`, {}, help)
      }
      const name = options.name === undefined ? nameOf(basename(resolve(io.cwd, folder))) : packName(options.name)
      const files = importDocuments({ name, description: options.description, documents })
      await write(io, options, { command: 'import', name, files, findings: diagnostics })
    })
}

const writing = (command: Command): Command =>
  command
    .option('--output <folder>', 'where to write it, empty or not there yet; otherwise .agents/knowledge/<name>')
    .option('--dry-run', 'only list what would be written')
    .option('--json', 'print JSON for programs, as without a terminal')
    .option('--text', 'print for people, even into a pipe; so does AMBIT_OUTPUT=text')
    .addHelpText('after', '\nNothing is ever written over. Exit 0: done. 2: usage, or the folder is not free.')

interface Written {
  readonly command: string
  readonly name: string
  readonly files: readonly PackText[]
  readonly findings?: readonly Diagnostic[]
}

async function write(io: Io, options: WriteOptions, { command, name, files, findings = [] }: Written): Promise<void> {
  const folder = resolve(io.cwd, options.output ?? `.agents/knowledge/${name}`)
  const shown = relative(io.cwd, folder) || '.'
  checkFree(folder, shown)
  if (!options.dryRun) await writePack(folder, files, shown)
  const status = options.dryRun ? 'planned' : 'written'
  const paths = files.map(({ path }) => path)
  if (isForPrograms(io, options))
    return printJson(io, { ok: true, command, status, name, folder: shown, files: paths, findings })
  for (const { severity, code, path, message } of findings)
    io.err(`${severity}  ${plain(path)}: ${plain(message)} (${code})\n`)
  if (options.dryRun) for (const path of paths) line(io, plain(path))
  line(io, `${options.dryRun ? 'would write' : 'wrote'} ${files.length} files to ${plain(shown)}`)
  if (!options.dryRun)
    line(io, `next: look through ${plain(shown)}/KNOWLEDGE.md, then \`ambit knowledge lint ${plain(shown)}\``)
}

const nameForm = /^[a-z0-9]+(?:-[a-z0-9]+)*$/

function packName(text: string): string {
  if (text.length <= 64 && nameForm.test(text)) return text
  const help = 'write 1 to 64 lower-case letters, digits and single hyphens between them'
  throw new Failure('field.invalid', `${quote(text)} is no name for a pack`, {}, help)
}

/** The name of a folder as one of a pack; what cannot be said in ASCII has to be named. */
function nameOf(folder: string): string {
  const name = slugOf(folder.normalize('NFKD'))
    .replace(/[^a-z0-9-]/g, '')
    .replace(/-+/g, '-')
  return packName(name.slice(0, 64).replace(/^-|-$/g, '') || folder)
}

function packType(text: string): string {
  if ((packTypes as readonly string[]).includes(text) || /^custom:[a-z0-9][a-z0-9._-]*$/.test(text)) return text
  throw new InvalidArgumentError(`write one of ${packTypes.join(', ')}, or custom:<namespace>.`)
}

function filled(text: string): string {
  if (/\S/.test(text) && [...text].length <= 1_024) return text
  throw new InvalidArgumentError('write 1 to 1,024 characters.')
}
