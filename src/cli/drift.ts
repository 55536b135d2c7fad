import type { Command } from 'commander'
import { counted } from '../base/counted.ts'
import type { DriftReport } from '../runtime/drift.ts'
import { found } from './command.ts'
import { type Io, line, plain, printJson } from './io.ts'
import { type CommonOptions, inTenant, withTenant } from './session.ts'
import { printTable } from './table.ts'

/** `capabilities drift` and `capabilities accept`: what servers changed since somebody looked at it. */
export function registerDrift(capabilities: Command, io: Io): void {
  withTenant(capabilities.command('drift [upstream]'))
    .description('what MCP servers changed of their tools since they were accepted: such tools are held')
    .action((name: string | undefined, options: CommonOptions) =>
      inTenant(io, options, async (ambit, caller) => {
        const { findDrift } = await import('../runtime/drift.ts')
        const reports = await findDrift(ambit, caller, name)
        if (options.json) printJson(io, reports)
        else printDrift(io, reports)
        if (reports.some(hasDrifted)) found(io)
      }),
    )
  withTenant(capabilities.command('accept <upstream> [tools...]'))
    .description('accept the present definition of these tools, or of all that changed: their policy stays')
    .action((name: string, tools: readonly string[], options: CommonOptions) =>
      inTenant(io, options, async (ambit, caller) => {
        const { acceptTools } = await import('../runtime/drift.ts')
        const accepted = await acceptTools(ambit, caller, name, tools)
        if (options.json) return printJson(io, { upstream: name, accepted })
        if (accepted.length === 0) return line(io, 'nothing has changed')
        line(io, `accepted: ${accepted.map(plain).join(', ')}`)
      }),
    )
}

const hasDrifted = ({ changed = [], gone = [], problem }: DriftReport): boolean =>
  changed.length + gone.length > 0 || problem !== undefined

function printDrift(io: Io, reports: readonly DriftReport[]): void {
  printTable(
    io,
    ['UPSTREAM', 'CHANGED', 'GONE', 'NOT OFFERED', 'PROBLEM'],
    reports.map(({ upstream, changed = [], gone = [], added = [], problem }) => [
      upstream,
      changed.join(' ') || '–',
      gone.join(' ') || '–',
      added.length === 0 ? '–' : counted(added.length, 'tool', 'tools'),
      problem ?? '–',
    ]),
    'no MCP server is listed in `upstreams` of the configuration',
  )
}
