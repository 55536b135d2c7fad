import { defined } from '../base/object.ts'
import type { PackStatus } from '../model/knowledge/knowledge.ts'
import type { ContextResolution } from '../model/knowledge/records.ts'
import { told } from './diagnostic.ts'
import type { WrappedPack } from './select/wrap.ts'

/** A pack as it went into the context. */
export type UsedPack = Pick<WrappedPack, 'pack' | 'activation' | 'files' | 'anchors' | 'warnings'>

export interface Resolved {
  readonly runId: string
  readonly query: string
  /** In the order of their wrappers. */
  readonly used: readonly UsedPack[]
  readonly missing: readonly string[]
  readonly tokens: number
  /** Whether a pack that was named could not be used, or the selection itself went wrong. */
  readonly failed: boolean
  readonly version: string
}

/** The record of a resolution in the form of the standard, which has none where no pack was used. */
export function recordOf(resolved: Resolved): ContextResolution | undefined {
  const { runId, query, used, missing, tokens, failed, version } = resolved
  if (used.length === 0 || query.trim() === '') return undefined
  return {
    run_id: runId,
    query,
    status: failed ? 'failed' : worst(used.map(({ pack }) => recordStatus[pack.header.status])),
    resolver: { tool: 'ambit', version, strategy: 'bm25f-sections' },
    activated_packs: used.map(activatedPack),
    missing: [...missing],
    token_estimate: tokens,
    wrapper_order: used.map(({ pack }) => pack.header.name),
  }
}

type RecordStatus = ContextResolution['status']

const recordStatus: Readonly<Record<PackStatus, RecordStatus>> = {
  ready: 'passed',
  draft: 'needs-review',
  'needs-review': 'needs-review',
  archived: 'stale',
  stale: 'stale',
  disputed: 'disputed',
}
const ranks: readonly RecordStatus[] = ['passed', 'needs-review', 'stale', 'disputed', 'failed']

const worst = (statuses: readonly RecordStatus[]): RecordStatus =>
  ranks[Math.max(...statuses.map((status) => ranks.indexOf(status)))] ?? 'passed'

function activatedPack({ pack, activation, files, anchors, warnings }: UsedPack, index: number) {
  const { name, status, grounding, profile, mode, producedBy } = pack.header
  return {
    name,
    activation,
    status,
    trust: pack.trust,
    grounding,
    profile,
    runtime_mode: mode,
    selected_files: [...files],
    selected_documents: files.filter((path) => path.startsWith('documents/')).sort(),
    selected_splits: files.filter((path) => path.startsWith('compiled/splits/')),
    source_anchors: [...anchors],
    warnings: warnings.map((warning) => ({ severity: warning.severity, message: told(warning), path: warning.path })),
    wrapper_order: index + 1,
    ...(producedBy?.name !== undefined && {
      builder_skill: {
        name: producedBy.name,
        ...defined({ version: producedBy.version, digest: producedBy.digest }),
      },
    }),
  }
}

/** `context-2026-05-06T09-10-00-123Z-…`: no colons, so that it is a file name everywhere. */
export const runIdOf = (at: string, random: string): string => `context-${at.replace(/[:.]/g, '-')}-${random}`
