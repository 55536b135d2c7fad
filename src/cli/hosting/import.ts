import { relative, resolve } from 'node:path'
import type { Command } from 'commander'
import { Failure, quote } from '../../base/failure.ts'
import { nearest } from '../../base/nearest.ts'
import { defined } from '../../base/object.ts'
import { shortened } from '../../base/words.ts'
import type { CapabilityDescriptor } from '../../model/capability.ts'
import type { Upstream } from '../../model/config/upstream.ts'
import { inScope } from '../../model/text.ts'
import { importFolder } from '../../runtime/hosting/config-files.ts'
import type { Imported } from '../../runtime/hosting/import-upstream.ts'
import type { Caller } from '../../runtime/identity/caller.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import { asAdministrator, type CommonOptions, withTenant } from '../session.ts'
import { type Io, line, paint, plain, printJson, whileShown } from '../terminal/io.ts'
import { several } from '../terminal/options.ts'
import { printColumns } from '../terminal/table.ts'
import { printDifferences } from './drift.ts'

/** The options of both imports; one has not all of them. */
interface ImportOptions
  extends CommonOptions,
    Partial<Record<'include' | 'exclude' | 'reads' | 'header' | 'query' | 'env', readonly string[]>>,
    Partial<Record<'out' | 'url' | 'cwd' | 'server', string>>,
    Partial<Record<'dryRun' | 'force' | 'structuredContent', boolean>> {}

/** `capabilities import …`: looks at what exists, proposes a policy for each part by its risk, and writes the file. */
export function registerImport(capabilities: Command, io: Io): void {
  const importing = capabilities
    .command('import')
    .description('put an MCP server or an OpenAPI document behind the gateway: preview, policy by risk, one file')
  withImport(importing.command('mcp <name> [command...]'))
    .description('the tools of an MCP server: `import mcp files -- npx some-server`, or with --url')
    .option('--url <url>', 'the address of a server over streamable HTTP')
    .option('--header <name: value>', 'sent with every request; {secret:NAME} stands for a secret', several)
    .option('--query <name=value>', 'sent behind the `?` of every request; {secret:NAME} stands for a secret', several)
    .option('--env <name=value>', 'given to the process of a command; {secret:NAME} stands for a secret', several)
    .option('--reads <name>', 'these only read, as you know: no effect, and no approval; may be given again', several)
    .option('--cwd <folder>', 'where the command runs, from the folder of the configuration')
    .addHelpText('after', secretsHelp)
    .action((name: string, command: readonly string[], options: ImportOptions) =>
      asAdministrator(io, options, async (ambit, caller) => {
        const { importMcp } = await import('../../runtime/hosting/import-upstream.ts')
        const server = serverOf(command, options)
        const file = fileFor(io, ambit, options, name)
        const work = importMcp(ambit, caller, { name, server, file, ...wanted(options) })
        const imported = await whileShown(io, 'asking the server what it has, for up to half a minute', work)
        await kept(io, ambit, caller, options, imported)
      }),
    )
  withImport(importing.command('openapi <document>'))
    .description('the operations of an OpenAPI 3.0 or 3.1 document: a JSON file or an address')
    .requiredOption('--name <name>', 'what its capabilities begin with (needed)')
    .option('--server <url>', "where its operations are sent (default: the document's first server)")
    .addHelpText('after', secretsHelp)
    .action((document: string, options: ImportOptions & { name: string }) =>
      asAdministrator(io, options, async (ambit, caller) => {
        const { importDocument } = await import('../../runtime/hosting/import-upstream.ts')
        const { name, server } = options
        if (server !== undefined && !(/^https?:/.test(server) && URL.canParse(server)))
          throw new Failure('field.invalid', '--server must be an address such as https://api.example.com')
        const file = fileFor(io, ambit, options, name)
        const wish = { ...defined({ name, document, folder: io.cwd, file, server }), ...wanted(options) }
        const work = importDocument(ambit, caller, wish)
        await kept(io, ambit, caller, options, await whileShown(io, 'reading the document', work))
      }),
    )
}

const secretsHelp =
  '\nKeep secrets with `ambit secret set NAME` and write {secret:NAME} here. What looks like a credential is kept so too.'

const withImport = (command: Command): Command =>
  withTenant(command)
    .option('--include <name>', 'only these, or those that begin like this with a final *; may be given again', several)
    .option('--exclude <name>', 'not these', several)
    .option('--out <file>', 'where to write it (default: upstreams/<name>.json beside the configuration)')
    .option('--dry-run', 'only show what would be offered')
    .option('--force', 'merge into a file that is there: what you wrote stays, what --include names is refreshed')
    .option('--structured-content', 'let MCP clients have `structuredContent` too: text in it stands in no fence')

const wanted = ({ include, exclude, reads }: ImportOptions) => defined({ include, exclude, reads })

