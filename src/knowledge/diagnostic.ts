import type { PackStatus } from '../model/knowledge/knowledge.ts'
import type { ClaimState } from '../model/knowledge/records.ts'

export type Severity = 'info' | 'warning' | 'error'

/** Every finding about packs, and how grave it is. Codes are stable. */
export const severities = {
  'root-missing': 'error',
  'entry-name': 'info',
  'entry-kind': 'error',
  'entry-missing': 'error',
  'frontmatter-missing': 'error',
  'frontmatter-limit': 'error',
  encoding: 'error',
  'yaml-invalid': 'error',
  'yaml-refused': 'error',
  'field-missing': 'error',
  'name-invalid': 'error',
  'field-type': 'error',
  'description-long': 'error',
  'compatibility-long': 'warning',
  'type-unknown': 'error',
  'status-unknown': 'error',
  'trust-unknown': 'error',
  'profile-unknown': 'error',
  'mode-unknown': 'error',
  'grounding-unknown': 'error',
  'profile-missing': 'warning',
  'persona-boundaries': 'warning',
  'name-directory': 'warning',
  'name-hyphen': 'warning',
  'primary-missing': 'warning',
  'ontology-missing': 'warning',
  'answers-missing': 'warning',
  'path-escape': 'error',
  'link-skipped': 'warning',
  'link-loop': 'warning',
  'nested-pack': 'warning',
  'foreign-file': 'info',
  'scan-limit': 'warning',
  'size-limit': 'warning',
  collision: 'warning',
  'shadow-lower-trust': 'warning',
  'trust-clipped': 'info',
  'approval-needed': 'info',
  'status-draft': 'warning',
  'status-needs-review': 'warning',
  'status-stale': 'warning',
  'status-disputed': 'error',
  'status-archived': 'warning',
  'pack-disabled': 'error',
  'confirm-needed': 'error',
  'record-invalid': 'error',
  'suite-mismatch': 'error',
  'suite-old': 'warning',
  'run-finding': 'warning',
  'claim-inferred': 'warning',
  'claim-disputed': 'warning',
  'claim-stale': 'warning',
  'claim-missing': 'warning',
  'claim-source-required': 'warning',
  'source-missing': 'error',
  'anchor-missing': 'warning',
  ungrounded: 'warning',
  'fence-disarmed': 'warning',
  'value-cleaned': 'warning',
  'secret-found': 'error',
  'injection-pattern': 'warning',
  'control-token': 'warning',
  'claim-unanchored': 'warning',
  'reference-broken': 'warning',
  'split-outdated': 'warning',
  'split-orphaned': 'warning',
  'section-oversized': 'warning',
  'description-weak': 'warning',
  'description-greedy': 'warning',
  'budget-too-small': 'error',
  truncated: 'warning',
  'file-changed': 'warning',
} as const satisfies Record<string, Severity> &
  Record<`status-${Exclude<PackStatus, 'ready'>}`, Severity> &
  Record<`claim-${Exclude<ClaimState, 'confirmed'>}`, Severity>

export type DiagnosticCode = keyof typeof severities

/** A finding about a root, a pack or a file of one. It never repeats a secret. */
export interface Diagnostic {
  readonly code: DiagnosticCode
  readonly severity: Severity
  /** Relative to the root or the pack. */
  readonly path: string
  readonly message: string
  /** The id of the pack. */
  readonly pack?: string | undefined
}

export const diagnostic = (
  code: DiagnosticCode,
  path: string,
  message: string,
  more: { readonly pack?: string | undefined; readonly severity?: Severity } = {},
): Diagnostic => ({
  code,
  severity: more.severity ?? severities[code],
  path,
  message,
  ...(more.pack !== undefined && { pack: more.pack }),
})

/** Each finding once. */
export const distinct = (findings: readonly Diagnostic[]): Diagnostic[] => [
  ...new Map(findings.map((one) => [JSON.stringify([one.code, one.pack, one.path, one.message]), one])).values(),
]

/** As records and models see it: the code leads the message. */
export const told = ({ code, message }: Diagnostic): string => `${code}: ${message}`
