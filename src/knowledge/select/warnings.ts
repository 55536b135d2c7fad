import { limits } from '../../base/limits.ts'
import { type Fenced, fence, type PackFence, type PackPart } from '../../fence/fence.ts'
import { type Diagnostic, type DiagnosticCode, diagnostic, type Severity } from '../diagnostic.ts'
import type { Pack } from '../pack.ts'

/** What the wrapper says of a pack; its trust is the effective one. */
export function packFence({ header, trust }: Pack): Omit<PackFence, 'parts'> {
  const { name, status, grounding, profile, mode } = header
  return { element: 'knowledge_pack', name, status, trust, grounding, profile, mode }
}

/** The wrapper of a pack. Where something in it had to be disarmed, it is written again and says so first. */
export function writeWrapper(
  pack: Pack,
  parts: readonly PackPart[],
  warnings: readonly Diagnostic[],
  { seed, disarmed }: { readonly seed: Uint8Array; readonly disarmed: (places: number) => string },
): Fenced & { readonly warnings: readonly Diagnostic[] } {
  const write = (shown: readonly Diagnostic[]): Fenced =>
    fence({ ...packFence(pack), parts: [...warningParts(shown), ...parts], seed })
  const first = write(warnings)
  if (first.disarmed === 0) return { ...first, warnings }
  const all = [diagnostic('fence-disarmed', '', disarmed(first.disarmed), { pack: pack.id }), ...warnings]
  return { ...write(all), warnings: all }
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