function serverOf([command, ...args]: readonly string[], { url, header, query, env, cwd }: ImportOptions) {
  if (command !== undefined && url !== undefined) {
    const help = 'write `-- command arguments`, or `--url`'
    throw new Failure('field.invalid', 'an MCP server is a command or an address', {}, help)
  }
  // The message does not repeat the query: it may hold a secret in plain text.
  if (url?.includes('?')) {
    const help = 'give what is behind it as `--query name=value`, and a secret in it as `{secret:NAME}`'
    throw new Failure('field.invalid', 'the address is given without `?`', {}, help)
  }
  const others = url === undefined ? { '--header': header, '--query': query } : { '--env': env, '--cwd': cwd }
  const [unused] = Object.keys(defined(others))
  if (unused !== undefined)
    throw new Failure('field.invalid', `${unused} is for ${url === undefined ? 'an address' : 'a command'}`)
  if (url === undefined && command === undefined) return undefined
  if (url !== undefined)
    return defined({ url, headers: header && pairs(header, ':'), query: query && pairs(query, '=') })
  const given = { args: args.length > 0 ? args : undefined, env: env && pairs(env, '='), cwd }
  return { command: command ?? '', ...defined(given) }
}

function pairs(texts: readonly string[], between: string): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf(between)
      // The message does not repeat the text: it may hold a secret in plain text.
      if (at < 1) throw new Failure('field.invalid', `write a name, \`${between}\` and a value`)
      return [text.slice(0, at).trim(), text.slice(at + 1).trim()]
    }),
  )
}

const fileFor = (io: Io, { settings }: Runtime, { out }: ImportOptions, name: string): string =>
  out === undefined ? resolve(settings.hosting.folder, importFolder, `${name}.json`) : resolve(io.cwd, out)

async function kept(io: Io, ambit: Runtime, caller: Caller, options: ImportOptions, given: Imported): Promise<void> {
  const imported = options.structuredContent ? unfenced(given) : given
  const { keepImported } = await import('../../runtime/hosting/import-upstream.ts')
  const { settings } = ambit
  const { folder, upstreams } = settings.hosting
  const { file: path, upstream, skipped, notes, changes } = imported
  checkGiven(imported, options)
  if (!options.dryRun) await keepImported(ambit, caller, imported, options.force === true)
  const file = options.dryRun ? null : relative(io.cwd, path)
  if (options.json) return printJson(io, { file, upstream, skipped, notes, ...defined({ changes }) })
  preview(io, upstream, imported)
  if (changes !== undefined) {
    line(io, changes.length === 0 ? 'The file stays as it is.' : 'What changes in the file, before (-) and now (+):')
    printDifferences(io, changes)
  }
  if (file === null) return line(io, 'Nothing was written.')
  line(io, `Written to ${quote(plain(file))}: read it, change what does not fit, keep it with your configuration.`)
  const listed = upstreams.some((each) => 'path' in each && (path === each.path || path.startsWith(`${each.path}/`)))
  const entry = JSON.stringify(relative(folder, resolve(path, '..')) || file)
  const member = settings.file?.endsWith('.json') === false ? 'upstreams' : '"upstreams"'
  const where = settings.file === undefined ? 'a configuration, such as `ambit.config.json`' : 'the configuration'
  if (!listed) line(io, `Add it to ${where}: \`${member}: [${entry}]\``)
}

/** A person asked for it, and is told what it means. */
const unfenced = ({ upstream, notes, ...rest }: Imported): Imported => ({
  ...rest,
  upstream: { structured_content: 'unfenced', ...upstream },
  notes: [...notes, 'MCP clients get `structuredContent` as it comes: text in it stands in no fence'],
})

/** A name that was given and is not there was most likely mistyped: what was to be left out would be offered. */
function checkGiven({ names }: Imported, { include = [], exclude = [] }: ImportOptions): void {
  const unmet = [...include, ...exclude].filter((pattern) => !names.some((name) => inScope(pattern, name)))
  if (unmet.length === 0) return
  const meant = unmet.map((pattern) => nearest(pattern, names)).filter((name) => name !== undefined)
  const like = meant.length === 0 ? '' : `did you mean ${meant.map(quote).join(' and ')}? `
  const help = `${like}run it with --dry-run and without --include and --exclude to see what there is`
  const message = `nothing is called ${unmet.map(quote).join(' or ')}`
  throw new Failure('capability.not_found', message, {}, help)
}

function preview(io: Io, { capabilities }: Upstream, { skipped, notes }: Imported): void {
  for (const note of notes) line(io, paint(io, 'dim', plain(note)))
  const offered = capabilities.map(({ descriptor }) => descriptor)
  printColumns(io, offered, 'nothing that could be offered', {
    CAPABILITY: ({ id }) => id,
    RISK: ({ risk = 'medium' }) => risk,
    POLICY: stateOf,
    CHANGES: ({ side_effects = [] }) => side_effects.join(' ') || '–',
    RECORDS: recordedOf,
    'SAYS OF ITSELF': ({ description }) => shortened(description, 60),
  })
  if (skipped.length > 0) {
    line(io)
    printColumns(io, skipped, 'none', { 'LEFT OUT': ({ what }) => what, BECAUSE: ({ reason }) => reason })
  }
  line(io)
}

/** The arguments that evidence keeps as they are; of others it keeps a digest. */
const recordedOf = ({ metadata }: Pick<CapabilityDescriptor, 'metadata'>): string =>
  Object.entries(metadata?.context?.fields ?? {})
    .flatMap(([name, { evidence }]) => (evidence === 'value' ? [name] : []))
    .join(' ') || '–'

const stateOf = ({ policy }: Pick<CapabilityDescriptor, 'policy'>): string =>
  policy?.approval_required ? 'approval required' : policy?.auth_required ? 'restricted' : 'open'
