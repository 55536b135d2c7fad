import { shortened } from '../../base/words.ts'
import type { CatalogEntry } from '../../knowledge/catalog.ts'
import type { Diagnostic } from '../../knowledge/diagnostic.ts'
import type { Gap } from '../../knowledge/gaps.ts'
import { isTrusted } from '../../knowledge/pack.ts'
import type { ResolutionTrace } from '../../model/knowledge/trace.ts'
import type { Scan } from '../../runtime/knowledge/scan.ts'
import { type Io, line, paint, plain } from '../terminal/io.ts'
import { printColumns, printPainted } from '../terminal/table.ts'

export function printScan(io: Io, { roots, packs, quarantined }: Scan): void {
  printColumns(io, roots, 'no roots: name a folder, or put packs into .agents/knowledge or .ambit/knowledge', {
    ROOT: ({ id }) => id,
    SCOPE: ({ scope }) => scope,
    CEILING: ({ ceiling }) => ceiling,
    PACKS: ({ packs }) => String(packs),
    FOLDERS: ({ folders }) => String(folders),
    '': ({ missing, cut }) => (missing ? 'not there' : cut.join('; ')),
  })
  line(io)
  printColumns(io, packs, 'no packs', {
    PACK: ({ header }) => header.name,
    STATUS: ({ header }) => header.status,
    TRUST: ({ trust }) => trust,
    TYPE: ({ header }) => header.type,
    WHERE: ({ id }) => id,
  })
  if (quarantined.length === 0) return
  line(io)
  printColumns(io, quarantined, 'none', {
    'KEPT OUT': ({ id }) => id,
    WHY: ({ diagnostics }) => diagnostics.map(({ code }) => code).join(', '),
  })
}

/** Beside the answer, not in it. */
export function printFindings(io: Io, findings: readonly Diagnostic[]): void {
  for (const { severity, code, path, message, pack } of findings) {
    const where = [pack, path].filter((part) => part !== undefined && part !== '').join('/')
    io.err(`${paint(io, styles[severity], severity)} ${plain(where)}: ${plain(message)} (${code})\n`)
  }
}

const styles = { info: 'dim', warning: 'yellow', error: 'red' } as const

export const printCatalog = (io: Io, entries: readonly CatalogEntry[]): void =>
  printColumns(io, entries, 'no packs', {
    PACK: ({ name }) => name,
    STATUS: ({ status }) => status,
    TRUST: ({ trust, needsApproval }) => (needsApproval ? `${trust}, waits` : trust),
    PROFILE: ({ profile }) => profile,
    MODE: ({ mode }) => mode,
    VERSION: ({ version }) => version ?? '–',
    'WHAT IT HOLDS': ({ description }) => shortened(description, 60),
  })

/** What was considered, what was used and why, what it cost; then exactly what a model will see. */
export function printResolution(io: Io, trace: ResolutionTrace, text: string, budget: number): void {
  printPainted(io, [
    ['question', plain(trace.query ?? '(withheld)')],
    ['packs', ...packLines(io, trace)],
    ['missing', ...trace.missing.map(plain)],
    ['tokens', `${trace.token_estimate} of ${budget}`],
  ])
  for (const { named } of trace.refused) line(io, `\n${paint(io, 'red', 'refused')} ${plain(named)}`)
  line(io)
  line(io, text === '' ? paint(io, 'dim', 'nothing fits: a model is sent nothing') : text)
}

/** What a person can do about packs that wait; a ceiling only matters to those that say more of themselves. */
export function printWaiting(io: Io, findings: readonly Diagnostic[], { packs }: Scan): void {
  const ids = findings.flatMap(({ code, pack }) => (code === 'approval-needed' ? [pack] : []))
  if (ids.length === 0) return
  const clipped = packs.some(
    ({ id, header, trust }) => ids.includes(id) && header.trust !== trust && isTrusted(header.trust),
  )
  const command = '`ambit knowledge approve <folder>`'
  const ways = clipped ? `${command}, or a higher \`ceiling\` in the configuration` : `or ${command}`
  line(io, paint(io, 'dim', `to use a pack that waits: --confirm <name> for this call, ${ways}`))
}

function packLines(io: Io, trace: ResolutionTrace): readonly string[] {
  const used = trace.activated.flatMap((pack) => [
    `${paint(io, 'green', '●')} ${paint(io, 'bold', plain(pack.name))}  ${pack.activation} · ${pack.status} · ${pack.trust} · ${confidenceOf(trace, pack.id)}${pack.tokens} tokens`,
    ...pack.sections.map(
      ({ path, section, tokens, matched }) =>
        `    ${plain(path)}${section === undefined ? '' : ` › ${plain(section)}`}  ${paint(io, 'dim', `${tokens} tokens, ${plain(matched.slice(0, 6).join(' '))}`)}`,
    ),
  ])
  const ids = new Set(trace.activated.map(({ id }) => id))
  const others = trace.considered.filter(({ id }) => !ids.has(id)).slice(0, 5)
  return [
    ...used,
    ...others.map(
      ({ id }) => `${paint(io, 'dim', '○')} ${plain(id)}  ${paint(io, 'dim', `${confidenceOf(trace, id)}not used`)}`,
    ),
  ]
}

function confidenceOf({ considered, threshold }: ResolutionTrace, id: string): string {
  const found = considered.find((one) => one.id === id)
  if (found === undefined) return ''
  const needed = threshold === undefined ? '' : ` (needs ${threshold.toFixed(2)})`
  return `confidence ${found.confidence.toFixed(2)}${needed} · `
}

export const printGaps = (io: Io, gaps: readonly Gap[]): void =>
  printColumns(io, gaps, 'no gaps on record: `ambit knowledge resolve --record` keeps what is asked', {
    ASKED: ({ asked }) => `${asked}×`,
    LAST: ({ last }) => last,
    WHY: ({ why, missing }) => (why === 'missing' ? `missing: ${missing.join('; ')}` : why),
    QUESTION: ({ query, digest }) => query ?? digest.slice(0, 12),
    NEAREST: ({ nearest }) => nearest.join(', '),
  })
