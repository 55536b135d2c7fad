import { limits } from '../../base/limits.ts'
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
