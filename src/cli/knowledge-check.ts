import { resolve } from 'node:path'
import type { Command } from 'commander'
import { counted } from '../base/counted.ts'
import type { Diagnostic, Severity } from '../knowledge/diagnostic.ts'
import type { PackHeader } from '../model/knowledge.ts'
import { type CheckedPack, lintPack, validatePack } from '../runtime/knowledge/check.ts'
import { type Io, line, paint, plain } from './io.ts'
import { answer, answering, inTurns, type KnowledgeFlags, paged } from './knowledge-flags.ts'
import { printTable } from './table.ts'

interface Checked extends CheckedPack {
  /** The folder as it was named. */
  readonly folder: string
}

type Check = keyof typeof checks

const checks = {
  validate: 'check frontmatter, layout, records, suites and source map of packs',
  lint: 'look for secrets, attacks, outdated splits, claims without a place, weak or greedy descriptions',
}

/** `validate <dir>…`: whether packs are as the format wants them. `lint <dir>…`: what their owners should look at. */
export function addCheck(knowledge: Command, io: Io, command: Check): void {
  const exits = 'Changes nothing, runs nothing. Exit 0: no errors. 1: an error was found. 2: could not look.'
  answering(knowledge.command(`${command} <dir...>`))
    .description(checks[command])
    .option('--watch', 'again whenever a file changes, until Ctrl-C')
    .addHelpText('after', `\n${exits}`)
    .action((folders: readonly string[], options: KnowledgeFlags) => run(io, command, folders, options))
}

function run(io: Io, command: Check, folders: readonly string[], given: KnowledgeFlags): Promise<void> {
  const check = command === 'validate' ? validatePack : lintPack
  const roots = folders.map((folder) => ({ path: resolve(io.cwd, folder) }))
  return inTurns(io, roots, given, async (flags) => {
    const packs: Checked[] = []
    for (const folder of folders) packs.push({ folder, ...(await check(resolve(io.cwd, folder), folder)) })
    return answer(io, command, flags, reportOf(packs, flags), () => printPacks(io, command, packs, flags))
  })
}

function reportOf(packs: readonly Checked[], flags: KnowledgeFlags) {
  const all = packs.flatMap(({ folder, findings }) => findings.map((finding) => ({ folder, ...finding })))
  const counts = countsOf(all)
  const summaries = packs.map(({ folder, header, digest, files, findings }) => ({
    folder,
    ...summaryOf(header),
    ...(digest !== undefined && { digest }),
    files,
    ...countsOf(findings),
  }))
  return {
    ok: counts.error === 0,
    status: counts.error > 0 ? 'failed' : counts.warning > 0 ? 'warnings' : 'passed',
    findings: paged(all, flags),
    more: { packs: summaries, total: all.length },
  }
}

/** Who made a pack is read and told; it is never started. */
const summaryOf = (header: PackHeader | undefined) =>
  header && { name: header.name, status: header.status, ...(header.producedBy && { produced_by: header.producedBy }) }

const countsOf = (findings: readonly Diagnostic[]): Readonly<Record<Severity, number>> => {
  const of = (severity: Severity): number => findings.filter((finding) => finding.severity === severity).length
  return { error: of('error'), warning: of('warning'), info: of('info') }
}

function printPacks(io: Io, command: Check, packs: readonly Checked[], options: KnowledgeFlags): void {
  for (const [index, pack] of packs.entries()) {
    if (index > 0) line(io)
    const shown = paged(pack.findings, options)
    if (shown.length > 0) {
      printTable(io, ['FILE', '', 'CODE', 'FINDING'], rowsOf(shown))
      line(io)
    }
    line(io, summaryLine(io, pack))
    if (pack.digest !== undefined) line(io, paint(io, 'dim', `    digest ${pack.digest}`))
  }
  const next = nextStep(command, packs)
  if (next !== '') line(io, next)
}

/** The file is named once, at its first finding. */
const rowsOf = (findings: readonly Diagnostic[]): readonly (readonly string[])[] =>
  findings.map(({ path, severity, code, message }, index) => [
    findings[index - 1]?.path === path ? '' : path || '.',
    severity,
    code,
    message,
  ])

function summaryLine(io: Io, { folder, header, files, findings }: Checked): string {
  const { error, warning, info } = countsOf(findings)
  const found = [...some(error, 'error'), ...some(warning, 'warning'), ...some(info, 'note')].join(', ')
  const mark = error > 0 ? paint(io, 'red', 'bad') : paint(io, 'green', 'ok')
  const maker = [header?.producedBy?.kind, header?.producedBy?.name, header?.producedBy?.version]
    .filter(Boolean)
    .join(' ')
  const by = maker === '' ? '' : `; says it was made by ${maker}`
  return `${mark}  ${plain(folder)}: ${found || 'nothing found'} in ${files} files${plain(by)}`
}

const some = (number: number, noun: string): readonly string[] => (number === 0 ? [] : [counted(number, noun)])

function nextStep(command: Check, packs: readonly Checked[]): string {
  const bad = packs.filter(({ findings }) => countsOf(findings).error > 0).map(({ folder }) => plain(folder))
  if (bad.length > 0) return `next: mend the errors, then \`ambit knowledge ${command} ${bad.join(' ')}\``
  return command === 'validate'
    ? `next: \`ambit knowledge lint ${packs.map(({ folder }) => plain(folder)).join(' ')}\``
    : ''
}
