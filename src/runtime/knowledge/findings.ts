import { limits } from '../../base/limits.ts'
import type { WalkEnd } from '../../files/walk.ts'
import { type Diagnostic, type DiagnosticCode, diagnostic } from '../../knowledge/diagnostic.ts'

export interface Findings {
  add(code: DiagnosticCode, path: string, message: string): void
  /** In the order they were added; of one code only so many one by one, the rest as a number. */
  all(): readonly Diagnostic[]
}

/** Collects findings without letting a hostile tree make them endless. */
export function collectFindings(pack?: string): Findings {
  const found: Diagnostic[] = []
  const counts = new Map<DiagnosticCode, number>()
  return {
    add: (code, path, message) => {
      const count = (counts.get(code) ?? 0) + 1
      counts.set(code, count)
      if (count <= limits.knowledgeFindingsMax) found.push(diagnostic(code, path, message, { pack }))
    },
    all: () => [
      ...found,
      ...[...counts].flatMap(([code, count]) => {
        const more = count - limits.knowledgeFindingsMax
        return more > 0 ? [diagnostic(code, '', `${more} more of these are not listed`, { pack })] : []
      }),
    ],
  }
}

/** Tells what the walk left out; the reasons are also part of the root. */
export function reportLeftOut(end: WalkEnd, findings: Findings): readonly string[] {
  const { tooDeep, tooMany, unreadable } = end
  const bounds = [
    ...(tooDeep > 0 ? [`${tooDeep} folders that lie too deep`] : []),
    ...(tooMany > 0 ? [`${tooMany} folders, and what is below them, after too many`] : []),
  ]
  for (const reason of bounds) findings.add('scan-limit', '', `left out: ${reason}`)
  for (const { path, why } of unreadable) findings.add('scan-limit', path, `left out: it cannot be read (${why})`)
  for (const { path, why } of end.links) {
    if (why !== 'no-folder') findings.add(why === 'loop' ? 'link-loop' : 'link-skipped', path, toldLinks[why])
  }
  return unreadable.length > 0 ? [...bounds, `${unreadable.length} folders that cannot be read`] : bounds
}

const toldLinks = {
  loop: 'a link to a folder that it lies in',
  outside: 'a link that leads out of the root',
  known: 'a link to a folder that was scanned already',
}
