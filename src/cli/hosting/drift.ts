import type { Command } from 'commander'
import { quote } from '../../base/failure.ts'
import { counted } from '../../base/words.ts'
import type { DriftReport } from '../../runtime/hosting/drift.ts'
import { asAdministrator, type CommonOptions, withTenant } from '../session.ts'
import { found, type Io, line, paint, plain, printJson, whileShown } from '../terminal/io.ts'
import { printColumns } from '../terminal/table.ts'

/** `capabilities drift` and `capabilities accept`: what servers changed since a person reviewed it. */
export function registerDrift(capabilities: Command, io: Io): void {
  withTenant(capabilities.command('drift [upstream]'))
    .description('what MCP servers changed of their tools since they were accepted: such tools are held')
    .action((name: string | undefined, options: CommonOptions) =>
      asAdministrator(io, options, async (ambit, caller) => {
        const { findDrift } = await import('../../runtime/hosting/drift.ts')
        const asking = findDrift(ambit, caller, name)
        const reports = await whileShown(io, 'asking the servers what they have, for up to half a minute', asking)
        if (options.json) printJson(io, reports)
        else printDrift(io, reports)
        if (reports.some(hasDrifted)) found(io)
      }),
    )
  withTenant(capabilities.command('accept <upstream> <tool@digest...>'))
    .description('accept tools as `capabilities drift` shows them: their policy stays')
    .action((name: string, tools: readonly string[], options: CommonOptions) =>
      asAdministrator(io, options, async (ambit, caller) => {
        const { acceptTools } = await import('../../runtime/hosting/drift.ts')
        const accepted = await acceptTools(ambit, caller, name, tools)
        if (options.json) return printJson(io, { upstream: name, accepted })
        if (accepted.length === 0) return line(io, 'nothing has changed')
        const shown = accepted.map(({ tool, version }) => plain(`${tool}, now version ${version}`))
        line(io, `accepted: ${shown.join('; ')}`)
      }),
    )
}

const hasDrifted = ({ changed = [], gone = [], problem }: DriftReport): boolean =>
  changed.length + gone.length > 0 || problem !== undefined

function printDrift(io: Io, reports: readonly DriftReport[]): void {
  printColumns(io, reports, 'no MCP server is listed in `upstreams` of the configuration', {
    UPSTREAM: ({ upstream }) => upstream ?? '–',
    CHANGED: ({ changed = [] }) => changed.map(({ tool }) => tool).join(' ') || '–',
    GONE: ({ gone = [] }) => gone.join(' ') || '–',
    'NOT OFFERED': ({ added = [] }) => (added.length === 0 ? '–' : counted(added.length, 'tool')),
    PROBLEM: ({ problem = '–' }) => problem,
  })
  for (const { upstream, file, changed = [], gone = [] } of reports) {
    if (upstream === null) continue
    for (const change of changed) printChange(io, upstream, change)
    for (const tool of gone) {
      line(io, `\n${quote(tool)} of ${quote(upstream)} is gone from the server, so that calls of it fail`)
      line(io, `  take it out of ${file === null ? 'the configuration' : quote(file)}`)
    }
  }
}

type Change = NonNullable<DriftReport['changed']>[number]

function printChange(io: Io, upstream: string, { tool, definition, differences, problem }: Change): void {
  line(io, `\n${quote(tool)} of ${quote(upstream)}: ${plain(problem ?? 'before (-) and now (+)')}`)
  printDifferences(io, differences)
  if (definition === undefined) return
  if (differences.length === 0) line(io, '  in what the file does not keep: a text longer than it holds, or `$schema`')
  line(io, `  to accept it: ambit capabilities accept ${upstream} ${plain(shellWord(`${tool}@${definition}`))}`)
}

/** Every value is JSON on one line, so that nothing in it can pass for something that we say. */
export function printDifferences(io: Io, differences: Change['differences']): void {
  for (const { at, before, now } of differences) {
    line(io, `  ${plain(at)}${at === '/annotations' ? ' (what they were is not kept)' : ''}`)
    if (before !== undefined) line(io, paint(io, 'red', `    - ${plain(JSON.stringify(before))}`))
    if (now !== undefined) line(io, paint(io, 'green', `    + ${plain(JSON.stringify(now))}`))
  }
}

/** One word to a shell, whatever a server calls its tools. */
const shellWord = (text: string): string => (/^[\w.:@/-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)
