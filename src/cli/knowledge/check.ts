import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { Failure, quote } from '../../base/failure.ts'
import { counted } from '../../base/words.ts'
import type { Diagnostic, Severity } from '../../knowledge/diagnostic.ts'
import type { PackHeader } from '../../model/knowledge/knowledge.ts'
import { approvePack } from '../../runtime/knowledge/approve.ts'
import { type CheckedPack, lintPack, refreshPack, reviewPack, validatePack } from '../../runtime/knowledge/check.ts'
import { asAdministrator, type CommonOptions } from '../session.ts'
import { type Io, line, paint, plain } from '../terminal/io.ts'
import { printColumns } from '../terminal/table.ts'
import { answer, answering, inTurns, type KnowledgeFlags, paged } from './flags.ts'

interface Checked extends CheckedPack {
  /** The folder as it was named. */
  readonly folder: string
}

type Check = keyof typeof checks

const checks = {
  validate: 'check frontmatter, layout, records, suites and source map of packs',
  lint: 'look for secrets, attacks, outdated splits, claims without a place, weak or greedy descriptions',
  refresh: 'make splits again that differ from their documents, and their lines in the source map',
  approve: 'let untrusted packs be used: each where it lies, as long as none of its files changes',
}

const notes: Partial<Record<Check, string>> = {
  refresh:
    'Splits come from documents: what was written into a split itself is replaced. Nothing else is, and nothing is deleted.',
  approve:
    'Validates and lints them first, and approves none with an error in it. Needs the right to administer, and is on record. To take it back: `disable` in the configuration.',
}

/** `validate <dir>…`: whether packs are as the format wants them. `lint <dir>…`: what their owners should look at. */
export function addCheck(knowledge: Command, io: Io, command: Check): void {
  const note = notes[command]
  const added = answering(knowledge.command(`${command} <dir...>`)).description(checks[command])
  if (command === 'approve') added.option('--config <file>', 'configuration file').option('--tenant <id>', 'tenant')
  if (note === undefined) added.option('--watch', 'again whenever a file changes, until Ctrl-C')
  else added.option('--dry-run', 'only say what would be done')
  const exits = 'Exit 0: no errors. 1: an error was found. 2: could not look.'
  added
    .addHelpText('after', `\n${note ?? 'Changes nothing, runs nothing.'} ${exits}`)
    .action((folders: readonly string[], options: CheckFlags) => run(io, command, folders, options))
}

type CheckFlags = KnowledgeFlags & CommonOptions & { readonly dryRun?: boolean }

function run(io: Io, command: Check, folders: readonly string[], given: CheckFlags): Promise<void> {
  const { dryRun = false } = given
  const refresh = (path: string, shown: string) => refreshPack(path, shown, dryRun)
  const check = { validate: validatePack, lint: lintPack, refresh, approve: reviewPack }[command]
  const roots = folders.map((folder) => ({ path: resolve(io.cwd, folder) }))
  return inTurns(io, roots, given, async (flags) => {
    const packs: Checked[] = []
    for (const folder of folders) packs.push({ folder, ...(await check(resolve(io.cwd, folder), folder)) })
    const report = reportOf(packs, flags, dryRun ? 'planned' : done[command])
    if (command === 'approve' && report.ok && !dryRun) await approve(io, packs, flags)
    return answer(io, command, flags, report, () => printPacks(io, command, packs, flags))
  })
}

const approve = (io: Io, packs: readonly Checked[], flags: CheckFlags): Promise<void> =>
  asAdministrator(io, flags, async (ambit, caller) => {
    for (const { folder, digest } of packs) {
      if (digest === undefined) throw new Failure('file.unavailable', `a file of ${quote(folder)} cannot be read`)
      await approvePack(ambit, caller, { path: realpathSync(resolve(io.cwd, folder)), digest })
    }
  })

const done: Partial<Record<Check, string>> = { refresh: 'refreshed', approve: 'approved' }

function reportOf(packs: readonly Checked[], flags: KnowledgeFlags, well: string | undefined) {
  const all = packs.flatMap(({ folder, findings }) => findings.map((finding) => ({ folder, ...finding })))
  const counts = countsOf(all)
  const summaries = packs.map(({ folder, header, digest, files, findings, written }) => ({
    folder,
    ...summaryOf(header),
    ...(digest !== undefined && { digest }),
    files,
    ...(written !== undefined && { written }),
    ...countsOf(findings),
  }))
  return {
    ok: counts.error === 0,
    status: counts.error > 0 ? 'failed' : (well ?? (counts.warning > 0 ? 'warnings' : 'passed')),
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

function printPacks(io: Io, command: Check, packs: readonly Checked[], options: CheckFlags): void {
  for (const [index, pack] of packs.entries()) {
    if (index > 0) line(io)
    const shown = paged(pack.findings, options)
    if (shown.length > 0) {
      printColumns(io, shown, 'none', {
        // The file is named once, at its first finding.
        FILE: (one) => (shown[shown.indexOf(one) - 1]?.path === one.path ? '' : one.path || '.'),
        '': ({ severity }) => severity,
        CODE: ({ code }) => code,
        FINDING: ({ message }) => message,
      })
      line(io)
    }
    for (const path of pack.written ?? []) line(io, `${options.dryRun ? 'would write' : 'wrote'} ${plain(path)}`)
    line(io, summaryLine(io, pack))
    if (pack.digest !== undefined) line(io, paint(io, 'dim', `    digest ${pack.digest}`))
  }
  const next = nextStep(command, packs, options)
  if (next !== '') line(io, next)
}

function summaryLine(io: Io, { folder, header, files, findings }: Checked): string {
  const { error, warning, info } = countsOf(findings)
  const sums = Object.entries({ error, warning, note: info }).filter(([, number]) => number > 0)
  const found = sums.map(([noun, number]) => counted(number, noun)).join(', ')
  const mark = error > 0 ? paint(io, 'red', 'bad') : paint(io, 'green', 'ok')
  const { kind, name, version } = header?.producedBy ?? {}
  const maker = [kind, name, version].filter(Boolean).join(' ')
  const by = maker === '' ? '' : `; says it was made by ${maker}`
  return `${mark}  ${plain(folder)}: ${found || 'nothing found'} in ${files} files${plain(by)}`
}

function nextStep(command: Check, packs: readonly Checked[], { dryRun }: CheckFlags): string {
  const bad = packs.filter(({ findings }) => countsOf(findings).error > 0).map(({ folder }) => plain(folder))
  if (bad.length > 0) return `next: mend the errors, then \`ambit knowledge ${command} ${bad.join(' ')}\``
  const all = packs.map(({ folder }) => plain(folder)).join(' ')
  if (command === 'validate') return `next: \`ambit knowledge lint ${all}\``
  if (command === 'approve')
    return dryRun ? 'nothing is approved yet' : 'approved as they are now: when a file changes, approve the pack again'
  if (command === 'lint') return ''
  const changed = packs.some(({ written = [] }) => written.length > 0)
  if (!changed) return 'every split that can be made says what its document says'
  return dryRun ? 'nothing is written yet' : `an approval lapses with the change: \`ambit knowledge approve ${all}\``
}
