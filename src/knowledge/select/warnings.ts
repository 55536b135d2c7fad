import { limits } from '../../base/limits.ts'
import type { PackFence, PackPart } from '../../fence/fence.ts'
import { type Diagnostic, type DiagnosticCode, diagnostic, type Severity } from '../diagnostic.ts'
import type { Pack } from '../pack.ts'

/** What the wrapper says of a pack; its trust is the effective one. */
export function packFence({ header, trust }: Pack): Omit<PackFence, 'parts'> {
  const { name, status, grounding, profile, mode } = header
  return { element: 'knowledge_pack', name, status, trust, grounding, profile, mode }
}

/** The warnings a model sees: errors first, none that only informs, and no more than a few. */
export function warningParts(diagnostics: readonly Diagnostic[]): readonly PackPart[] {
  const shown = diagnostics.filter(({ severity }) => severity !== 'info').sort(gravestFirst)
  const first = shown.slice(0, limits.knowledgeWarningsShownMax)
  const rest = shown.length - first.length
  return [
    ...first.map(({ code, severity, path, message }) =>
      warningPart(code, severity, path === '' ? message : `${path}: ${message}`),
    ),
    ...(rest > 0 ? [warningPart('truncated', 'warning', `${rest} more warnings are not shown`)] : []),
  ]
}

/** What a warning costs, about. */
export const warningTokens = 40

export const warningPart = (code: DiagnosticCode, severity: Severity, text: string): PackPart => ({
  element: 'knowledge_warning',
  code,
  severity,
  text,
})

const gravestFirst = (a: Diagnostic, b: Diagnostic): number =>
  Number(b.severity === 'error') - Number(a.severity === 'error')

export const noRoomFor = ({ id }: Pack): Diagnostic =>
  diagnostic('truncated', '', 'the budget left no room for the pack', { pack: id })

export const distinct = (diagnostics: readonly Diagnostic[]): readonly Diagnostic[] => [
  ...new Map(diagnostics.map((one) => [JSON.stringify([one.code, one.path, one.message]), one])).values(),
]
